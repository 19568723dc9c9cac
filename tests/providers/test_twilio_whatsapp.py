"""WhatsApp by Twilio: the request, and the errors of its sessions."""

import json
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

from shared.contracts import Credential
from shared.domain.jobs.outcomes import Accepted, Outcome, Rejected
from shared.ports import Response
from shared.providers import registry
from shared.providers.registry import Needs
from shared.providers.twilio.whatsapp import TwilioWhatsapp
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, FakeHttp, Fixed

SID = "SM" + "0a" * 16
SENT = Response(201, {}, json.dumps({"sid": SID, "status": "queued"}).encode())
SECRET = {"account_sid": "AC" + "1" * 32, "auth_token": "token", "from": "+15005550006"}
TEMPLATE = "HX" + "0a" * 16
ONE = target(0, channel="sms")


def send(changes: Mapping[str, str], answer: Response = SENT, text: str = "Hello") -> tuple[Outcome, dict[str, str]]:
    http = FakeHttp(answer)
    lane = Credential("main", "twilio", "whatsapp", 10)
    needs = Needs(http, Fixed(), {**SECRET, **changes}, public_url="https://api.example", credential=lane)
    provider = registry.provider("twilio")(needs)
    assert isinstance(provider, TwilioWhatsapp)
    (outcome,) = provider.send(replace(CONTENT, text=text), [ONE], deadline=NOW + 5)
    return outcome, dict(parse_qsl(http.requests[-1][3].decode(), keep_blank_values=True)) if http.requests else {}


@pytest.mark.parametrize("sender", ["+15005550006", "whatsapp:+15005550006"])
def test_both_numbers_are_of_whatsapp(sender: str) -> None:
    outcome, form = send({"from": sender})
    assert outcome == Accepted(SID)
    assert form == {
        "To": f"whatsapp:{ONE.recipient.address}",
        "From": "whatsapp:+15005550006",
        "Body": "Hello",
        "StatusCallback": f"https://api.example/webhooks/twilio/main?ref={ONE.ref}",
    }


def test_a_template_is_filled_with_the_text() -> None:
    text = 'Grüße "Ann" \\ {{1}}'
    outcome, form = send({"content_sid": TEMPLATE, "messaging_service_sid": "MG" + "2" * 32}, text=text)
    assert outcome == Accepted(SID)
    assert (form["ContentSid"], json.loads(form["ContentVariables"])) == (TEMPLATE, {"1": text})
    assert "Body" not in form
    assert "From" not in form


def test_a_template_that_is_none_sends_nothing() -> None:
    assert send({"content_sid": "HX1"}) == (Rejected("invalid_content_sid", permanent=False, provider_down=True), {})


@pytest.mark.parametrize(("code", "meaning"), [(63016, "session_closed"), (63024, "recipient_without_whatsapp")])
def test_errors_of_sessions_leave_the_message_to_others(code: int, meaning: str) -> None:
    answer = Response(400, {}, json.dumps({"code": code, "message": "x", "status": 400}).encode())
    assert send({}, answer)[0] == Rejected(meaning, permanent=False, about_message=True)
