"""What was handed on to webhooks: the store in memory, and the real one."""

from dataclasses import replace

import pytest

from shared.adapters.dynamo.hooks.announcements import DynamoAnnouncements
from shared.domain.hooks.announced import AnnouncedStates
from shared.domain.hooks.kinds import HookPace
from shared.ports import Announcements
from tests.fakes.hooks.told import FakeAnnouncements
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

JOB = "01khooks000000000000000000"
TTL = 1_900_000_000


@pytest.fixture
def told(stores: Stores) -> Announcements:
    if isinstance(stores, FakeStores):
        return FakeAnnouncements(stores.tap)
    assert isinstance(stores, MotoStores)
    return DynamoAnnouncements(stores.dynamo, records=stores.tables.records)


def cells(chunk: int, data: bytes, at: int = 5) -> AnnouncedStates:
    return AnnouncedStates(JOB, chunk, data, at, TTL)


def note(told: Announcements, x: AnnouncedStates, pace: HookPace = HookPace.NOW) -> None:
    """Hand on the first changes of a chunk."""
    begun = told.begin(replace(x, cells=b"", at=0), x.cells, x.at, pace)
    assert begun is not None
    told.finish(begun, pace)


def test_what_was_handed_on_is_kept_by_chunk_and_pace(told: Announcements) -> None:
    note(told, cells(0, b"\x16\x16"))
    note(told, cells(1, b"\x19"))
    note(told, cells(0, b"\x19\x16", at=7), HookPace.LATER)
    assert told.read([(JOB, 0), (JOB, 1), (JOB, 2)], HookPace.NOW) == {
        (JOB, 0): cells(0, b"\x16\x16"),
        (JOB, 1): cells(1, b"\x19"),
    }
    assert told.read([(JOB, 0), (JOB, 1)], HookPace.LATER) == {(JOB, 0): cells(0, b"\x19\x16", at=7)}


@pytest.mark.parametrize("pace", HookPace)
def test_all_who_begin_to_hand_on_a_chunk_hand_on_the_same(told: Announcements, pace: HookPace) -> None:
    never = cells(0, b"", at=0)
    begun = told.begin(never, b"\x16", 7, pace)
    assert begun == replace(never, begun=b"\x16", begun_at=7)
    assert told.begin(never, b"\x19", 8, pace) == begun
    assert told.read([(JOB, 0)], pace) == {(JOB, 0): begun}
    told.finish(begun, pace)
    noted = cells(0, b"\x16", at=7)
    assert told.read([(JOB, 0)], pace) == {(JOB, 0): noted}
    assert told.begin(noted, b"\x19", 9, pace) == replace(noted, begun=b"\x19", begun_at=9)
    other = HookPace.NOW if pace is HookPace.LATER else HookPace.LATER
    assert told.read([(JOB, 0)], other) == {}


@pytest.mark.parametrize("pace", HookPace)
def test_what_was_read_before_another_handed_on_more_is_not_begun(told: Announcements, pace: HookPace) -> None:
    never = cells(0, b"", at=0)
    first = told.begin(never, b"\x16", 7, pace)
    assert first is not None
    told.finish(first, pace)
    assert told.begin(never, b"\x16", 8, pace) is None
    second = told.begin(cells(0, b"\x16", at=7), b"\x19", 8, pace)
    assert second is not None
    told.finish(second, pace)
    assert told.begin(cells(0, b"\x16", at=7), b"\x16", 9, pace) is None
    assert told.read([(JOB, 0)], pace) == {(JOB, 0): cells(0, b"\x19", at=8)}


@pytest.mark.parametrize("pace", HookPace)
def test_a_note_that_comes_late_leaves_what_another_has_begun(told: Announcements, pace: HookPace) -> None:
    first = told.begin(cells(0, b"", at=0), b"\x16", 7, pace)
    assert first is not None
    told.finish(first, pace)
    second = told.begin(cells(0, b"\x16", at=7), b"\x19", 8, pace)
    told.finish(first, pace)
    assert told.read([(JOB, 0)], pace) == {(JOB, 0): second}


def test_more_chunks_than_one_call_takes(told: Announcements) -> None:
    some = [cells(n, bytes([22] * 500)) for n in range(130)]
    for x in some:
        note(told, x)
    assert set(told.read([(JOB, n) for n in range(130)], HookPace.NOW).values()) == set(some)


def test_ids_of_events_are_known_once_they_are_noted(told: Announcements) -> None:
    assert told.known(["evt_1", "evt_2"]) == set()
    told.note(["evt_1"], TTL)
    told.note([], TTL)
    assert told.known(["evt_1", "evt_2", "evt_1"]) == {"evt_1"}
    assert told.known([]) == set()


def test_an_event_says_what_its_first_claim_has_stored_until_it_is_noted(told: Announcements) -> None:
    assert told.claim("evt_1", '{"n":1}', TTL) == '{"n":1}'
    assert told.claim("evt_1", '{"n":2}', TTL) == '{"n":1}'
    assert told.known(["evt_1"]) == set()
    told.note(["evt_1"], TTL)
    assert told.known(["evt_1"]) == {"evt_1"}
    assert told.claim("evt_1", '{"n":3}', TTL) == ""
