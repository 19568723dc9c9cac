"""Resend's events, as its OpenAPI document has them: what the simulator posts, and what our reader makes of them.

The other vendors publish no schema of their events; their published examples are in the tests of each reader.
"""

import json
from itertools import product
from typing import Any, Final

import pytest

from shared.domain.jobs.feedback import ProviderEventKind
from shared.providers._common import REF_ARG
from shared.providers.resend.events import EVENTS, ResendWebhooks
from simulator.model import Content
from simulator.vendors.resend import DETAILS, Mail, Resend
from tests.providers.contract import target
from tests.providers.test_vendor_documents import FOLDER, faults

DOCUMENT: Final = json.loads((FOLDER / "events" / "resend.json").read_text("utf-8"))["events"]
IGNORED: Final = frozenset({"email.opened", "email.clicked", "email.scheduled"})
"""Events that say nothing of a message's fate."""
REF: Final = target(0).ref


def bounce_enums() -> list[tuple[str, str]]:
    """Return every type and subtype of a bounce that the document allows."""
    (_, own) = DOCUMENT["email.bounced"]["properties"]["data"]["allOf"]
    fields = own["properties"]["bounce"]["properties"]
    return list(product(fields["type"]["enum"], fields["subType"]["enum"]))


def read(name: str, **more: Any) -> ProviderEventKind | None:
    at = "2026-02-22T23:41:12.126Z"
    data = {"email_id": "id", "created_at": at, "from": "a@x.example", "to": ["b@x.example"], "subject": "x"}
    post = {"type": name, "created_at": at, "data": {**data, "tags": {REF_ARG: REF}, **more}}
    assert faults(DOCUMENT[name], post) == []
    words = ResendWebhooks().words({}, json.dumps(post).encode()).words
    assert len(words) <= 1
    return ProviderEventKind(words[0].word) if words else None


def test_every_documented_event_is_heeded_or_named_as_one_that_is_not() -> None:
    assert set(DOCUMENT) == set(EVENTS) | {"email.bounced"} | IGNORED


@pytest.mark.parametrize("word", sorted(DETAILS))
def test_the_simulator_posts_what_the_vendor_documents(word: str) -> None:
    vendor = Resend()
    content = Content("a@x.example", "", "Hi", (), 2)
    mail = Mail("b@x.example", "to", REF, "x", "id", 0, content, {REF_ARG: REF}, {}, created=1_790_000_000.0)
    _, body = vendor.post([vendor.event(mail, word, 1_790_000_001.0, "e1")], "", 1_790_000_001.0)
    post = json.loads(body)
    assert faults(DOCUMENT[post["type"]], post) == []


@pytest.mark.parametrize(("kind", "sub"), bounce_enums())
def test_every_documented_bounce_has_a_meaning_and_only_a_permanent_one_is_hard(kind: str, sub: str) -> None:
    found = read("email.bounced", bounce={"diagnosticCode": [], "message": "no", "subType": sub, "type": kind})
    assert found in (ProviderEventKind.BOUNCED, ProviderEventKind.BLOCKED, ProviderEventKind.FAILED_TEMPORARILY)
    assert (found is ProviderEventKind.BOUNCED) == (
        kind == "Permanent" and sub in ("General", "NoEmail", "Undetermined", "MailboxFull")
    )


@pytest.mark.parametrize("name", ["email.sent", "email.delivered", "email.delivery_delayed", "email.complained"])
def test_a_documented_event_is_the_word_of_its_table(name: str) -> None:
    assert read(name) is EVENTS[name]
