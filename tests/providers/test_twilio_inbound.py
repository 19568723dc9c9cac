"""Texts that recipients write: STOP and START are wishes, anything else is not."""

from urllib.parse import urlencode

import pytest

from shared.contracts import ProviderEvent
from shared.ports import POSTED_AT, POSTED_TO, Reading
from shared.providers.twilio.events import TwilioWebhooks
from shared.providers.twilio.inbound import SILENCE

NOW = 1_790_000_000
SID = "SM" + "0a" * 16


def read(body: str, sender: str = "+14155550100", **more: str) -> Reading:
    fields = {"MessageSid": SID, "SmsStatus": "received", "From": sender, "To": "+15005550006", "Body": body, **more}
    headers = {POSTED_TO: "https://api.example/webhooks/twilio/main", POSTED_AT: str(NOW)}
    return TwilioWebhooks().words(headers, urlencode(fields).encode())


@pytest.mark.promise(11)
@pytest.mark.parametrize(
    ("body", "more", "word"),
    [
        *((x, {}, "stopped") for x in ("STOP", " stop\n", "Unsubscribe", "QUIT", "optout", "revoke")),
        *((x, {}, "stopped") for x in ("please stop", "STOP!", "Abmelden", "Baja, por favor")),
        *((x, {}, "started") for x in ("START", "yes", "unstop ")),
        ("Arrêt", {"OptOutType": "STOP"}, "stopped"),
        ("oui", {"OptOutType": "START"}, "started"),
        ("stop", {"OptOutType": "HELP"}, "written"),
    ],
)
def test_a_keyword_is_a_wish_of_the_number(body: str, more: dict[str, str], word: str) -> None:
    said = ProviderEvent("+14155550100", word, NOW, SID, "+15005550006", body.rstrip("\n"))
    assert read(body, **more) == Reading(1, [said], SILENCE)
    assert read(body, "whatsapp:+14155550100", **more, To="whatsapp:+15005550006").words == [said]


@pytest.mark.parametrize("body", ["", "HELP", "don't stop", "stop by at 5", "I said it has to stop by then"])
def test_any_other_text_wishes_nothing(body: str) -> None:
    assert read(body) == Reading(1, [ProviderEvent("+14155550100", "written", NOW, SID, "+15005550006", body)], SILENCE)


def test_a_text_keeps_its_lines_and_no_control_character() -> None:
    assert read("a\r\nb\tc\x00é😀").words[0].detail == "a\nb c é😀"
    assert len(read("x" * 3000).words[0].detail) == 1600


@pytest.mark.parametrize("sender", ["", "12345", "ann@example.com", "sip:+14155550100", "+1415555010x"])
def test_what_no_number_wrote_changes_nothing(sender: str) -> None:
    assert read("STOP", sender) == Reading(1, [], SILENCE)
