"""AWS End User Messaging over a fake transport, held to botocore's service model."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.session import get_session
from botocore.validate import ParamValidator

from shared.contracts import Credential
from shared.domain.content.content import Content, Speech
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.ports import AnswerLost, NotSent, Response, Target
from shared.providers import registry
from shared.providers._common import REF_ARG
from shared.providers.aws_sms.events import CREDENTIAL_ARG
from shared.providers.aws_sms.form import MAX_BODY, MAX_SPEECH
from shared.providers.aws_sms.send import ERRORS, REASONS
from shared.providers.aws_sms.voices import BY_LANGUAGE, NAMES, voice_of
from shared.providers.registry import AwsAccount, Needs
from shared.sigv4 import AwsKeys
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, FakeHttp, Fixed

MODEL: Any = get_session().get_service_model("pinpoint-sms-voice-v2")
ROLE = AwsAccount("eu-west-1", lambda: AwsKeys("AKROLE", "role-secret", "token"))
SECRET = {"origination_identity": "+15005550006"}
ID = "0a1b2c3d-0000-1111-2222-333344445555"
TAKEN = Response(200, {}, json.dumps({"MessageId": ID}).encode())
ONE = target(0, channel="sms")
CHANNELS = {"sms": "SendTextMessage", "voice": "SendVoiceMessage"}


def send(
    http: FakeHttp,
    channel: str = "sms",
    content: Content = CONTENT,
    one: Target = ONE,
    secret: Mapping[str, str] = SECRET,
    aws: AwsAccount | None = ROLE,
) -> Outcome:
    lane = Credential("aws-main", "aws-sms", channel, 10, configuration_set="posthaste-dev-aws-main")
    provider = registry.provider("aws-sms")(Needs(http, Fixed(), secret, credential=lane, aws=aws))
    (outcome,) = provider.send(content, [one], deadline=NOW + 5)
    return outcome


def request_of(channel: str = "sms", **changes: Any) -> dict[str, Any]:
    """Send, and return the fields of the request, which the service model must allow."""
    http = FakeHttp(TAKEN)
    assert send(http, channel, **changes) == Accepted(ID)
    ((method, url, headers, body),) = http.requests
    assert (method, url) == ("POST", "https://sms-voice.eu-west-1.amazonaws.com/")
    assert headers["Content-Type"] == "application/x-amz-json-1.0"
    assert headers["X-Amz-Target"] == f"{MODEL.metadata['targetPrefix']}.{CHANNELS[channel]}"
    found: dict[str, Any] = json.loads(body)
    report = ParamValidator().validate(found, MODEL.operation_model(CHANNELS[channel]).input_shape)
    assert not report.has_errors(), report.generate_report()
    return found


def refusal(name: str, reason: str = "", status: int = 400) -> Response:
    body = {"__type": f"com.amazonaws.smsvoice#{name}", "Message": "x", **({"Reason": reason} if reason else {})}
    return Response(status, {}, json.dumps(body).encode())


# The request


@pytest.mark.promise(9)
def test_only_text_number_and_ref_leave() -> None:
    assert request_of() == {
        "DestinationPhoneNumber": ONE.recipient.address,
        "OriginationIdentity": "+15005550006",
        "MessageBody": "Hello",
        "MessageType": "TRANSACTIONAL",
        "ConfigurationSetName": "posthaste-dev-aws-main",
        "Context": {REF_ARG: ONE.ref, CREDENTIAL_ARG: "aws-main"},
    }


def test_a_call_is_said_by_a_voice_of_its_language() -> None:
    found = request_of("voice", content=replace(CONTENT, speech=Speech("en-AU", "alice", "https://x.example/a.mp3")))
    assert found == {
        "DestinationPhoneNumber": ONE.recipient.address,
        "OriginationIdentity": "+15005550006",
        "MessageBody": "Hello",
        "MessageBodyTextType": "TEXT",
        "VoiceId": "NICOLE",
        "ConfigurationSetName": "posthaste-dev-aws-main",
        "Context": {REF_ARG: ONE.ref, CREDENTIAL_ARG: "aws-main"},
    }


@pytest.mark.parametrize(
    ("channel", "secret", "expected"),
    [
        (
            "sms",
            {"message_type": "PROMOTIONAL", "max_price": "0.10"},
            {"MessageType": "PROMOTIONAL", "MaxPrice": "0.10"},
        ),
        ("voice", {"max_price": "1.5"}, {"MaxPricePerMinute": "1.5"}),
        ("sms", {"protect_configuration": "protect-1"}, {"ProtectConfigurationId": "protect-1"}),
    ],
)
def test_the_secret_says_how_it_is_sent(channel: str, secret: dict[str, str], expected: dict[str, str]) -> None:
    assert request_of(channel, secret=SECRET | secret).items() >= expected.items()


def test_the_longest_texts_are_allowed_by_the_model() -> None:
    for channel, most in (("sms", MAX_BODY), ("voice", MAX_SPEECH)):
        assert request_of(channel, content=replace(CONTENT, text="é" * most))["MessageBody"] == "é" * most
        http = FakeHttp(TAKEN)
        too_long = send(http, channel, replace(CONTENT, text="x" * (most + 1)))
        assert (too_long, http.requests) == (Rejected("too_large", permanent=True), [])


@pytest.mark.parametrize(
    ("left", "given"), [(4.9, None), (-5, None), (5, 5), (59.5, 59), (259_200, 259_200), (1e9, 259_200)]
)
@pytest.mark.parametrize("channel", CHANNELS)
def test_a_message_is_kept_no_longer_than_it_may_be_sent(channel: str, left: float, given: int | None) -> None:
    one = replace(ONE, not_after=NOW + left)
    if given is None:
        http = FakeHttp(TAKEN)
        assert (send(http, channel, one=one), http.requests) == (NotStarted(), [])
    else:
        assert request_of(channel, one=one)["TimeToLive"] == given


def test_the_signature_is_botocore_s() -> None:
    http = FakeHttp(TAKEN)
    send(http)
    ((_, url, headers, body),) = http.requests
    at = datetime.fromtimestamp(int(NOW), UTC).strftime("%Y%m%dT%H%M%SZ")
    signed = {name: headers[name] for name in ("Content-Type", "X-Amz-Date", "X-Amz-Target", "X-Amz-Security-Token")}
    request: Any = AWSRequest("POST", url, signed, body)
    request.context["timestamp"] = at
    signer = SigV4Auth(Credentials("AKROLE", "role-secret", "token"), MODEL.signing_name, "eu-west-1")
    theirs = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    assert headers["Authorization"].endswith(f"Signature={theirs}")
    assert hashlib.sha256(body).hexdigest() in signer.canonical_request(request)


@pytest.mark.parametrize("text", ["\ud800", "\x00", "\"'\\{}", "\U0001f600\n", "   x"])
def test_odd_characters_never_raise(text: str) -> None:
    assert send(FakeHttp(TAKEN), content=replace(CONTENT, text=text)) == Accepted(ID)


# What is refused here


@pytest.mark.parametrize(
    ("secret", "aws", "code"),
    [
        ({}, ROLE, "no_origination_identity"),
        ({"origination_identity": "a b"}, ROLE, "no_origination_identity"),
        (SECRET | {"message_type": "LOUD"}, ROLE, "invalid_message_type"),
        (SECRET | {"max_price": "cheap"}, ROLE, "invalid_max_price"),
        (SECRET | {"protect_configuration": "?"}, ROLE, "invalid_protect_configuration"),
        (SECRET, None, "no_region"),
        (SECRET | {"region": "nowhere"}, None, "no_region"),
        (SECRET | {"region": "eu-west-1"}, None, "no_aws_keys"),
        (SECRET, AwsAccount("eu-west-1", lambda: None), "no_aws_keys"),
    ],
)
def test_with_half_a_credential_nothing_is_sent(secret: dict[str, str], aws: AwsAccount | None, code: str) -> None:
    http = FakeHttp(TAKEN)
    assert send(http, secret=secret, aws=aws) == Rejected(code, permanent=False, provider_down=True)
    assert http.requests == []


@pytest.mark.parametrize(
    ("channel", "content", "to", "outcome"),
    [
        ("sms", CONTENT, "reader@example.com", Rejected("invalid_recipient", permanent=True)),
        ("sms", CONTENT, "whatsapp:+15550100000", Rejected("invalid_recipient", permanent=True)),
        ("sms", replace(CONTENT, text=" \n"), "", Rejected("invalid_content", permanent=True)),
        (
            "voice",
            replace(CONTENT, speech=Speech(keys=(("2", "yes"),))),
            "",
            Rejected("keys_not_supported", permanent=False, about_message=True),
        ),
        (
            "voice",
            replace(CONTENT, speech=Speech("tlh")),
            "",
            Rejected("voice_not_supported", permanent=False, about_message=True),
        ),
    ],
)
def test_what_this_service_cannot_send(channel: str, content: Content, to: str, outcome: Outcome) -> None:
    http = FakeHttp(TAKEN)
    assert send(http, channel, content, target(0, to or ONE.recipient.address)) == outcome
    assert http.requests == []


# What an answer means


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (TAKEN, Accepted(ID)),
        (Response(200, {}, b"{}"), Unknown("malformed_answer")),
        (Response(200, {}, b"<html>"), Unknown("malformed_answer")),
        (refusal("ThrottlingException"), Throttled(1.0)),
        (Response(429, {"retry-after": "7"}, b""), Throttled(7.0)),
        (refusal("ValidationException"), Rejected("bad_request", permanent=False, about_message=True)),
        (
            refusal("ValidationException", "PRICE_OVER_THRESHOLD"),
            Rejected("price_over_threshold", permanent=False, about_message=True),
        ),
        (
            refusal("ValidationException", "DESTINATION_COUNTRY_BLOCKED"),
            Rejected("region_not_permitted", permanent=False, about_message=True),
        ),
        (
            refusal("ConflictException", "DESTINATION_PHONE_NUMBER_OPTED_OUT"),
            Rejected("unsubscribed", permanent=True, unwanted=True),
        ),
        (
            refusal("ConflictException", "DESTINATION_PHONE_NUMBER_NOT_VERIFIED"),
            Rejected("recipient_not_verified", permanent=False, about_message=True),
        ),
        (
            refusal("ServiceQuotaExceededException", "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT"),
            Rejected("spend_limit_reached", permanent=False, provider_down=True),
        ),
        (
            refusal("ServiceQuotaExceededException", "DAILY_DESTINATION_CALL_LIMIT"),
            Rejected("daily_destination_limit", permanent=False, about_message=True),
        ),
        (
            refusal("AccessDeniedException", "ACCOUNT_DISABLED"),
            Rejected("account_suspended", permanent=False, provider_down=True),
        ),
        (refusal("AccessDeniedException"), Rejected("forbidden", permanent=False, provider_down=True)),
        (refusal("ResourceNotFoundException"), Rejected("invalid_from", permanent=False, provider_down=True)),
        (refusal("UnrecognizedClientException"), Rejected("unauthorized", permanent=False, provider_down=True)),
        (refusal("InternalServerException", status=500), Unknown("http_500")),
        (refusal("ValidationException", status=503), Unknown("http_503")),
        (refusal("SomethingNew"), Rejected("http_400", permanent=False, provider_down=True)),
        (NotSent("connection_refused"), Rejected("connection_refused", permanent=False)),
        (AnswerLost("reset"), Unknown("reset")),
    ],
)
def test_every_answer_has_one_meaning(answer: Response | Exception, outcome: Outcome) -> None:
    assert send(FakeHttp(answer)) == outcome


def test_the_tables_name_what_the_model_names() -> None:
    """Every error of the two operations, and no reason that the service does not have."""
    errors = {e.name for x in CHANNELS.values() for e in MODEL.operation_model(x).error_shapes}
    assert errors - {"InternalServerException"} <= set(ERRORS)
    kinds = ("Validation", "Conflict", "AccessDenied", "ServiceQuotaExceeded")
    known = {reason for kind in kinds for reason in MODEL.shape_for(f"{kind}ExceptionReason").enum}
    assert set(REASONS) <= known


def test_the_voices_are_the_service_s() -> None:
    assert set(MODEL.shape_for("VoiceId").enum) >= NAMES
    assert all(len(set(names)) == len(names) for names in BY_LANGUAGE.values())


@pytest.mark.parametrize(
    ("speech", "voice"),
    [
        (Speech(), "JOANNA"),
        (Speech("en-AU"), "NICOLE"),
        (Speech("EN-au"), "NICOLE"),
        (Speech("en"), "JOANNA"),
        (Speech("en-NZ"), "JOANNA"),
        (Speech("de"), "VICKI"),
        (Speech("de-AT"), "VICKI"),
        (Speech("zh-CN"), "ZHIYU"),
        (Speech("ar"), "ZEINA"),
        (Speech("de-DE", "Polly.Hans"), "HANS"),
        (Speech("fr-FR", "alice"), "LEA"),
        (Speech("xx"), None),
    ],
)
def test_which_voice_speaks(speech: Speech, voice: str | None) -> None:
    assert voice_of(speech) == voice
