"""Calls by Twilio: the request, and what its answers mean."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit
from xml.etree.ElementTree import Element, ParseError, fromstring

import pytest
from requests import Request
from twilio.http import HttpClient
from twilio.http.response import Response as SdkResponse
from twilio.rest import Client
from twilio.twiml.voice_response import Gather, VoiceResponse

from shared.contracts import Credential
from shared.domain.content.content import Content, Speech
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled
from shared.ports import Response, Target
from shared.providers import registry
from shared.providers.registry import Needs
from shared.providers.twilio.calls import CALL_REFUSALS, CALL_THROTTLED, TwilioCalls
from shared.providers.twilio.twiml import MAX_AGAIN, MAX_TWIML, Script, document, pack, unpack
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, FakeHttp, Fixed

SID = "CA" + "0a" * 16
ACCOUNT = "AC" + "1" * 32
SENT = json.dumps({"sid": SID, "status": "queued"}).encode()
TAKEN = Accepted(SID)
SECRET = {"account_sid": ACCOUNT, "auth_token": "token", "from": "+15005550006"}
HOOK = "https://api.example/webhooks/twilio/main"
ONE = target(0, channel="sms")
SAID = replace(CONTENT, text="Your visit is at 9 & <10>.", speech=Speech("en-AU", "Polly.Nicole"))


def calls(http: FakeHttp, **changes: str) -> TwilioCalls:
    return TwilioCalls(http, "", {**SECRET, **changes}, Fixed(), webhook_url=HOOK)


def call(
    content: Content = SAID, one: Target = ONE, changes: Mapping[str, str] | None = None
) -> tuple[Outcome, dict[str, str]]:
    """Make one call, and return its outcome and the form that left; empty if none did."""
    http = FakeHttp(Response(201, {}, SENT))
    (outcome,) = calls(http, **(changes or {})).send(content, [one], deadline=NOW + 5)
    sent = http.requests[-1][3].decode() if http.requests else ""
    return outcome, dict(parse_qsl(sent, keep_blank_values=True, strict_parsing=True)) if sent else {}


def gather(form: dict[str, str]) -> Element:
    root = fromstring(form["Twiml"].encode())  # noqa: S314 - our own
    assert root.tag == "Response"
    (found,) = root
    return found


def well_formed(form: dict[str, str]) -> bool:
    try:
        gather(form)
    except ParseError:
        return False
    return True


class Recorder(HttpClient):  # type: ignore[misc]  # the package has no types
    """The vendor's transport: keeps what the SDK would have sent."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def request(self, method: str, url: str, **options: Any) -> SdkResponse:
        request = Request(method, url, data=options["data"], headers=options["headers"], auth=options["auth"])
        self.seen.append(request.prepare())
        return SdkResponse(201, SENT.decode())


def test_the_request_is_the_one_the_vendors_sdk_makes() -> None:
    recorder, http = Recorder(), FakeHttp(Response(201, {}, SENT))
    assert calls(http).send(SAID, [ONE], deadline=NOW + 5) == [TAKEN]
    ((method, url, headers, body),) = http.requests
    twiml = parse_qs(body.decode())["Twiml"][0]
    Client(ACCOUNT, "token", http_client=recorder).calls.create(
        to=ONE.recipient.address,
        from_="+15005550006",
        twiml=twiml,
        status_callback=f"{HOOK}?ref={ONE.ref}",
        timeout=60,
        machine_detection="DetectMessageEnd",
    )
    (theirs,) = recorder.seen
    assert (method, url) == (theirs.method, theirs.url)
    assert parse_qs(body.decode()) == parse_qs(theirs.body)
    assert headers["Authorization"] == theirs.headers["Authorization"]


def test_the_twiml_is_the_one_the_vendors_sdk_makes() -> None:
    _, form = call()
    action = gather(form).attrib["action"]
    theirs = VoiceResponse()
    asked = Gather(action=action, method="POST", num_digits=1, finish_on_key="", timeout=5)
    asked.say(SAID.text, language="en-AU", voice="Polly.Nicole")
    theirs.append(asked)

    def plain(text: str) -> Any:
        root = fromstring(text.encode())  # noqa: S314 - our own
        return [(e.tag, sorted(e.attrib.items()), e.text) for e in root.iter()]

    assert plain(form["Twiml"]) == plain(str(theirs))


def test_a_recording_is_played_instead_of_the_text() -> None:
    _, form = call(replace(SAID, speech=Speech(audio_url="https://x.example/a.mp3?a=1&b=<2>")))
    (played,) = gather(form)
    assert (played.tag, played.text) == ("Play", "https://x.example/a.mp3?a=1&b=<2>")


@pytest.mark.promise(9)
def test_a_message_cannot_leave_the_words_that_are_said() -> None:
    text = "</Say><Dial>+15550100001</Dial><Say>\x00\x1f\ud800\ufffe]]>&amp;"
    _, form = call(replace(SAID, text=text, speech=Speech('en"><Dial>', "</Say>\x01")))
    assert well_formed(form)
    (said,) = gather(form)
    assert (said.tag, len(said), said.attrib["language"]) == ("Say", 0, 'en"><Dial>')
    assert said.text is not None
    assert said.text.startswith("</Say><Dial>+15550100001</Dial><Say>")


def test_a_key_is_reported_with_the_ref_and_the_script() -> None:
    _, form = call(replace(SAID, speech=Speech(keys=(("2", "confirmed"),))))
    address = urlsplit(gather(form).attrib["action"])
    query = parse_qs(address.query, strict_parsing=True)
    assert f"{address.scheme}://{address.netloc}{address.path}" == HOOK
    assert query["ref"] == [ONE.ref]
    assert unpack(query["script"][0]) == Script(SAID.text, HOOK, ONE.ref, keys=(("2", "confirmed"),))


@pytest.mark.parametrize(
    ("left", "ring"), [(4.9, None), (-5, None), (5, "5"), (59.5, "59"), (60, "60"), (3600, "60"), (1e9, "60")]
)
def test_a_phone_rings_no_longer_than_a_message_may_be_sent(left: float, ring: str | None) -> None:
    outcome, form = call(one=replace(ONE, not_after=NOW + left))
    assert (outcome, form.get("Timeout")) == (NotStarted() if ring is None else TAKEN, ring)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"ring_seconds": "20"}, {"Timeout": "20"}),
        ({"machine_detection": "Enable"}, {"MachineDetection": "Enable"}),
        ({"machine_detection": "off"}, {}),
        ({"messaging_service_sid": "MG" + "2" * 32}, {"From": "+15005550006"}),
    ],
)
def test_the_secret_says_how_a_call_is_made(changes: dict[str, str], expected: dict[str, str]) -> None:
    outcome, form = call(changes=changes)
    assert outcome == TAKEN
    assert form.items() >= expected.items()
    assert ("MachineDetection" in form) == (changes.get("machine_detection") != "off")
    assert "MessagingServiceSid" not in form


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"ring_seconds": "4"}, "invalid_ring_seconds"),
        ({"ring_seconds": "601"}, "invalid_ring_seconds"),
        ({"ring_seconds": "ten"}, "invalid_ring_seconds"),
        ({"ring_seconds": "٣٣"}, "invalid_ring_seconds"),
        ({"machine_detection": "on"}, "invalid_machine_detection"),
        ({"from": "", "messaging_service_sid": "MG" + "2" * 32}, "no_sender"),
        ({"auth_token": ""}, "no_api_key"),
    ],
)
def test_with_a_wrong_secret_no_call_is_made(changes: dict[str, str], code: str) -> None:
    assert call(changes=changes) == (Rejected(code, permanent=False, provider_down=True), {})


@pytest.mark.parametrize(
    ("content", "to", "code"),
    [
        (SAID, "whatsapp:+15550100000", "invalid_recipient"),
        (replace(SAID, text=" "), "", "invalid_content"),
        (replace(SAID, text="x & y " * 800), "", "too_large"),
    ],
)
def test_a_call_that_cannot_be_made_leaves_nothing(content: Content, to: str, code: str) -> None:
    one = target(0, to or ONE.recipient.address)
    assert call(content, one) == (Rejected(code, permanent=True), {})


def test_nine_hundred_characters_of_any_alphabet_fit() -> None:
    alphabet = "".join(chr(0x4E00 + (n * 7919) % 997) for n in range(900))
    for text in ("Please call us back & confirm. " * 28, alphabet):
        assert len(document(Script(text, HOOK, ONE.ref))) <= MAX_TWIML


@pytest.mark.parametrize("text", ["", "x", "!", "é", "eJw=", "A" * 7000, pack(Script("x", "y", "z"))[:-4]])
def test_what_is_no_script_is_none(text: str) -> None:
    assert unpack(text) is None


def test_a_script_is_repeated_a_few_times() -> None:
    script: Script | None = Script("x", HOOK, ONE.ref)
    for _ in range(MAX_AGAIN):
        assert script is not None
        script = script.repeated()
    assert script is not None
    assert script.repeated() is None


@pytest.mark.parametrize(
    ("status", "code", "outcome"),
    [
        (400, 21211, Rejected("invalid_recipient", permanent=True)),
        (400, 13224, Rejected("invalid_recipient", permanent=True)),
        (400, 21201, Rejected("invalid_recipient", permanent=True)),
        (400, 21214, Rejected("no_route", permanent=False, about_message=True)),
        (400, 21203, Rejected("region_not_permitted", permanent=False, about_message=True)),
        (403, 21215, Rejected("region_not_permitted", permanent=False, about_message=True)),
        (400, 21216, Rejected("region_not_permitted", permanent=False, about_message=True)),
        (400, 13227, Rejected("region_not_permitted", permanent=False, about_message=True)),
        (400, 21219, Rejected("recipient_not_verified", permanent=False, about_message=True)),
        (400, 21210, Rejected("invalid_from", permanent=False, provider_down=True)),
        (400, 21213, Rejected("invalid_from", permanent=False, provider_down=True)),
        (401, 20003, Rejected("unauthorized", permanent=False, provider_down=True)),
        (400, 21208, Rejected("twilio_21208", permanent=False, about_message=True)),
        (400, 10004, Throttled(1.0)),
        (429, 20429, Throttled(1.0)),
    ],
)
def test_every_code_of_calls_has_one_meaning(status: int, code: int, outcome: Outcome) -> None:
    body = json.dumps({"code": code, "message": "x", "status": status}).encode()
    assert calls(FakeHttp(Response(status, {}, body))).send(SAID, [ONE], deadline=NOW + 5) == [outcome]
    assert not set(CALL_REFUSALS) & CALL_THROTTLED


def test_the_channel_of_the_credential_decides_what_is_made() -> None:
    lane = Credential("main", "twilio", "voice", 1)
    needs = Needs(FakeHttp(Response(201, {}, SENT)), Fixed(), SECRET, public_url="https://api.example", credential=lane)
    assert isinstance(registry.provider("twilio")(needs), TwilioCalls)
