"""An erased person is in no stored event of a digest, and in none of its lines."""

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo.digests.windows import DynamoWindows
from shared.adapters.dynamo.erasure.erasing import Eraser
from shared.domain.content.content import Content, DigestLines, Mailbox
from shared.domain.digests.events import DigestEvent, content_of, pack, unpack
from shared.domain.digests.window import EventPart
from shared.domain.erasure import uncopied, uninformed
from tests.contracts.conftest import ACCOUNT
from tests.domain.digests.examples import NOW, event
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.tables import MotoStores

ANN, BOB = "ann@example.com", "bob@example.com"
EVENTS = [
    event(0, recipients=(ANN, BOB), data={"task": "t0", "owner": "Ann <ANN@example.com>"}),
    event(1, recipients=(" Ann@Example.com ",), data={"secret": "hers alone"}),
    event(2, recipients=(BOB,), data={"by": f"closed by {ANN}."}),
    event(3, recipients=(BOB, "joann@example.com"), data={"by": "joann@example.com, ann@example.com.au"}),
    event(4, recipients=(f"Ann Lee <{ANN}>", BOB)),
]
LEFT = (
    replace(EVENTS[0], recipients=(BOB,), data={"task": "t0", "owner": "Ann <erased>"}),
    DigestEvent("task_failed", (), NOW + 1, id="e1"),
    replace(EVENTS[2], data={"by": "closed by erased."}),
    EVENTS[3],
    replace(EVENTS[4], recipients=(BOB,)),
)


def test_events_are_without_the_person() -> None:
    assert uninformed(EVENTS, {ANN}) == (LEFT, 4)
    assert uninformed(LEFT, {ANN}) == (LEFT, 0)
    assert uninformed(EVENTS, {"eve@example.com"}) == (tuple(EVENTS), 0)


def test_an_event_without_its_person_is_known_by_its_id() -> None:
    """So a client that repeats it as it was is not refused, and sends nothing again."""
    (left, kept), _ = uninformed([replace(x, dated=True) for x in (EVENTS[0], EVENTS[3])], {ANN})
    assert content_of(left) == b""
    assert content_of(kept) != b""


def test_numbers_are_found_however_they_are_written() -> None:
    some = [event(0, recipients=("+61 (412) 345-678", BOB)), event(1, recipients=("+614123456789",))]
    left, found = uninformed(some, {"+61412345678"})
    assert ([x.recipients for x in left], found) == ([(BOB,), ("+614123456789",)], 1)


def test_lines_of_a_digest_are_without_the_person() -> None:
    lines = DigestLines((f"<li>{ANN}</li>", "<li>x</li>"), (f"by {ANN}", "x"), ("a", "a"), ("1", "2"), "acme/x", 100)
    content = Content(Mailbox("news@example.com"), "Hello", digest=lines)
    digest = uncopied(content, {ANN}).digest
    assert digest is not None
    assert (digest.html, digest.text) == (("<li>erased</li>", "<li>x</li>"), ("by erased", "x"))
    assert uncopied(content, {"eve@example.com"}) == content


@pytest.fixture
def stores(moto_dynamo: Any, clock: FakeClock) -> MotoStores:
    made = MotoStores(moto_dynamo, clock)
    part = EventPart("p" * 16, pack(EVENTS), len(EVENTS), 0, NOW, ACCOUNT)
    DynamoWindows(made.dynamo, records=made.tables.records).put_parts([part])
    return made


def erased(stores: MotoStores, key: str = ANN, *, dry: bool = False) -> Eraser:
    made = Eraser(stores.dynamo, stores.tables.records, lambda: None, "", key=key, dry=dry)
    made.scan("", lambda _after, _items: None)
    return made


def stored(stores: MotoStores) -> tuple[DigestEvent, ...]:
    found = DynamoWindows(stores.dynamo, records=stores.tables.records).parts(["p" * 16])
    return unpack(found["p" * 16])


def test_a_stored_part_is_blanked_once(stores: MotoStores) -> None:
    assert erased(stores, "eve@example.com").report.erased == {}
    assert erased(stores, dry=True).report.erased == {"events blanked": 4}
    assert stored(stores) == tuple(EVENTS)
    report = erased(stores).report
    assert (report.erased, report.accounts) == ({"events blanked": 4}, {ACCOUNT})
    assert stored(stores) == LEFT
    assert erased(stores).report.erased == {}


def test_a_part_whose_write_is_lost_is_reported(stores: MotoStores) -> None:
    stores.tap.arm_at("dynamo.update_item", When.REPEATED)
    assert erased(stores).report.kept == ["A part of a digest changed meanwhile: erase again."]
    assert stored(stores) == LEFT
