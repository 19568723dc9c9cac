import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.ports import POSTED_AT, BadEvents, BadSignature
from shared.providers._common import REF_ARG, TO_ARG, digest
from shared.providers.postmark.events import BOUNCES, PostmarkWebhooks
from tests.providers.contract import check_reading, target
from tests.providers.fakes import NOW

REF = target(0).ref
READER = PostmarkWebhooks()
SECRET = {"webhook_auth": "hook:pass:word, hook:old"}


def basic(text: str) -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


def event(kind: str, **more: Any) -> bytes:
    said = {"RecordType": kind, "MessageID": "m1", "Metadata": {REF_ARG: REF}}
    return json.dumps(said | more).encode()


def read(body: bytes) -> list[tuple[str, int, str]]:
    return [(w.word, w.at, w.code) for w in READER.words({POSTED_AT: "1790000000"}, body).words]


@pytest.mark.parametrize("pair", ["hook:pass:word", "hook:old"])
def test_any_pair_of_the_secret_is_believed(pair: str) -> None:
    READER.verify(basic(pair), b"x", SECRET, NOW)
    READER.verify({"authorization": basic(pair)["authorization"].replace("Basic", "basic")}, b"x", SECRET, NOW)


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    ("headers", "secret", "reason"),
    [
        (basic("hook:wrong"), SECRET, "wrong_password"),
        (basic("hook:pass"), SECRET, "wrong_password"),
        (basic("hook:old "), SECRET, "wrong_password"),
        (basic(""), SECRET, "wrong_password"),
        (basic(":"), {"webhook_auth": ":"}, "no_key"),
        (basic("hook:"), {"webhook_auth": "hook:"}, "no_key"),
        (basic("hook"), {"webhook_auth": "hook"}, "no_key"),
        (basic("hook:old"), {}, "no_key"),
        ({}, SECRET, "unsigned"),
        ({"authorization": "Bearer aG9vazpvbGQ="}, SECRET, "unsigned"),
        ({"authorization": "Basic é"}, SECRET, "unsigned"),
        ({"authorization": "Basic aG9v*"}, SECRET, "unsigned"),
    ],
)
def test_any_other_post_is_refused(headers: dict[str, str], secret: dict[str, str], reason: str) -> None:
    with pytest.raises(BadSignature, match=reason):
        READER.verify(headers, b"x", secret, NOW)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (event("Delivery", DeliveredAt="2026-09-21T15:33:20.1234567Z"), [("delivered", 1790004800, "")]),
        (event("Delivery", DeliveredAt="2026-09-21T11:33:20-04:00"), [("delivered", 1790004800, "")]),
        (event("Delivery"), [("delivered", 1790000000, "")]),
        (event("SpamComplaint", Type="SpamComplaint"), [("complained", 1790000000, "SpamComplaint")]),
        (event("Open"), []),
        (event("Click"), []),
        (event("Inbound"), []),
        (event("Bounce", Type="AutoResponder"), []),
        (event("Bounce", Type=["HardBounce"]), []),
        (event("Bounce"), []),
        (event("Delivery", Metadata={}), []),
        (event("Delivery", Metadata=None), []),
        (event("Delivery", Metadata={REF_ARG: "x"}), []),
        (event("Delivery", Metadata={REF_ARG: 1}), []),
    ],
)
def test_events(body: bytes, words: list[tuple[str, int, str]]) -> None:
    assert read(body) == words


@pytest.mark.parametrize("kind", sorted(BOUNCES))
def test_bounces_by_type(kind: str) -> None:
    assert read(event("Bounce", Type=kind)) == [(BOUNCES[kind].value, 1790000000, kind)]


def test_only_the_mailbox_and_its_owner_make_a_bounce_hard() -> None:
    hard = {kind for kind, word in BOUNCES.items() if word.value in ("bounced", "complained")}
    assert hard == {"HardBounce", "BadEmailAddress", "SpamComplaint"}
    assert BOUNCES["Transient"].value == "deferred", "it may still be delivered"


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"SuppressSending": True, "SuppressionReason": "ManualSuppression", "Origin": "Recipient"}, "unsubscribed"),
        ({"SuppressSending": False, "SuppressionReason": None, "Origin": "Recipient"}, "resubscribed"),
        ({"SuppressSending": True, "SuppressionReason": "HardBounce", "Origin": "Recipient"}, ""),
        ({"SuppressSending": True, "SuppressionReason": "SpamComplaint", "Origin": "Recipient"}, ""),
        ({"SuppressSending": True, "SuppressionReason": "ManualSuppression", "Origin": "Customer"}, ""),
        ({"SuppressSending": False, "Origin": "Admin"}, ""),
        ({}, ""),
    ],
)
def test_only_what_the_recipient_asks_for_is_a_wish(more: dict[str, Any], word: str) -> None:
    assert [found for found, _, _ in read(event("SubscriptionChange", **more))] == ([word] if word else [])


def test_an_event_about_a_copy_is_secondary_and_shows_no_address() -> None:
    metadata = {REF_ARG: REF, TO_ARG: digest(REF, "ada@x.example")}
    bodies = [
        event("Bounce", Type="HardBounce", Email=who, Metadata=metadata, Details="550 no <bob@x.example>")
        for who in ("Ada@x.example", "bob@x.example")
    ]
    words = [READER.words({}, body).words[0] for body in bodies]
    assert [w.secondary for w in words] == [False, True]
    assert not any("bob" in w.detail for w in words)


@pytest.mark.parametrize("body", [b"", b"x", b"[]", b"{}", b'{"RecordType":1}', b"[" * 100_000])
def test_what_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(BadEvents):
        READER.words({}, body)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@given(
    st.dictionaries(
        st.sampled_from(["RecordType", "Type", "Email", "Details", "DeliveredAt", "MessageID", "Origin"]), JSON
    )
)
def test_no_body_breaks_it(said: dict[str, Any]) -> None:
    check_reading(
        READER, json.dumps({"RecordType": "Bounce", "Type": "Blocked", "Metadata": {REF_ARG: REF}, **said}).encode()
    )
