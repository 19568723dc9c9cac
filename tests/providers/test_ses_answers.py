"""What each answer of Amazon SES means."""

import json

import pytest

from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, OverQuota, Rejected, Throttled, Unknown
from shared.ports import AnswerLost, NoTime, NotSent, Response
from shared.providers._common import BATCH_REFUSED
from shared.providers.ses.send import ENTRIES, ERRORS
from tests.providers.ses_calls import ID, SHAPES, TAKEN, down, outcomes_of, results

# The answer


def error(status: int, name: str, text: str = "", *, header: bool = True, **headers: str) -> Response:
    body: dict[str, str] = {"message": text} if header else {"__type": f"com.amazonaws.ses#{name}", "message": text}
    found = {k.replace("_", "-"): v for k, v in headers.items()}
    return Response(status, {**found, **({"x-amzn-errortype": name} if header else {})}, json.dumps(body).encode())


def gone(code: str) -> Rejected:
    return Rejected(code, permanent=True)


def other(code: str) -> Rejected:
    return Rejected(code, permanent=False, about_message=True)


UNVERIFIED = (
    "Email address is not verified. The following identities failed the check in region EU-WEST-1: <a@b.example>"
)
HTML = b"<html><body>502 Bad Gateway</body></html>"


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (TAKEN, Accepted(ID)),
        (Response(200, {}, b"{}"), Unknown("malformed_answer")),
        (Response(200, {}, b'{"MessageId": 7}'), Unknown("malformed_answer")),
        (Response(200, {}, HTML), Unknown("malformed_answer")),
        (Response(200, {}, b"[" * 100_000), Unknown("malformed_answer")),
        (error(429, "TooManyRequestsException", "Maximum sending rate exceeded."), Throttled(1.0)),
        (error(429, "TooManyRequestsException", retry_after="7"), Throttled(7.0)),
        (Response(429, {}, HTML), Throttled(1.0)),
        (error(429, "TooManyRequestsException", "Daily message quota exceeded."), OverQuota(1.0)),
        (error(400, "LimitExceededException", "Daily sending quota exceeded."), OverQuota(1.0)),
        (error(400, "MessageRejected", "Daily sending quota exceeded."), down("daily_quota_exceeded", by_text=True)),
        (error(400, "LimitExceededException", "Too many."), Throttled(1.0)),
        (error(400, "ThrottlingException", "Rate exceeded"), Throttled(1.0)),
        (error(400, "AccountSuspendedException"), down("account_suspended")),
        (error(400, "SendingPausedException"), down("sending_paused")),
        (error(400, "MailFromDomainNotVerifiedException"), other("mail_from_not_verified")),
        (error(400, "MessageRejected", "Illegal content"), gone("message_rejected")),
        (error(400, "MessageRejected", UNVERIFIED), other("identity_not_verified")),
        (error(400, "MessageRejected", "Sending paused for this account."), down("sending_paused", by_text=True)),
        (error(400, "BadRequestException", "Missing final '@domain'"), gone("bad_request")),
        (error(400, "BadRequestException:http://internal.amazon.com/coral/", "x"), gone("bad_request")),
        (error(400, "BadRequestException", "x", header=False), gone("bad_request")),
        (error(404, "NotFoundException", "Configuration set <x> does not exist."), down("configuration_set_not_found")),
        (error(413, "RequestEntityTooLargeException"), gone("too_large")),
        (Response(413, {}, HTML), gone("too_large")),
        (error(403, "UnrecognizedClientException"), down("forbidden")),
        (error(403, "InvalidSignatureException"), down("forbidden")),
        (error(403, "AccessDeniedException"), down("forbidden")),
        (Response(401, {}, b""), down("unauthorized")),
        (error(404, "UnknownOperationException"), down("http_404")),
        (Response(301, {"location": "https://elsewhere"}, b""), down("http_301")),
        (error(503, "ServiceUnavailableException"), Unknown("http_503")),
        (error(500, "InternalFailure"), Unknown("http_500")),
        (error(504, "InternalFailure"), Unknown("http_504")),
        (Response(500, {}, HTML), Unknown("http_500")),
        (Response(502, {}, HTML), Unknown("http_502")),
        (Response(504, {}, b'{"message": "Endpoint request timed out"}'), Unknown("http_504")),
        (NotSent("connection_refused"), Rejected("connection_refused", permanent=False)),
        (NoTime("deadline"), NotStarted()),
        (AnswerLost("read_timeout"), Unknown("read_timeout")),
    ],
)
def test_what_an_answer_means(answer: Response | Exception, outcome: Outcome) -> None:
    assert outcomes_of(answer) == [outcome]


TWICE = {"CONFIGURATION_SET_DOES_NOT_EXIST", "TEMPLATE_DOES_NOT_EXIST"}
"""Names of statuses that only the reference's text has (APIReference-V2/API_BulkEmailEntryResult, "Status")."""


def test_every_error_and_status_of_the_service_model_has_a_meaning() -> None:
    for operation in ("SendEmail", "SendBulkEmail"):
        assert {e.name for e in SHAPES.operation_model(operation).error_shapes} <= set(ERRORS)
    assert set(SHAPES.shape_for("BulkEmailStatus").enum) == {*ENTRIES, "SUCCESS"} - TWICE


@pytest.mark.promise(6)
def test_each_entry_has_a_separate_outcome() -> None:
    expected: dict[str, Outcome] = {
        "MESSAGE_REJECTED": gone("message_rejected"),
        "MAIL_FROM_DOMAIN_NOT_VERIFIED": other("mail_from_not_verified"),
        "CONFIGURATION_SET_NOT_FOUND": down("configuration_set_not_found"),
        "TEMPLATE_NOT_FOUND": other("template_not_found"),
        "CONFIGURATION_SET_DOES_NOT_EXIST": down("configuration_set_not_found"),
        "TEMPLATE_DOES_NOT_EXIST": other("template_not_found"),
        "ACCOUNT_SUSPENDED": down("account_suspended"),
        "ACCOUNT_THROTTLED": Throttled(1.0),
        "ACCOUNT_DAILY_QUOTA_EXCEEDED": OverQuota(1.0),
        "INVALID_SENDING_POOL_NAME": down("invalid_sending_pool"),
        "ACCOUNT_SENDING_PAUSED": down("sending_paused"),
        "CONFIGURATION_SET_SENDING_PAUSED": down("sending_paused"),
        "INVALID_PARAMETER": gone("bad_request"),
        "TRANSIENT_FAILURE": Rejected("transient_failure", permanent=False),
        "FAILED": Rejected("failed", permanent=False),
        "NEW_STATUS": Unknown("malformed_answer"),
    }
    statuses = ["SUCCESS", *expected, "SUCCESS"]
    outcomes = outcomes_of(results(*statuses), len(statuses))
    assert outcomes[0] == Accepted(f"{ID}-0")
    assert outcomes[-1] == Accepted(f"{ID}-{len(statuses) - 1}")
    assert dict(zip(expected, outcomes[1:-1], strict=True)) == expected
    assert outcomes_of(results("MESSAGE_REJECTED", "SUCCESS", text=UNVERIFIED), 2)[0] == other("identity_not_verified")


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"BulkEmailEntryResults": 7}', b'{"BulkEmailEntryResults": [{"Status": "SUCCESS"}]}', HTML],
)
def test_an_answer_that_is_not_about_each_entry_leaves_all_unknown(body: bytes) -> None:
    assert outcomes_of(Response(200, {}, body), 2) == [Unknown("malformed_answer")] * 2


def test_an_entry_without_an_id_is_unknown() -> None:
    body = b'{"BulkEmailEntryResults": [{"Status": "SUCCESS"}, 7, {}, {"Status": "SUCCESS", "MessageId": "x"}]}'
    lost = Unknown("malformed_answer")
    assert outcomes_of(Response(200, {}, body), 4) == [lost, lost, lost, Accepted("x")]


def test_a_call_refused_for_one_address_suppresses_no_recipient() -> None:
    assert outcomes_of(error(400, "BadRequestException"), 3) == [BATCH_REFUSED] * 3
    assert outcomes_of(error(400, "MessageRejected"), 3) == [BATCH_REFUSED] * 3
    assert outcomes_of(error(400, "SendingPausedException"), 3) == [down("sending_paused")] * 3
    assert outcomes_of(error(400, "MessageRejected", UNVERIFIED), 3) == [other("identity_not_verified")] * 3
