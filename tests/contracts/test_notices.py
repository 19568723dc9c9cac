"""Notices and inboxes, in memory and on DynamoDB."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

import pytest

from shared.adapters.dynamo.notices import keys
from shared.adapters.dynamo.notices.inboxes import MAX_INLINE, DynamoInboxes
from shared.adapters.dynamo.notices.keys import marks
from shared.adapters.dynamo.notices.notice_codec import notice_item
from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.adapters.dynamo.notices.updates import STAMPS, DynamoUpdates
from shared.adapters.dynamo.notices.waiting import DynamoWaiting
from shared.domain.jobs.labels import Labels
from shared.domain.notices.actions import rejected
from shared.domain.notices.codes import Rejection
from shared.domain.notices.inbox import MAX_ITEMS, InboxState, pack, unpack
from shared.domain.notices.notice import (
    DeliveryMethod,
    Kept,
    Notice,
    NoticeChange,
    NoticeRun,
    NoticeStatus,
    Phase,
    Verb,
)
from shared.domain.notices.records import RejectedRecord
from shared.domain.notices.updates import Span, UpdateEntry
from shared.ports import Inboxes, InboxStep, Notices, Retriable
from tests.domain.notices.examples import DATA, NOW, OTHER, OWNER, notice
from tests.fakes.faults import Crash, When
from tests.fakes.notices.notices import FakeInboxes, FakeNotices
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

RUN = NoticeRun("0123456789abcdefghjkmnpqrs", 95, 2, DeliveryMethod.IVR)
FULL = notice(
    data=replace(DATA, first_name="Zoë", start=9, end=24),
    phase=Phase.ACTIVE,
    status=NoticeStatus.TEMP_FAIL,
    next_at=NOW + 60_000,
    gen=2,
    run=RUN,
    runs=(replace(RUN, gen=1), RUN),
    kept=Kept(Verb.UPDATE, "MESSAGE_UPDATE", OTHER),
    tries=3,
    stamp=NOW + 7,
    error="TEMP_DELIVERY_FAIL",
    message="It failed.",
    ttl=9,
    labels=Labels("visit-4711", ("reminders", "Zoë")),
    version=12,
)


def uuid(i: int) -> str:
    return f"{i:08x}-2222-5333-8444-555555555555"


def entry(i: int = 0, stamp: int = NOW) -> UpdateEntry:
    return UpdateEntry("clinic", uuid(i), f"n{i}", stamp, "TEMP_FAIL", "NEW", "CODE", "Why.", 2, ended=True)


class Shelf:
    """The stores over one of the worlds, with a log that is read and closed past them."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.notices: Notices
        self.inboxes: Inboxes
        if isinstance(stores, FakeStores):
            self._fake = FakeNotices(stores.tap)
            self.notices, self.inboxes = self._fake, FakeInboxes(self._fake, stores.tap)
        else:
            assert isinstance(stores, MotoStores)
            self._moto = stores
            self.notices = DynamoNotices(stores.dynamo, records=stores.tables.records)
            self.inboxes = DynamoInboxes(stores.dynamo, records=stores.tables.records, files=stores.blobs)

    def close(self, at: int) -> None:
        """Close the log up to a moment, as its readers do."""
        if isinstance(self.stores, FakeStores):
            self._fake.closed["clinic"] = at
        else:
            item = {**marks("clinic"), "closed": {"N": str(at)}}
            self._moto.client.put_item(TableName=self._moto.tables.records, Item=item)

    def log(self) -> list[UpdateEntry]:
        """Return the log, by stamp."""
        if isinstance(self.stores, FakeStores):
            found = list(self._fake.log)
        else:
            log = DynamoUpdates(self._moto.dynamo, records=self._moto.tables.records)
            found = [*log.read("clinic", Span(NOW - 86_400_000, NOW + 86_400_000))]
        return sorted(found, key=lambda x: (x.stamp, x.notice))

    def put(self, *notices: Notice) -> None:
        for x in notices:
            assert self.notices.write(None, NoticeChange(x))

    def delete(self, name: str) -> None:
        """Remove a notice, as happens when its retention is over."""
        if isinstance(self.stores, FakeStores):
            del self._fake.items[name]
        else:
            self._moto.client.delete_item(TableName=self._moto.tables.records, Key=keys.notice(name))

    def one(self, name: str) -> Notice:
        return self.notices.read([name])[name]


@pytest.fixture
def shelf(stores: Stores) -> Shelf:
    return Shelf(stores)


def moved(old: Notice, *entries: UpdateEntry, **changes: object) -> NoticeChange:
    return NoticeChange(replace(old, version=old.version + 1, **changes), entries)  # type: ignore[arg-type]


@pytest.mark.parametrize("stored", [notice(), FULL, replace(FULL, kept=Kept(Verb.CANCEL, "CANCEL"))])
def test_a_notice_is_kept_as_it_is(shelf: Shelf, stored: Notice) -> None:
    shelf.put(stored)
    assert shelf.notices.read([stored.uuid, uuid(9)]) == {stored.uuid: stored}


def test_a_notice_is_written_only_as_read(shelf: Shelf) -> None:
    old = notice()
    assert shelf.notices.write(None, NoticeChange(old))
    assert shelf.notices.write(None, NoticeChange(old)), "our own write, whose answer was lost"
    assert not shelf.notices.write(None, NoticeChange(replace(old, id="other")))
    change = moved(old, entry(), data=OTHER)
    assert shelf.notices.write(old, change)
    assert shelf.notices.write(old, change), "our own write, whose answer was lost"
    assert not shelf.notices.write(old, moved(old, entry(1), id="other"))
    assert not shelf.notices.write(old, moved(old, id="other"))
    assert shelf.one(old.uuid) == change.notice
    assert shelf.log() == [entry()]


def test_several_notices_are_written_together_or_not_at_all(shelf: Shelf) -> None:
    some = [notice(uuid=uuid(i)) for i in range(3)]
    shelf.put(*some)
    shelf.close(NOW + 5000)
    first, second = ((x, moved(x, entry(i), stamp=NOW)) for i, x in enumerate(some[:2]))
    assert shelf.notices.write_all([first, second])
    assert [(x.id, x.stamp) for x in shelf.log()] == [("n0", NOW + 5001), ("n1", NOW + 5001)]
    assert shelf.one(uuid(1)).stamp == NOW + 5001
    assert not shelf.notices.write_all([(some[2], moved(some[2], entry(2))), second])
    assert shelf.one(uuid(2)) == some[2]
    assert len(shelf.log()) == 2


def test_an_ended_notice_that_has_been_deleted_can_be_written(shelf: Shelf) -> None:
    waits, ended = notice(uuid=uuid(1)), notice(uuid=uuid(2), ttl=NOW // 1000, phase=Phase.ENDED)
    assert not shelf.notices.write(waits, moved(waits))
    assert shelf.notices.write(ended, moved(ended, ttl=0))


def test_entries_are_stamped_anew_behind_what_is_closed(shelf: Shelf) -> None:
    old = notice()
    shelf.put(old)
    shelf.close(NOW + 5000)
    assert shelf.notices.write(old, moved(old, entry(), entry(stamp=NOW + 1), stamp=NOW + 1))
    assert [x.stamp for x in shelf.log()] == [NOW + 5001, NOW + 5002]
    assert shelf.one(old.uuid).stamp == NOW + 5002
    assert not shelf.notices.write(old, moved(old, entry(stamp=1)))


def test_an_ended_notice_is_kept_for_less_time_if_it_is_as_read(shelf: Shelf) -> None:
    old = notice(phase=Phase.ENDED, ttl=900, stamp=NOW)
    shelf.put(old)
    shelf.notices.shorten(replace(old, version=old.version + 1), 500)
    shelf.notices.shorten(old, 901)
    assert shelf.one(old.uuid) == old
    shelf.notices.shorten(old, 800)
    assert shelf.one(old.uuid) == replace(old, ttl=800)
    shelf.notices.shorten(old, 850)
    shelf.notices.shorten(replace(old, uuid=uuid(9)), 1)
    assert shelf.notices.read([old.uuid, uuid(9)]) == {old.uuid: replace(old, ttl=800)}
    again = moved(old, phase=Phase.WAITING, ttl=0)
    assert shelf.notices.write(old, again), "an update that was read before brings it back"
    shelf.notices.shorten(old, 1)
    assert shelf.one(old.uuid) == again.notice


def test_no_entry_replaces_another(shelf: Shelf) -> None:
    for _ in range(3):
        assert shelf.notices.write(None, NoticeChange(None, (entry(),)))
    assert [x.stamp for x in shelf.log()] == [NOW, NOW + 1, NOW + 2]


def test_notices_with_something_to_do_come_oldest_first(shelf: Shelf) -> None:
    shard = keys.shard_of("clinic")
    waits = [notice(uuid=uuid(i), next_at=NOW + i) for i in range(4)]
    shelf.put(*reversed(waits))
    shelf.put(notice(uuid=uuid(5), phase=Phase.ENDED), notice(uuid=uuid(6), phase=Phase.ACTIVE))
    shelf.put(notice(uuid=uuid(7), phase=Phase.ACTIVE, kept=Kept(Verb.CANCEL, "CANCEL"), next_at=NOW + 2))
    assert list(shelf.notices.due(shard, NOW + 2)) == [uuid(0), uuid(1), uuid(2), uuid(7)]
    assert list(shelf.notices.due((shard + 1) % 16, NOW + 9)) == []
    assert shelf.notices.write(waits[0], moved(waits[0], phase=Phase.ACTIVE))
    assert list(shelf.notices.due(shard, NOW)) == []


def test_notices_to_a_number_come_newest_first(shelf: Shelf) -> None:
    shelf.put(*(notice(uuid=uuid(i), created_at=NOW + i) for i in range(3)))
    shelf.put(notice(uuid=uuid(8), data=replace(DATA, phone="+61499999999")), notice(uuid=uuid(9), account="other"))
    assert list(shelf.notices.of_number(OWNER.account, DATA.phone)) == [uuid(2), uuid(1), uuid(0)]
    first = shelf.one(uuid(0))
    assert shelf.notices.write(first, moved(first, data=replace(DATA, phone="+61499999999")))
    assert list(shelf.notices.of_number(OWNER.account, "+61499999999")) == [uuid(0), uuid(8)]


# Inboxes


BODY = pack([{"id": "a"}, {"id": "b"}])


def test_payloads_are_numbered_as_they_come(shelf: Shelf) -> None:
    assert shelf.inboxes.state("clinic") == InboxState("clinic")
    assert shelf.inboxes.state("clinic").empty
    bodies = [pack([{"id": str(i)}]) for i in range(3)]
    assert [shelf.inboxes.add("clinic", x, NOW + i) for i, x in enumerate(bodies)] == [1, 2, 3]
    assert shelf.inboxes.add("other", BODY, NOW) == 1
    assert shelf.inboxes.state("clinic") == InboxState("clinic", 3, 1, 0)
    assert [shelf.inboxes.payload("clinic", i) for i in (1, 2, 3)] == bodies
    assert unpack(bodies[0]) == [{"id": "0"}]
    with pytest.raises(LookupError):
        shelf.inboxes.payload("clinic", 4)


@pytest.mark.parametrize("when", When)
def test_a_payload_is_stored_once_whatever_answer_is_lost(shelf: Shelf, when: When) -> None:
    name = "inboxes.add" if isinstance(shelf.stores, FakeStores) else "dynamo.transact_write_items"
    shelf.stores.tap.arm_at(name, when)
    try:
        assert shelf.inboxes.add("clinic", BODY, NOW) == 1
    except Crash:
        assert shelf.inboxes.state("clinic").last == (when is When.AFTER)
    else:
        assert shelf.inboxes.state("clinic").last == 1


def test_a_large_payload_is_kept_in_the_bucket(shelf: Shelf) -> None:
    bodies = [bytes([i]) * (MAX_INLINE + 1) for i in range(2)]
    for x in bodies:
        shelf.inboxes.add("clinic", x, NOW)
    short = [(x[0], len(x)) for x in bodies]  # what a failure shows of 200 KB
    assert [(x[0], len(x)) for x in (shelf.inboxes.payload("clinic", i) for i in (1, 2))] == short
    if isinstance(shelf.stores, MotoStores):
        assert sorted((x[0], len(x)) for x in shelf.stores.blobs.items.values()) == short
        assert all(x.startswith("inbox/clinic/") for x in shelf.stores.blobs.items)


def made(*numbers: int) -> list[tuple[Notice | None, NoticeChange]]:
    return [(None, NoticeChange(notice(uuid=uuid(i)))) for i in numbers]


def test_a_step_writes_notices_entries_and_the_checkpoint_or_nothing(shelf: Shelf) -> None:
    shelf.inboxes.add("clinic", BODY, NOW)
    start = shelf.inboxes.state("clinic")
    half = start.advanced(1, 2)
    no = rejected(None, RejectedRecord(Rejection.INVALID_ACTION, "x"), OWNER, NOW)
    shelf.close(NOW + 1)
    assert shelf.inboxes.advance(start, half, [*made(1), (None, no)]) is InboxStep.TAKEN
    assert shelf.inboxes.state("clinic") == half == InboxState("clinic", 1, 1, 1)
    assert [x.stamp for x in shelf.log()] == [NOW + 2]
    assert shelf.inboxes.advance(start, half, made(1)) is InboxStep.TAKEN, "our own write, whose answer was lost"
    assert shelf.inboxes.advance(start, start.advanced(2, 2), made(3)) is InboxStep.LATE
    end = half.advanced(1, 2)
    assert end.empty
    assert shelf.inboxes.advance(half, end, made(1)) is InboxStep.CHANGED, "the notice is there already"
    assert shelf.inboxes.state("clinic") == half
    assert shelf.notices.read([uuid(3)]) == {}
    assert shelf.inboxes.advance(half, end, made(2)) is InboxStep.TAKEN
    assert shelf.inboxes.state("clinic").empty
    assert shelf.inboxes.advance(half, end.advanced(1, 1), made(4)) is InboxStep.LATE


def test_a_step_is_made_again_where_a_notice_or_the_newest_payload_has_changed(shelf: Shelf) -> None:
    old = notice(uuid=uuid(1))
    shelf.put(old)
    shelf.inboxes.add("clinic", BODY, NOW)
    start = shelf.inboxes.state("clinic")
    assert shelf.notices.write(old, moved(old))
    assert shelf.inboxes.advance(start, start.advanced(2, 2), [(old, moved(old))]) is InboxStep.CHANGED
    shelf.inboxes.add("clinic", BODY, NOW)
    assert shelf.inboxes.advance(start, start.advanced(2, 2), made(2)) is InboxStep.CHANGED
    again = shelf.inboxes.state("clinic")
    assert shelf.inboxes.advance(again, again.advanced(2, 2), made(2)) is InboxStep.TAKEN
    assert list(shelf.inboxes.waiting(NOW, 0)) == ["clinic"], "a payload has come meanwhile"


def test_a_step_holds_as_many_items_as_a_transaction(shelf: Shelf) -> None:
    shelf.inboxes.add("clinic", BODY, NOW)
    start = shelf.inboxes.state("clinic")
    assert shelf.inboxes.advance(start, start.advanced(1, 2), made(*range(MAX_ITEMS - 1))) is InboxStep.TAKEN


def test_inboxes_that_hold_payloads_are_found(shelf: Shelf) -> None:
    for i, name in enumerate(("a", "b", "c")):
        shelf.inboxes.add(name, BODY, NOW + i)
    assert sorted(shelf.inboxes.waiting(NOW + 1000, 0)) == ["a", "b", "c"]
    assert sorted(shelf.inboxes.waiting(NOW + 1000, 999)) == ["a", "b"]
    _taken(shelf, ["a", "c"])
    assert list(shelf.inboxes.waiting(NOW + 1000, 0)) == ["b"]
    shelf.inboxes.add("a", BODY, NOW + 500)
    assert sorted(shelf.inboxes.waiting(NOW + 1000, 500)) == ["a", "b"]


def _taken(shelf: Shelf, names: Sequence[str]) -> None:
    for name in names:
        state = shelf.inboxes.state(name)
        assert shelf.inboxes.advance(state, state.advanced(2, 2), []) is InboxStep.TAKEN


def test_a_notice_stays_within_a_write_unit() -> None:
    item = notice_item(notice(data=replace(DATA, first_name="x" * 60, template="0" * 26), id="y" * 60))
    size = sum(len(k) + len(next(iter(v.values()))) for k, v in item.items())
    assert size < 1024


@pytest.mark.slow
@pytest.mark.parametrize("stores", ["dynamo"], indirect=True)
@pytest.mark.parametrize("call", ["write", "write_all", "advance"])
def test_entries_behind_every_mark_fail_clearly(shelf: Shelf, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """A log that is closed past each stamp ends the call after STAMPS transactions, and nothing is written."""
    assert isinstance(shelf.stores, MotoStores)
    old = notice()
    shelf.put(old)
    shelf.inboxes.add("clinic", BODY, NOW)
    state = shelf.inboxes.state("clinic")
    dynamo, calls = shelf.stores.dynamo, count(1)
    made = dynamo.call

    def closed_first(operation: str, **kwargs: object) -> object:
        if operation == "transact_write_items":
            shelf.close(NOW + 10_000 * next(calls))
        return made(operation, **kwargs)

    monkeypatch.setattr(dynamo, "call", closed_first)
    change = moved(old, entry())
    acts: dict[str, Callable[[], object]] = {
        "write": lambda: shelf.notices.write(old, change),
        "write_all": lambda: shelf.notices.write_all([(old, change)]),
        "advance": lambda: shelf.inboxes.advance(state, state.advanced(2, 2), [(old, change)]),
    }
    with pytest.raises(Retriable):
        acts[call]()
    assert next(calls) == STAMPS + 1
    assert shelf.one(old.uuid) == old
    assert shelf.inboxes.state("clinic") == state
    assert shelf.log() == []


@pytest.mark.slow
@pytest.mark.parametrize("stores", ["dynamo"], indirect=True)
def test_what_waits_of_a_notifier_is_counted(shelf: Shelf) -> None:
    assert isinstance(shelf.stores, MotoStores)
    table = shelf.stores.tables.records
    waiting = DynamoWaiting(shelf.stores.dynamo, records=table)
    assert (waiting.count("clinic", 9), waiting.any("clinic")) == (0, False)
    beside = next(x for x in map(str, count()) if keys.shard_of(x) == keys.shard_of("clinic"))
    shelf.put(*(notice(uuid=uuid(i)) for i in range(4)), notice(uuid=uuid(8), phase=Phase.ENDED))
    shelf.put(notice(uuid=uuid(5), notifier=beside, next_at=NOW - 9))
    reads = shelf.stores.tap.calls.count("dynamo.batch_get_item")
    assert (waiting.count("clinic", 9), waiting.count("clinic", 3), waiting.count(beside, 9)) == (4, 3, 1)
    assert waiting.any("clinic")
    first, place = waiting.page("clinic", after="", limit=3)
    assert (first, waiting.page("clinic", after=place, limit=3)) == ([uuid(i) for i in range(3)], ([uuid(3)], ""))
    assert waiting.page(beside, after="", limit=3) == ([uuid(5)], "")
    assert shelf.stores.tap.calls.count("dynamo.batch_get_item") == reads, "the index says whose they are"
    for i in (0, 5):  # as an older version has stored them
        update = {"Key": keys.notice(uuid(i)), "UpdateExpression": "REMOVE campaign"}
        shelf.stores.client.update_item(TableName=table, **update)
    assert (waiting.count("clinic", 9), waiting.count(beside, 9), waiting.any(beside)) == (4, 1, True)
    shelf.inboxes.add("new", BODY, NOW)
    assert (waiting.count("new", 9), waiting.any("new")) == (0, True)
