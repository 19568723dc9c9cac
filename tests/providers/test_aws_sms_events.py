"""Events of AWS End User Messaging: every type, in a post of SNS and in the feedback queue."""

import json
from typing import Any

import pytest
from botocore.session import get_session
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import ProviderEvent
from shared.domain.jobs.feedback import HARD, ProviderEventKind
from shared.ports import BadEvents
from shared.providers import registry
from shared.providers.aws_sms.events import EVENTS, AwsSmsWebhooks, from_topic
from tests.providers.contract import JOB, check_reading

MODEL: Any = get_session().get_service_model("pinpoint-sms-voice-v2")
REF = f"{JOB}-3-17-2"
ID = "862a8790-60c0-4430-9b2b-658bde0000000"
CONTEXT = {"posthaste_ref": REF, "posthaste_credential": "aws-main"}


def event(kind: str, **changes: Any) -> dict[str, Any]:
    """Return an event in the form that AWS documents."""
    return {
        "eventType": kind,
        "eventVersion": "1.0",
        "eventTimestamp": 1686975103470,
        "isFinal": False,
        "originationPhoneNumber": "+12065550152",
        "destinationPhoneNumber": "+14255550156",
        "messageId": ID,
        "messageRequestTimestamp": 1686975103170,
        "messageStatus": kind.partition("_")[2],
        "messageStatusDescription": "as ann@example.com saw it",
        "context": CONTEXT,
        **changes,
    }


def posted(found: Any, kind: str = "Notification") -> str:
    return json.dumps({"Type": kind, "Timestamp": "2026-09-21T14:13:20.000Z", "Message": json.dumps(found)})


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("kind", "word"),
    [
        *((x, "accepted") for x in ("TEXT_PENDING", "TEXT_QUEUED", "TEXT_SENT", "TEXT_SUCCESSFUL", "TEXT_UNKNOWN")),
        *((x, "accepted") for x in ("VOICE_INITIATED", "VOICE_RINGING", "VOICE_ANSWERED")),
        ("TEXT_DELIVERED", "delivered"),
        ("VOICE_COMPLETED", "delivered"),
        ("TEXT_INVALID", "bounced"),
        ("TEXT_INVALID_MESSAGE", "blocked"),
        ("TEXT_UNREACHABLE", "failed_temporarily"),
        ("TEXT_CARRIER_UNREACHABLE", "failed_temporarily"),
        ("TEXT_BLOCKED", "blocked"),
        ("TEXT_CARRIER_BLOCKED", "blocked"),
        ("TEXT_SPAM", "blocked"),
        ("TEXT_TTL_EXPIRED", "failed_temporarily"),
        ("TEXT_PROTECT_BLOCKED", "dropped"),
        ("VOICE_BUSY", "failed_temporarily"),
        ("VOICE_NO_ANSWER", "failed_temporarily"),
        ("VOICE_FAILED", "failed_temporarily"),
        ("VOICE_TTL_EXPIRED", "failed_temporarily"),
    ],
)
def test_every_event_has_one_word(kind: str, word: str) -> None:
    code = "" if word in ("accepted", "delivered") else kind.lower()
    expected = [ProviderEvent(REF, word, 1686975103, ID, code, "as <address> saw it")]
    assert from_topic(posted(event(kind))) == ("aws-main", expected)
    assert AwsSmsWebhooks().words({}, posted(event(kind)).encode()).words == expected
    assert registry.from_topic(posted(event(kind))) == ("aws-main", expected)


def test_every_event_of_texts_and_calls_that_the_model_names_is_known() -> None:
    named = {x for x in MODEL.shape_for("EventType").enum if x.startswith(("TEXT_", "VOICE_"))}
    assert set(EVENTS) == named - {"TEXT_ALL", "VOICE_ALL"}


def test_only_a_number_that_does_not_exist_suppresses() -> None:
    assert {name for name, kind in EVENTS.items() if kind in HARD} == {"TEXT_INVALID"}


def test_a_final_success_is_a_delivery() -> None:
    assert from_topic(posted(event("TEXT_SUCCESSFUL", isFinal=True)))[1][0].word == ProviderEventKind.DELIVERED.value
    assert from_topic(posted(event("TEXT_SUCCESSFUL", isFinal="yes")))[1][0].word == ProviderEventKind.ACCEPTED.value


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"context": {}}, ("", [])),
        ({"context": {"posthaste_credential": "aws-main"}}, ("aws-main", [])),
        ({"context": {**CONTEXT, "posthaste_ref": "x"}}, ("aws-main", [])),
        ({"context": None}, ("", [])),
        ({"eventType": "MEDIA_DELIVERED"}, ("aws-main", [])),
        ({"eventType": "RCS_READ"}, ("aws-main", [])),
    ],
)
def test_events_that_are_not_ours_have_no_words(
    changes: dict[str, Any], expected: tuple[str, list[ProviderEvent]]
) -> None:
    assert from_topic(posted(event("TEXT_DELIVERED", **changes))) == expected


@pytest.mark.parametrize("at", [None, "x", -1, 0, True, 10**20, 1.5])
def test_an_event_without_a_time_has_its_notification_s(at: Any) -> None:
    ((word,),) = (from_topic(posted(event("TEXT_DELIVERED", eventTimestamp=at)))[1],)
    assert word.at == 1790000000


def inbound(**changes: Any) -> dict[str, Any]:
    """Return a text that somebody wrote, in the form that AWS documents."""
    return {
        "originationNumber": "+14255550182",
        "destinationNumber": "+12125550101",
        "messageKeyword": "JOIN",
        "messageBody": "Hello",
        "inboundMessageId": "cae173d2-66b9-564c-8309-21f858e9fb84",
        "previousPublishedMessageId": "wJalrXUtnFEMI",
        **changes,
    }


@pytest.mark.promise(11)
@pytest.mark.parametrize(
    ("changes", "word"),
    [
        *(({"messageBody": x}, "stopped") for x in ("STOP", " stop\n", "Arret", "opt-out", "td", "Unsubscribe")),
        *(({"messageBody": x}, "started") for x in ("START", "unstop ")),
        ({"messageBody": "stop it", "messageKeyword": "STOP"}, "stopped"),
        *(({"messageBody": x}, "stopped") for x in ("stop it", "STOP!", "désabonner")),
        *(({"messageBody": x}, "written") for x in ("Hello", "HELP", "stop by at 5", "")),
        ({"messageBody": None}, "written"),
    ],
)
def test_a_text_is_a_word_of_the_number_that_wrote_it(changes: dict[str, Any], word: str) -> None:
    text = inbound(**changes)
    body = (text["messageBody"] or "").rstrip("\n")
    expected = [ProviderEvent("+14255550182", word, 1790000000, text["inboundMessageId"], "+12125550101", body)]
    assert registry.from_topic(posted(text)) == from_topic(posted(text)) == ("", expected)
    assert AwsSmsWebhooks().words({}, posted(text).encode()).words == expected


@pytest.mark.parametrize("sender", ["12345", "+1", "ann@example.com", "+1425555018x"])
def test_what_no_number_wrote_has_no_word(sender: str) -> None:
    assert from_topic(posted(inbound(originationNumber=sender))) == ("", [])


@pytest.mark.parametrize(
    "body", ["", "[]", posted("x"), posted({}), posted({"eventType": "Send"}), posted(event("TEXT_SENT"), "Other")]
)
def test_what_is_no_event_of_this_service_is_refused(body: str) -> None:
    with pytest.raises(BadEvents):
        from_topic(body)


@given(
    st.recursive(st.none() | st.text() | st.integers(), lambda x: st.dictionaries(st.sampled_from(list(event("x"))), x))
)
def test_no_event_breaks_the_reader(found: Any) -> None:
    check_reading(AwsSmsWebhooks(), posted(found).encode())
    if isinstance(found, dict):
        check_reading(AwsSmsWebhooks(), posted({**event("TEXT_DELIVERED"), **found}).encode())
