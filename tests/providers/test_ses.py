import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from email.header import decode_header, make_header
from typing import Any

import pytest
from botocore.session import get_session
from botocore.validate import ParamValidator
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import Credential
from shared.domain.chunks import Recipient
from shared.domain.content import Attachment, Content, Mailbox
from shared.domain.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.ports import AnswerLost, NoTime, NotSent, Provider, Response, Sized, Target
from shared.providers import registry
from shared.providers._common import BATCH_REFUSED, JOIN, REF_ARG, TO_ARG, digest
from shared.providers.registry import AwsAccount, AwsKeys, Needs
from shared.providers.ses import ENTRIES, ERRORS, FEWER, MAX_INLINE, PER_CALL, Ses
from shared.providers.ses_events import CREDENTIAL_ARG
from shared.providers.ses_request import literal
from simulator.ses import render
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, FakeHttp, Fixed

KEYS = AwsKeys("AKID", "secret")
ROLE = AwsAccount("eu-west-1", lambda: AwsKeys("AKROLE", "role-secret", "token"))
DECLARED = Credential("ses-main", "ses", "email", 14, configuration_set="posthaste-dev-ses-main")
ID = "0100018f0f0f0f0f-11111111-2222-3333-4444-555555555555-000000"
TAKEN = Response(200, {}, json.dumps({"MessageId": ID}).encode())
SHAPES: Any = get_session().get_service_model("sesv2")


def ses(http: FakeHttp) -> Ses:
    return Ses(
        http,
        "https://email.eu-west-1.amazonaws.com",
        region="eu-west-1",
        keys=lambda: KEYS,
        configuration_set="events",
        credential="ses-main",
        clock=Fixed(),
    )


def outcomes_of(answer: Response | Exception, targets: int = 1) -> list[Outcome]:
    return ses(FakeHttp(answer)).send(CONTENT, [target(n) for n in range(targets)], deadline=NOW + 5)


def request_of(content: Content, targets: list[Target]) -> tuple[str, dict[str, Any]]:
    """Send, and return the URL and the body, which the vendor's own service model must allow."""
    http = FakeHttp(TAKEN)
    ses(http).send(content, targets, deadline=NOW + 5)
    ((method, url, headers, body),) = http.requests
    assert method == "POST"
    assert headers["Content-Type"] == "application/json"
    operation = "SendBulkEmail" if "bulk" in url else "SendEmail"
    model = SHAPES.operation_model(operation)
    assert url == "https://email.eu-west-1.amazonaws.com" + model.http["requestUri"]
    found = json.loads(body)
    report = ParamValidator().validate(found, model.input_shape)
    assert not report.has_errors(), report.generate_report()
    return operation, found


def tags(found: list[Mapping[str, str]]) -> dict[str, str]:
    return {tag["Name"]: tag["Value"] for tag in found}


# The request

FULL = Content(
    Mailbox("news@sender.example", 'News "quoted", \\ Ω'),
    "Grüße {{name}} \U0001f600",
    html='<p>Hällo \u2028 "x" {{{y}}} \\{{z</p>',
    text="Hällo\r\n\ttab",
    reply_to=Mailbox("answers@sender.example", "Answers"),
    headers=(("X-Campaign", "spring"), ("List-Unsubscribe", "<https://x.example/u>")),
    attachments=(
        Attachment("a b.txt", "text/plain", base64.b64encode(b"hello\x00\xff").decode()),
        Attachment("logo.png", "image/png", "aWNvbg==", content_id="logo"),
    ),
)


def test_one_recipient_goes_by_send_email() -> None:
    t = Target(target(0).ref, Recipient("Ada@example.com", "ada@example.com", "Ada"))
    operation, body = request_of(FULL, [t])
    assert operation == "SendEmail"
    assert body["Destination"] == {"ToAddresses": ['"Ada" <Ada@example.com>']}
    assert tags(body["EmailTags"]) == {REF_ARG: t.ref, CREDENTIAL_ARG: "ses-main"}
    assert body["ConfigurationSetName"] == "events"
    assert body["ReplyToAddresses"] == ['"Answers" <answers@sender.example>']
    name, _, address = body["FromEmailAddress"].rpartition(" ")
    assert address == "<news@sender.example>"
    assert str(make_header(decode_header(name))) == FULL.sender.display
    simple = body["Content"]["Simple"]
    assert simple["Subject"] == {"Data": FULL.subject, "Charset": "UTF-8"}
    assert simple["Body"] == {
        "Text": {"Data": FULL.text, "Charset": "UTF-8"},
        "Html": {"Data": FULL.html, "Charset": "UTF-8"},
    }
    assert {h["Name"]: h["Value"] for h in simple["Headers"]} == dict(FULL.headers)
    first, second = simple["Attachments"]
    assert base64.b64decode(first["RawContent"]) == b"hello\x00\xff"
    assert (first["FileName"], first["ContentType"], first["ContentDisposition"]) == (
        "a b.txt",
        "text/plain",
        "ATTACHMENT",
    )
    assert "ContentId" not in first
    assert (second["ContentDisposition"], second["ContentId"]) == ("INLINE", "logo")


def test_several_recipients_go_by_send_bulk_email_and_see_no_other() -> None:
    targets = [target(n) for n in range(3)]
    operation, body = request_of(FULL, targets)
    assert operation == "SendBulkEmail"
    assert [e["Destination"] for e in body["BulkEmailEntries"]] == [
        {"ToAddresses": [t.recipient.address]} for t in targets
    ]
    assert [tags(e["ReplacementTags"]) for e in body["BulkEmailEntries"]] == [
        {REF_ARG: t.ref, CREDENTIAL_ARG: "ses-main"} for t in targets
    ]
    template = body["DefaultContent"]["Template"]
    values = json.loads(template["TemplateData"])
    texts = template["TemplateContent"]
    assert [render(texts, name, values) for name in ("Subject", "Text", "Html")] == [
        FULL.subject,
        FULL.text,
        FULL.html,
    ]
    assert len(template["Attachments"]) == 2
    assert {h["Name"] for h in template["Headers"]} == {"X-Campaign", "List-Unsubscribe"}


@given(st.text(st.sampled_from('{}\\ab0 \n"&')))
def test_no_text_is_taken_for_a_tag(text: str) -> None:
    """A model of Handlebars' rules: a tag must not touch a brace or backslash of the text around it."""
    values: dict[str, str] = {}
    made = literal(text, values)
    assert render({"Html": made}, "Html", values) == text
    assert all(name.isalnum() for name in values)
    for name in values:
        for before, after in _around(made, f"{{{{{name}}}}}"):
            assert before not in ("{", "\\")
            assert after != "}"


def _around(text: str, tag: str) -> list[tuple[str, str]]:
    places = [n for n in range(len(text)) if text.startswith(tag, n)]
    return [(text[n - 1 : n], text[n + len(tag) : n + len(tag) + 1]) for n in places]


def test_copies_go_with_one_recipient_and_are_told_apart() -> None:
    content = replace(CONTENT, cc=(Mailbox("cc@example.com", "C"),), bcc=(Mailbox("b@example.com"),))
    t = target(0)
    _, body = request_of(content, [t])
    assert body["Destination"] == {
        "ToAddresses": [t.recipient.address],
        "CcAddresses": ['"C" <cc@example.com>'],
        "BccAddresses": ["b@example.com"],
    }
    assert tags(body["EmailTags"])[TO_ARG] == digest(t.ref, t.recipient.address)


def test_the_body_is_what_was_signed_whole_or_in_parts() -> None:
    for content in (CONTENT, replace(CONTENT, html="x" * (JOIN + 1))):
        http = FakeHttp(TAKEN)
        provider = ses(http)
        provider.send(content, [target(0)], deadline=NOW + 5)
        provider.send(content, [target(1)], deadline=NOW + 5)
        assert http.parts == (1 if content is CONTENT else 2)
        for _, url, headers, body in http.requests:
            part = provider._one.signer.headers(KEYS, hashlib.sha256(body).hexdigest(), NOW)
            assert headers == part, url
        assert http.requests[0][3] != http.requests[1][3]


def test_how_many_go_into_a_call() -> None:
    provider = ses(FakeHttp(TAKEN))
    assert isinstance(provider, Sized)
    file = Attachment("a", "text/plain", "x" * MAX_INLINE)
    for content, expected in (
        (CONTENT, PER_CALL),
        (replace(CONTENT, html="x" * (MAX_INLINE + 1)), 1),
        (replace(CONTENT, html='"' * (MAX_INLINE // 2)), 1),
        (replace(CONTENT, attachments=(file,)), 1),
        (replace(CONTENT, cc=(Mailbox("c@example.com"),)), 1),
    ):
        assert provider.per_call_of(content) == expected


def test_a_content_for_one_call_each_begins_with_the_first() -> None:
    content = replace(CONTENT, html="x" * (MAX_INLINE + 1))
    http = FakeHttp(TAKEN)
    outcomes = ses(http).send(content, [target(0), target(1), target(2)], deadline=NOW + 5)
    assert outcomes == [Accepted(ID), NotStarted(), NotStarted()]
    assert len(http.requests) == 1


@pytest.mark.parametrize("attempt", [1, 2, 3, 4, 5, 6])
def test_later_attempts_go_in_smaller_calls(attempt: int) -> None:
    targets = [target(n, attempt=attempt) for n in range(PER_CALL)]
    count = FEWER.get(attempt, 1)
    http = FakeHttp(_results(*["SUCCESS"] * count) if count > 1 else TAKEN)
    outcomes = ses(http).send(CONTENT, targets, deadline=NOW + 5)
    assert [type(o) for o in outcomes] == [Accepted] * count + [NotStarted] * (PER_CALL - count)


def test_an_address_that_is_not_ascii_is_left_to_others() -> None:
    refused = Rejected("smtputf8_not_supported", permanent=False, about_message=True)
    http = FakeHttp(TAKEN)
    assert ses(http).send(CONTENT, [target(0, "é@example.com"), target(1)], deadline=NOW + 5) == [refused, Accepted(ID)]
    assert len(http.requests) == 1
    assert ses(http).send(CONTENT, [target(0, "é@example.com")], deadline=NOW + 5) == [refused]
    foreign = replace(CONTENT, cc=(Mailbox("é@example.com"),))
    assert ses(http).send(foreign, [target(0)], deadline=NOW + 5) == [refused]
    assert len(http.requests) == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"headers": tuple((f"X-{n}", "x") for n in range(16))}, "headers_not_allowed"),
        ({"headers": (("X-A", "x" * 996),)}, "headers_not_allowed"),
        ({"headers": (("X-A", "é"),)}, "headers_not_allowed"),
        ({"headers": (("X-A", ""),)}, "headers_not_allowed"),
        ({"attachments": (Attachment("x" * 256, "text/plain", ""),)}, "attachments_not_allowed"),
        ({"attachments": (Attachment("x", "a/" + "b" * 77, ""),)}, "attachments_not_allowed"),
        ({"attachments": (Attachment("x", "a/b", "", "c" * 79),)}, "attachments_not_allowed"),
    ],
)
def test_what_ses_cannot_send_is_not_sent_and_left_to_others(changes: dict[str, Any], code: str) -> None:
    http = FakeHttp(TAKEN)
    for targets in ([target(0)], [target(0), target(1)]):
        outcomes = ses(http).send(replace(CONTENT, **changes), targets, deadline=NOW + 5)
        assert outcomes == [Rejected(code, permanent=False, about_message=True)] * len(targets)
    assert http.requests == []


# The answer


def error(status: int, name: str, text: str = "", *, header: bool = True, **headers: str) -> Response:
    body: dict[str, str] = {"message": text} if header else {"__type": f"com.amazonaws.ses#{name}", "message": text}
    found = {k.replace("_", "-"): v for k, v in headers.items()}
    return Response(status, {**found, **({"x-amzn-errortype": name} if header else {})}, json.dumps(body).encode())


def _results(*statuses: str, text: str = "") -> Response:
    rows = [
        {"Status": s, "MessageId": f"{ID}-{n}"} if s == "SUCCESS" else {"Status": s, "Error": text}
        for n, s in enumerate(statuses)
    ]
    return Response(200, {}, json.dumps({"BulkEmailEntryResults": rows}).encode())


def down(code: str) -> Rejected:
    return Rejected(code, permanent=False, provider_down=True)


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
        (error(429, "TooManyRequestsException", "Daily message quota exceeded."), down("daily_quota_exceeded")),
        (error(400, "LimitExceededException", "Daily sending quota exceeded."), down("daily_quota_exceeded")),
        (error(400, "LimitExceededException", "Too many."), Throttled(1.0)),
        (error(400, "ThrottlingException", "Rate exceeded"), Throttled(1.0)),
        (error(400, "AccountSuspendedException"), down("account_suspended")),
        (error(400, "SendingPausedException"), down("sending_paused")),
        (error(400, "MailFromDomainNotVerifiedException"), other("mail_from_not_verified")),
        (error(400, "MessageRejected", "Illegal content"), gone("message_rejected")),
        (error(400, "MessageRejected", UNVERIFIED), other("identity_not_verified")),
        (error(400, "MessageRejected", "Sending paused for this account."), down("sending_paused")),
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
        (error(503, "ServiceUnavailableException"), Rejected("http_503", permanent=False)),
        (error(500, "InternalFailure"), Rejected("http_500", permanent=False)),
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


def test_every_error_and_status_of_the_service_model_has_a_meaning() -> None:
    for operation in ("SendEmail", "SendBulkEmail"):
        assert {e.name for e in SHAPES.operation_model(operation).error_shapes} <= set(ERRORS)
    assert set(SHAPES.shape_for("BulkEmailStatus").enum) == {*ENTRIES, "SUCCESS"}


@pytest.mark.promise(6)
def test_each_entry_has_a_fate_of_its_own() -> None:
    expected: dict[str, Outcome] = {
        "MESSAGE_REJECTED": gone("message_rejected"),
        "MAIL_FROM_DOMAIN_NOT_VERIFIED": other("mail_from_not_verified"),
        "CONFIGURATION_SET_NOT_FOUND": down("configuration_set_not_found"),
        "TEMPLATE_NOT_FOUND": other("template_not_found"),
        "ACCOUNT_SUSPENDED": down("account_suspended"),
        "ACCOUNT_THROTTLED": Throttled(1.0),
        "ACCOUNT_DAILY_QUOTA_EXCEEDED": down("daily_quota_exceeded"),
        "INVALID_SENDING_POOL_NAME": down("invalid_sending_pool"),
        "ACCOUNT_SENDING_PAUSED": down("sending_paused"),
        "CONFIGURATION_SET_SENDING_PAUSED": down("sending_paused"),
        "INVALID_PARAMETER": gone("bad_request"),
        "TRANSIENT_FAILURE": Rejected("transient_failure", permanent=False),
        "FAILED": Rejected("failed", permanent=False),
        "NEW_STATUS": Unknown("malformed_answer"),
    }
    statuses = ["SUCCESS", *expected, "SUCCESS"]
    outcomes = outcomes_of(_results(*statuses), len(statuses))
    assert outcomes[0] == Accepted(f"{ID}-0")
    assert outcomes[-1] == Accepted(f"{ID}-{len(statuses) - 1}")
    assert dict(zip(expected, outcomes[1:-1], strict=True)) == expected
    assert outcomes_of(_results("MESSAGE_REJECTED", "SUCCESS", text=UNVERIFIED), 2)[0] == other("identity_not_verified")


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


def test_a_call_refused_for_one_address_condemns_nobody() -> None:
    assert outcomes_of(error(400, "BadRequestException"), 3) == [BATCH_REFUSED] * 3
    assert outcomes_of(error(400, "MessageRejected"), 3) == [BATCH_REFUSED] * 3
    assert outcomes_of(error(400, "SendingPausedException"), 3) == [down("sending_paused")] * 3
    assert outcomes_of(error(400, "MessageRejected", UNVERIFIED), 3) == [other("identity_not_verified")] * 3


# What it is built from


def built(http: FakeHttp, **needs: Any) -> Provider:
    return registry.provider("ses")(
        Needs(http, Fixed(), **{"secret": {}, "credential": DECLARED, "aws": ROLE, **needs})
    )


def test_the_role_signs_if_the_secret_is_empty() -> None:
    http = FakeHttp(TAKEN)
    assert built(http).send(CONTENT, [target(0)], deadline=NOW + 5) == [Accepted(ID)]
    _, url, headers, body = http.requests[0]
    assert url == "https://email.eu-west-1.amazonaws.com/v2/email/outbound-emails"
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKROLE/")
    assert headers["X-Amz-Security-Token"] == "token"
    assert json.loads(body)["ConfigurationSetName"] == "posthaste-dev-ses-main"


def test_the_role_s_keys_are_asked_for_at_every_call() -> None:
    made = iter([AwsKeys("AK1", "a"), AwsKeys("AK2", "b")])
    http = FakeHttp(TAKEN)
    provider = built(http, aws=AwsAccount("eu-west-1", lambda: next(made)))
    for _ in range(2):
        provider.send(CONTENT, [target(0)], deadline=NOW + 5)
    assert ["AK1" in http.requests[0][2]["Authorization"], "AK2" in http.requests[1][2]["Authorization"]] == [
        True,
        True,
    ]


def test_the_secret_s_keys_come_first_and_the_settings_region() -> None:
    http = FakeHttp(TAKEN)
    secret = {"access_key_id": "AKSECRET", "secret_access_key": "s", "region": "us-east-2"}
    built(http, secret=secret).send(CONTENT, [target(0)], deadline=NOW + 5)
    built(http, secret=secret, credential=replace(DECLARED, region="cn-north-1")).send(
        CONTENT, [target(0)], deadline=NOW + 5
    )
    urls = [url.partition("/v2")[0] for _, url, _, _ in http.requests]
    assert urls == ["https://email.us-east-2.amazonaws.com", "https://email.cn-north-1.amazonaws.com.cn"]
    assert all("Credential=AKSECRET/" in headers["Authorization"] for _, _, headers, _ in http.requests)
    assert all("X-Amz-Security-Token" not in headers for _, _, headers, _ in http.requests)


@pytest.mark.parametrize(
    ("needs", "code"),
    [
        ({"aws": None}, "no_region"),
        ({"aws": None, "secret": {"region": "eu-west-1"}}, "no_aws_keys"),
        ({"aws": AwsAccount("eu-west-1", lambda: None)}, "no_aws_keys"),
        ({"secret": {"access_key_id": "AK"}, "aws": AwsAccount("eu-west-1", lambda: None)}, "no_aws_keys"),
        ({"secret": {"region": "eu-west-1.evil.example/?"}}, "no_region"),
    ],
)
def test_without_keys_or_region_nothing_is_sent(needs: dict[str, Any], code: str) -> None:
    http = FakeHttp(TAKEN)
    assert built(http, **needs).send(CONTENT, [target(0), target(1)], deadline=NOW + 5) == [down(code)] * 2
    assert http.requests == []
