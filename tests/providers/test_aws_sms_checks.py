"""The doctor's trial of AWS End User Messaging, by clients that hold requests and answers to AWS's own model."""

from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from shared.contracts import Credential
from shared.providers.aws_sms.checks import CLIENT, ELSEWHERE, SIMULATED, simulated, tier
from shared.providers.aws_sms.send import ERRORS, REASONS
from shared.providers.checks import Finding, Level, look_of

REGION = "eu-west-1"
TEXTS = Credential("texts", "aws-sms", "sms", 1, configuration_set="posthaste-dev-texts")
CALLS = Credential("calls", "aws-sms", "voice", 1, configuration_set="posthaste-dev-calls")
SECRET = {"origination_identity": "+61412345678"}
ASKED = {
    "DestinationPhoneNumber": SIMULATED["+61"],
    "OriginationIdentity": "+61412345678",
    "MessageBody": "Test",
    "DryRun": True,
}


class Stage:
    """A deployment whose client of one service answers as recorded; the part that these checks use."""

    region = REGION
    is_deployed = True

    def __init__(self, secret: Mapping[str, str]) -> None:
        self.fields = secret
        self.stub = Stubber(boto3.Session("x", "y", region_name=REGION).client(CLIENT))
        self.stub.activate()

    def client(self, service: str, region: str | None = None, *, attempts: int = 0) -> Any:
        assert (service, region, attempts) == (CLIENT, REGION, 0)
        return self.stub.client

    def has_own_keys(self, _credential: Credential) -> bool:
        return "access_key_id" in self.fields

    def secret(self, _credential: Credential) -> Mapping[str, str]:
        return self.fields


@pytest.fixture
def stage() -> Iterator[Stage]:
    found = Stage(SECRET)
    yield found
    found.stub.assert_no_pending_responses()


def trial(stage: Stage, *credentials: Credential) -> list[Finding]:
    return list(look_of("aws-sms", "aws-sms trial")(stage, credentials))  # type: ignore[arg-type]


def refused(stage: Stage, code: str, reason: str = "") -> Finding:
    more = {"Reason": reason} if reason else {}
    stage.stub.add_client_error("send_text_message", code, http_status_code=400, modeled_fields=more)
    (found,) = trial(stage, TEXTS)
    return found


def test_a_trial_is_the_senders_request_that_aws_only_checks(stage: Stage) -> None:
    text = {**ASKED, "MessageType": "TRANSACTIONAL", "ConfigurationSetName": "posthaste-dev-texts"}
    call = {"MessageBodyTextType": "TEXT", "VoiceId": "JOANNA", "ConfigurationSetName": "posthaste-dev-calls"}
    stage.stub.add_response("send_text_message", {"MessageId": "x"}, text)
    stage.stub.add_response("send_voice_message", {"MessageId": "x"}, {**ASKED, **call})
    found = trial(stage, TEXTS, CALLS)
    assert [(x.check, x.level) for x in found] == [("aws-sms texts", Level.OK), ("aws-sms calls", Level.OK)]


def test_a_trial_is_never_sent(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    for name in ("send_text_message", "send_voice_message"):
        monkeypatch.setattr(stage.stub.client, name, lambda **fields: asked.append(fields))
    trial(stage, TEXTS, CALLS)
    assert [(x["DryRun"], "Context" in x) for x in asked] == [(True, False)] * 2


@pytest.mark.parametrize(
    ("code", "reason", "level", "says"),
    [
        ("ResourceNotFoundException", "", Level.ERROR, "refuses each of its messages (ResourceNotFoundException)"),
        ("ConflictException", "NUMBER_CAPABILITIES_MISMATCH", Level.ERROR, "(NUMBER_CAPABILITIES_MISMATCH)"),
        ("ServiceQuotaExceededException", "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT", Level.ERROR, "SPEND_LIMIT"),
        ("AccessDeniedException", "ACCOUNT_DISABLED", Level.ERROR, "(ACCOUNT_DISABLED)"),
        ("AccessDeniedException", "", Level.WARNING, "your identity may not call SendTextMessage"),
        ("ConflictException", "DESTINATION_PHONE_NUMBER_NOT_VERIFIED", Level.ERROR, "in the sandbox"),
        ("ValidationException", "PRICE_OVER_THRESHOLD", Level.WARNING, "its own test number (PRICE_OVER_THRESHOLD)"),
        ("ValidationException", "COUNTRY_CODE_MISMATCH", Level.SKIPPED, "(COUNTRY_CODE_MISMATCH)"),
    ],
)
def test_a_refused_trial_is_judged_by_the_senders_own_table(
    stage: Stage, code: str, reason: str, level: Level, says: str
) -> None:
    found = refused(stage, code, reason)
    assert (found.check, found.level) == ("aws-sms texts", level)
    assert says in found.says
    assert bool(found.do) == (level is not Level.SKIPPED)


def test_every_refusal_that_opens_the_breaker_is_an_error(stage: Stage) -> None:
    for reason, rule in REASONS.items():
        if rule.provider_down:
            assert refused(stage, "ConflictException", reason).level is Level.ERROR
    for code, named in ERRORS.items():
        if named and named.provider_down and code != "AccessDeniedException":
            assert refused(stage, code).level is Level.ERROR


@pytest.mark.parametrize("code", ["ThrottlingException", "InternalServerException", "SomethingNew"])
def test_what_says_nothing_about_the_credential_is_left_to_the_doctor(stage: Stage, code: str) -> None:
    with pytest.raises(ClientError, match=code):
        refused(stage, code)


@pytest.mark.parametrize(
    "secret",
    [{}, {"origination_identity": "a b"}, SECRET | {"access_key_id": "AKIA", "secret_access_key": "hush"}],
)
def test_a_credential_without_an_identity_or_of_another_account_is_not_tried(secret: dict[str, str]) -> None:
    (found,) = trial(Stage(secret), TEXTS)
    assert (found.level, "hush" in str(found)) == (Level.SKIPPED, False)


def test_a_trial_goes_to_the_simulator_of_the_numbers_own_country() -> None:
    assert simulated("+3584571234567") == SIMULATED["+358"]
    for other in ("+447700900123", "+12025550123", "pool-1234", "ACME"):
        assert simulated(other) == ELSEWHERE
    assert all(number.startswith(code) for code, number in SIMULATED.items())
    assert not [(a, b) for a in SIMULATED for b in SIMULATED if a != b and a.startswith(b)]


def test_the_number_of_the_settings_names_the_country_of_a_pool() -> None:
    stage = Stage({"origination_identity": "pool-1234"})
    asked = {**ASKED, "OriginationIdentity": "pool-1234", "MessageType": "TRANSACTIONAL"}
    stage.stub.add_response("send_text_message", {"MessageId": "x"}, asked)
    (found,) = trial(stage, Credential("texts", "aws-sms", "sms", 1, number="+61412345678"))
    assert found.level is Level.OK


def test_an_account_in_the_sandbox_is_an_error(stage: Stage) -> None:
    for value, level in (("SANDBOX", Level.ERROR), ("PRODUCTION", Level.OK)):
        answer = {"AccountAttributes": [{"Name": "ACCOUNT_TIER", "Value": value}]}
        stage.stub.add_response("describe_account_attributes", answer, {})
        (found,) = look_of("aws-sms", "aws-sms")(stage, [TEXTS, CALLS])  # type: ignore[arg-type]
        assert (found.check, found.level) == (f"aws-sms {REGION}", level)
    assert tier({}, REGION).level is Level.OK
