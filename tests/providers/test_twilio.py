import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, parse_qsl

import pytest
from requests import Request
from twilio.http import HttpClient
from twilio.http.response import Response as SdkResponse
from twilio.rest import Client

from shared import contracts
from shared.bootstrap import Deployment
from shared.contracts import Credential, Settings
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, OverQuota, Rejected, Throttled, Unknown
from shared.ports import AnswerLost, NoTime, NotSent, Response
from shared.providers import registry
from shared.providers.registry import Needs
from shared.providers.twilio.send import MAX_BODY, REFUSALS, THROTTLED, Twilio
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, Fixed
from tests.providers.fakes import FakeHttp as Transport

SID = "SM" + "0a" * 16
ACCOUNT = "AC" + "1" * 32
SENT = json.dumps({"sid": SID, "status": "queued", "num_segments": "1", "error_code": None}).encode()
TAKEN = Accepted(SID)
SECRET = {"account_sid": ACCOUNT, "auth_token": "token", "from": "+15005550006"}
HOOK = "https://api.example/webhooks/twilio/main"
ONE = target(0, channel="sms")


class FakeHttp(Transport):
    def __init__(self, answer: Response | Exception | None = None) -> None:
        super().__init__(answer or Response(201, {}, SENT))

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.requests[-1][3].decode(), keep_blank_values=True, strict_parsing=True))


def twilio(http: Transport, base_url: str = "", webhook_url: str = HOOK, **changes: str) -> Twilio:
    return Twilio(http, base_url, {**SECRET, **changes}, Fixed(), webhook_url=webhook_url)


def outcome_of(answer: Response | Exception) -> Outcome:
    (outcome,) = twilio(FakeHttp(answer)).send(CONTENT, [ONE], deadline=NOW + 5)
    return outcome


def error(status: int, code: Any, message: Any = "x", **headers: str) -> Response:
    body = json.dumps({"code": code, "message": message, "more_info": "https://…", "status": status}).encode()
    return Response(status, {k.replace("_", "-"): v for k, v in headers.items()}, body)


# The request


class Recorder(HttpClient):  # type: ignore[misc]  # the package has no types
    """The vendor's transport: keeps what the SDK would have sent."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def request(self, method: str, url: str, **options: Any) -> SdkResponse:
        request = Request(method, url, data=options["data"], headers=options["headers"], auth=options["auth"])
        self.seen.append(request.prepare())
        return SdkResponse(201, SENT.decode())


@pytest.mark.parametrize(
    ("changes", "sender"),
    [
        ({}, {"from_": "+15005550006"}),
        ({"from": "Posthaste"}, {"from_": "Posthaste"}),
        ({"messaging_service_sid": "MG" + "2" * 32}, {"messaging_service_sid": "MG" + "2" * 32}),
    ],
)
def test_the_request_is_the_one_the_vendors_sdk_makes(changes: dict[str, str], sender: dict[str, str]) -> None:
    recorder, http = Recorder(), FakeHttp()
    text = "Grüße & +1 \U0001f600\n\ttab = %"
    made = Client(ACCOUNT, "token", http_client=recorder).messages.create(
        to=ONE.recipient.address, body=text, status_callback=f"{HOOK}?ref={ONE.ref}", validity_period=600, **sender
    )
    assert made.sid == SID
    provider, one = twilio(http, **changes), replace(ONE, not_after=NOW + 600.9)
    assert provider.send(replace(CONTENT, text=text), [one], deadline=NOW + 5) == [TAKEN]
    (theirs,), ((method, url, headers, body),) = recorder.seen, http.requests
    assert (method, url) == (theirs.method, theirs.url)
    assert parse_qs(body.decode()) == parse_qs(theirs.body)
    for name in ("Authorization", "Content-Type", "Accept"):
        assert headers[name] == theirs.headers[name]


def test_an_api_key_calls_instead_of_the_token() -> None:
    http = FakeHttp()
    for changes, pair in (
        ({"api_key": "SK1:secret"}, b"SK1:secret"),
        ({"auth_token": "new, old"}, f"{ACCOUNT}:new".encode()),
    ):
        assert twilio(http, **changes).send(CONTENT, [ONE], deadline=NOW + 5) == [TAKEN]
        assert http.requests[-1][2]["Authorization"] == "Basic " + base64.b64encode(pair).decode()


@pytest.mark.promise(9)
def test_only_text_number_and_ref_leave() -> None:
    http = FakeHttp()
    twilio(http).send(CONTENT, [ONE], deadline=NOW + 5)
    assert http.form == {
        "To": "+15550100000",
        "From": "+15005550006",
        "Body": "Hello",
        "StatusCallback": f"{HOOK}?ref={ONE.ref}",
    }


@pytest.mark.parametrize(
    ("left", "given"), [(0.9, None), (-5, None), (1, "1"), (59.5, "59"), (36_000, "36000"), (1e9, "36000")]
)
def test_a_text_is_kept_no_longer_than_it_may_be_sent(left: float, given: str | None) -> None:
    http = FakeHttp()
    (outcome,) = twilio(http).send(CONTENT, [replace(ONE, not_after=NOW + left)], deadline=NOW + 5)
    if given is None:
        assert (outcome, http.requests) == (NotStarted(), [])
    else:
        assert (outcome, http.form["ValidityPeriod"]) == (TAKEN, given)


@pytest.mark.parametrize("text", ["0", "36001", "ten", "-5", "٣"])
def test_a_validity_that_is_none_sends_nothing(text: str) -> None:
    http = FakeHttp()
    (outcome,) = twilio(http, validity_period=text).send(CONTENT, [ONE], deadline=NOW + 5)
    assert outcome == Rejected("invalid_validity_period", permanent=False, provider_down=True)
    assert http.requests == []


def test_the_credential_says_how_long_a_text_may_wait() -> None:
    http = FakeHttp()
    lane = Credential("main", "twilio", "sms", 10)
    secret = {**SECRET, "validity_period": " 600 "}
    needs = Needs(http, Fixed(), secret, public_url="https://api.example", credential=lane)
    assert registry.provider("twilio")(needs).send(CONTENT, [ONE], deadline=NOW + 5) == [TAKEN]
    assert http.form["ValidityPeriod"] == "600"


def test_a_message_without_an_expiry_has_no_validity() -> None:
    http = FakeHttp()
    twilio(http).send(CONTENT, [ONE], deadline=NOW + 5)
    assert "ValidityPeriod" not in http.form


def test_the_shorter_validity_counts() -> None:
    for left, given in ((59.5, "59"), (7200.0, "600")):
        http = FakeHttp()
        one = replace(ONE, not_after=NOW + left)
        assert twilio(http, validity_period="600").send(CONTENT, [one], deadline=NOW + 5) == [TAKEN]
        assert http.form["ValidityPeriod"] == given


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("x" * MAX_BODY, TAKEN),
        ("x" * (MAX_BODY + 1), Rejected("too_large", permanent=True)),
        ("", Rejected("invalid_content", permanent=True)),
        (" \n", Rejected("invalid_content", permanent=True)),
    ],
)
def test_a_text_has_up_to_1600_characters(text: str, outcome: Outcome) -> None:
    http = FakeHttp()
    assert twilio(http).send(replace(CONTENT, text=text), [ONE], deadline=NOW + 5) == [outcome]
    assert len(http.requests) == (outcome == TAKEN)


@pytest.mark.parametrize(
    "to",
    [
        *("", "15005550006", "+0150055500", "+1500", "+1 500 555 0006", "+1234567890123456", "whatsapp:+15005550006"),
        *("+1500555000\uff16", "+15005550006\n", "a@x.example", "\ud800"),
    ],
)
def test_what_is_no_number_is_not_called(to: str) -> None:
    http = FakeHttp()
    one = replace(ONE, recipient=replace(ONE.recipient, address=to))
    assert twilio(http).send(CONTENT, [one], deadline=NOW + 5) == [Rejected("invalid_recipient", permanent=True)]
    assert http.requests == []


@pytest.mark.promise(6)
@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\uffff", "&To=+1", "%00"])
def test_odd_characters_never_raise(text: str) -> None:
    http = FakeHttp()
    assert twilio(http).send(replace(CONTENT, text=text), [ONE], deadline=NOW + 5) == [TAKEN]
    assert http.form["Body"] == ("?" if text == "\ud800" else text)
    assert http.form["To"] == "+15550100000"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"account_sid": ""}, "no_account_sid"),
        ({"account_sid": "AC1/../x"}, "no_account_sid"),
        ({"auth_token": ""}, "no_api_key"),
        ({"auth_token": " , "}, "no_api_key"),
        ({"api_key": "SK1"}, "no_api_key"),
        ({"api_key": "SK1:ä"}, "no_api_key"),
        ({"api_key": "SK1:a\r\nEvil: 1"}, "no_api_key"),
        ({"from": " "}, "no_sender"),
    ],
)
def test_with_half_a_secret_nothing_is_sent(changes: dict[str, str], code: str) -> None:
    http = FakeHttp()
    outcomes = twilio(http, **changes).send(CONTENT, [ONE], deadline=NOW + 5)
    assert (outcomes, http.requests) == ([Rejected(code, permanent=False, provider_down=True)], [])


def test_without_an_address_for_callbacks_nothing_is_sent() -> None:
    http = FakeHttp()
    outcomes = twilio(http, webhook_url="").send(CONTENT, [ONE], deadline=NOW + 5)
    assert (outcomes, http.requests) == ([Rejected("no_webhook_url", permanent=False, provider_down=True)], [])


def test_where_calls_go_and_callbacks_come_in() -> None:
    def built(secret: Mapping[str, str], public_url: str) -> str:
        http = FakeHttp()
        credential = Credential("texts", "twilio", "sms", 10)
        needs = Needs(http, Fixed(), secret, "https://api.ie1.example/", credential=credential, public_url=public_url)
        registry.provider("twilio")(needs).send(CONTENT, [ONE], deadline=NOW + 5)
        if not http.requests:
            return ""
        assert http.requests[0][1] == f"https://api.ie1.example/2010-04-01/Accounts/{ACCOUNT}/Messages.json"
        return http.form["StatusCallback"].partition("?")[0]

    assert built(SECRET, "https://p.example/x") == "https://p.example/x/webhooks/twilio/texts"
    assert built({**SECRET, "webhook_url": "https://own.example/in"}, "https://p.example") == "https://own.example/in"
    assert built(SECRET, "") == ""


# The sender's side: where the provider is told to post


@pytest.mark.parametrize(
    ("public_url", "api_url", "hook"),
    [
        ("", "https://api.example", "https://api.example/webhooks/twilio/texts?ref="),
        ("https://p.example/x", "https://api.example", "https://p.example/x/webhooks/twilio/texts?ref="),
    ],
)
def test_the_lane_gives_its_provider_the_apis_address(public_url: str, api_url: str, hook: str) -> None:
    texts = Credential("texts", "twilio", "sms", 10)
    env = {
        contracts.ENV_SETTINGS: Settings("dev", (texts,), {}, public_url).dumps(),
        contracts.ENV_API_URL: api_url,
        contracts.ENV_LANE: "texts",
    }
    made, http = Deployment(env).lane, FakeHttp()
    made._http = http
    made._provider(SECRET).send(CONTENT, [ONE], deadline=NOW + 5)
    assert http.form["StatusCallback"] == f"{hook}{ONE.ref}"


# The error table

HTML = b"<html><body>502 Bad Gateway</body></html>"


def down(code: str) -> Rejected:
    return Rejected(code, permanent=False, provider_down=True)


def bad(code: str) -> Rejected:
    return Rejected(code, permanent=True)


def other(code: str) -> Rejected:
    return Rejected(code, permanent=False, about_message=True)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Response(201, {}, SENT), TAKEN),
        (Response(201, {}, b""), Unknown("malformed_answer")),
        (Response(201, {}, b'{"sid":"","status":"queued"}'), Unknown("malformed_answer")),
        (Response(201, {}, b'{"sid":7,"status":"queued"}'), Unknown("malformed_answer")),
        (Response(201, {}, b'{"sid":"SM1"}'), Unknown("malformed_answer")),
        (Response(201, {}, b"[" * 100_000), Unknown("malformed_answer")),
        (Response(200, {}, SENT), Unknown("malformed_answer")),
        (Response(202, {}, SENT), Unknown("malformed_answer")),
        (error(400, 21211), bad("invalid_recipient")),
        (error(400, 21217), bad("invalid_recipient")),
        (error(400, 21604), bad("invalid_recipient")),
        (error(400, 21614), bad("invalid_recipient")),
        (error(400, 21635), bad("invalid_recipient")),
        (error(400, 21610), Rejected("unsubscribed", permanent=True, unwanted=True)),
        (error(400, 21602), bad("invalid_content")),
        (error(400, 21619), bad("invalid_content")),
        (error(400, 21605), bad("too_large")),
        (error(400, 21617), bad("too_large")),
        (error(400, 21408), other("region_not_permitted")),
        (error(403, 21408), other("region_not_permitted")),
        (error(400, 21612), other("no_route")),
        (error(400, 21608), other("recipient_not_verified")),
        (error(400, 21606), other("sender_not_capable")),
        (error(400, 21659), other("sender_not_capable")),
        (error(400, 63003), other("twilio_63003")),
        *((error(400, code), down("invalid_from")) for code in (21212, 21401, 21603, 21607, 21660, 21661)),
        *((error(404, code), down("invalid_from")) for code in (21701, 21703, 21704, 21705)),
        (error(400, 21609), down("invalid_callback")),
        (error(400, 21611), down("queue_full")),
        (error(400, 30001), down("queue_full")),
        (error(400, 30002), down("account_suspended")),
        (error(401, 20003), down("unauthorized")),
        (error(403, 20003), down("unauthorized")),
        (error(401, 20005), down("account_not_active")),
        (error(403, 20006), down("forbidden")),
        (error(403, 99999), down("forbidden")),
        (error(404, 20404), down("account_not_found")),
        (Response(401, {}, HTML), down("unauthorized")),
        (Response(403, {}, HTML), down("forbidden")),
        (Response(404, {}, HTML), down("account_not_found")),
        (Response(400, {}, HTML), down("http_400")),
        (error(400, "21211"), down("http_400")),
        (error(400, True), down("http_400")),
        (error(400, 21211, None), down("http_400")),
        (error(400, 10**9), down("http_400")),
        (error(405, 20004), down("http_405")),
        (Response(301, {"location": "https://elsewhere"}, b""), down("http_301")),
        (Response(408, {}, b""), Unknown("http_408")),
        (Response(413, {}, HTML), bad("too_large")),
        (error(429, 20429), Throttled(1)),
        (error(400, 14107), Throttled(1)),
        (error(400, 63038), OverQuota(1.0)),
        (error(403, 20429), Throttled(1)),
        (Response(429, {}, HTML), Throttled(1)),
        (error(500, 20500), Unknown("http_500")),
        (error(500, 21211), Unknown("http_500")),
        (Response(500, {}, HTML), Unknown("http_500")),
        (error(502, 20500), Unknown("http_502")),
        (error(504, 21211), Unknown("http_504")),
        (error(502, 20429), Unknown("http_502")),
        (Response(502, {}, HTML), Unknown("http_502")),
        (Response(504, {}, b"{}"), Unknown("http_504")),
        (error(503, 20503), Rejected("unavailable", permanent=False)),
        (error(503, 20500), Unknown("http_503")),
        (error(502, 20503), Unknown("http_502")),
        (Response(503, {}, HTML), Unknown("http_503")),
        (NotSent("connection_refused"), Rejected("connection_refused", permanent=False)),
        (NoTime("deadline"), NotStarted()),
        (AnswerLost("read_timeout"), Unknown("read_timeout")),
    ],
)
def test_every_answer_has_one_meaning(answer: Response | Exception, outcome: Outcome) -> None:
    assert outcome_of(answer) == outcome


def test_no_code_of_the_table_means_two_things() -> None:
    assert not THROTTLED & set(REFUSALS)
    for code, refusal in REFUSALS.items():
        assert outcome_of(error(400, code)) == refusal.rejected()
        assert sum([refusal.permanent, refusal.provider_down, refusal.about_message]) == 1


@pytest.mark.parametrize(("after", "seconds"), [("7", 7), ("99999", 900), ("x", 1), ("", 1)])
def test_throttling_says_how_long_to_wait(after: str, seconds: float) -> None:
    assert outcome_of(error(429, 20429, retry_after=after)) == Throttled(seconds)
