"""What Twilio posts about calls, and what it is answered."""

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import ProviderEvent
from shared.domain.jobs.feedback import HARD, WISHES, ProviderEventKind, state_of
from shared.ports import POSTED_AT, POSTED_TO, BadEvents, Reading
from shared.providers.twilio.call_events import STATUSES
from shared.providers.twilio.events import TwilioWebhooks
from shared.providers.twilio.twiml import HANG_UP, MAX_AGAIN, Script, document, pack
from tests.providers.contract import JOB, check_reading

NOW = 1_790_000_000
REF = f"{JOB}-3-17-2"
READER = TwilioWebhooks()
SID = "CA" + "0a" * 16
HOME = "https://api.example/webhooks/twilio/main"
SCRIPT = Script("Hello", HOME, REF, keys=(("2", "confirmed"), ("#", "ann@example.com")))


def read(script: str = "", **fields: str) -> Reading:
    query = urlencode({"ref": REF, **({"script": script} if script else {})})
    form = {"CallSid": SID, "AccountSid": "AC" + "1" * 32, "To": "+15550100000", **fields}
    return READER.words({POSTED_TO: f"{HOME}?{query}", POSTED_AT: str(NOW)}, urlencode(form).encode())


def press(key: str, script: Script = SCRIPT) -> Reading:
    return read(pack(script), CallStatus="in-progress", Digits=key)


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("fields", "word", "code"),
    [
        *(({"CallStatus": x}, "accepted", "") for x in ("queued", "initiated", "ringing", "in-progress")),
        ({"CallStatus": "completed"}, "delivered", ""),
        ({"CallStatus": "completed", "AnsweredBy": "human"}, "delivered", ""),
        ({"CallStatus": "completed", "AnsweredBy": "unknown"}, "delivered", ""),
        ({"CallStatus": "completed", "AnsweredBy": "machine_end_beep"}, "delivered", "answered_by_machine_end_beep"),
        ({"CallStatus": "completed", "AnsweredBy": "fax"}, "blocked", "answered_by_fax"),
        ({"CallStatus": "busy"}, "failed_temporarily", "busy"),
        ({"CallStatus": "no-answer"}, "failed_temporarily", "no_answer"),
        ({"CallStatus": "failed"}, "failed_temporarily", "failed"),
        ({"CallStatus": "failed", "SipResponseCode": "503"}, "failed_temporarily", "sip_503"),
        ({"CallStatus": "failed", "SipResponseCode": "404"}, "failed_temporarily", "sip_404"),
        ({"CallStatus": "failed", "SipResponseCode": "410"}, "bounced", "sip_410"),
        ({"CallStatus": "failed", "SipResponseCode": "604"}, "bounced", "sip_604"),
        ({"CallStatus": "busy", "SipResponseCode": "604"}, "failed_temporarily", "busy"),
        ({"CallStatus": "canceled"}, "dropped", ""),
    ],
)
def test_every_status_of_a_call(fields: dict[str, str], word: str, code: str) -> None:
    assert read(**fields) == Reading(1, [ProviderEvent(REF, word, NOW, SID, code)])


def test_no_status_alone_suppresses_a_number() -> None:
    assert not HARD & set(STATUSES.values())


def test_the_first_key_repeats_the_message() -> None:
    found = press("1")
    assert found.words == [ProviderEvent(REF, "pressed", NOW, SID, "1", "repeat")]
    assert found.reply is not None
    assert (found.reply.content_type, found.reply.body) == ("text/xml", document(SCRIPT.repeated() or SCRIPT))
    last = Script("Hello", HOME, REF, again=MAX_AGAIN)
    hung_up = press("1", last).reply
    assert hung_up is not None
    assert hung_up.body == HANG_UP


@pytest.mark.promise(11)
def test_nine_stops_calls_and_nothing_else() -> None:
    found = press("9")
    assert [(w.word, w.code) for w in found.words] == [("pressed", "9"), ("stopped", "9")]
    assert ProviderEventKind.STOPPED in WISHES
    assert state_of(ProviderEventKind.STOPPED) is None
    assert state_of(ProviderEventKind.PRESSED) is None


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("2", [("pressed", "2", "confirmed")]),
        ("#", [("pressed", "#", "<address>")]),
        ("3", []),
        ("", []),
        ("12", []),
    ],
)
def test_a_key_of_the_accounts_own_is_a_word(key: str, words: list[tuple[str, str, str]]) -> None:
    found = press(key)
    assert [(w.word, w.code, w.detail) for w in found.words] == words
    assert found.reply is not None
    assert "<Hangup/>" in found.reply.body


@pytest.mark.parametrize("script", ["", "!", "é", "AAAA"])
def test_a_key_without_its_script_ends_the_call(script: str) -> None:
    found = read(script, Digits="1", CallStatus="in-progress")
    assert found.words == []
    assert found.reply is not None
    assert "<Hangup/>" in found.reply.body


def test_a_call_of_another_program_is_none_of_ours() -> None:
    body = urlencode({"CallSid": SID, "CallStatus": "completed"}).encode()
    for query in ("", "?ref=", "?ref=x", "?a=b"):
        assert READER.words({POSTED_TO: HOME + query, POSTED_AT: str(NOW)}, body) == Reading(1, [])
    assert read(CallStatus="teleported") == Reading(1, [])


@pytest.mark.parametrize("fields", [{"CallSid": "", "CallStatus": "busy"}, {"CallStatus": ""}, {}])
def test_a_post_without_a_status_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(BadEvents, match="no_status"):
        read(**fields)


@given(
    st.dictionaries(st.sampled_from(["CallStatus", "Digits", "AnsweredBy", "SipResponseCode", "CallSid"]), st.text())
)
def test_no_post_breaks_the_reader(fields: dict[str, str]) -> None:
    query = urlencode({"ref": REF, "script": pack(SCRIPT)})
    headers = {POSTED_TO: f"{HOME}?{query}", POSTED_AT: str(NOW)}
    body = urlencode({"CallSid": SID, **fields}, errors="replace").encode()
    check_reading(READER, body, headers)
