"""The updates of notifiers on DynamoDB, the fake that other tests use instead, and how they are read."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.adapters.dynamo.client import Cancelled
from shared.adapters.dynamo.notices.updates import DynamoUpdates, log_actions
from shared.domain.audit import SYSTEM, Act, Log, audited
from shared.domain.notices.notifier import Notifier, new_id_space
from shared.domain.notices.updates import LOG_DAYS, BadRange, Marks, Span, UpdateEntry, link_range, next_stamp
from shared.engine.notices.updates import UpdateReader, UpdatesRead
from shared.ports import UpdateLog
from tests.contracts.conftest import ACCOUNT
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.notices.updates import FakeUpdates
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

Add = Callable[..., bool]
DAY_MS = 86_400_000
ALL = "20200101000000-20300101000000"


@pytest.fixture
def log(stores: Stores) -> UpdateLog:
    if isinstance(stores, FakeStores):
        return FakeUpdates(stores.tap, journal=stores.journal)
    assert isinstance(stores, MotoStores)
    return DynamoUpdates(stores.dynamo, records=stores.tables.records)


@pytest.fixture
def add(stores: Stores, log: UpdateLog) -> Add:
    """Add entries in one transaction; returns whether it was made."""

    def put(*entries: UpdateEntry) -> bool:
        if isinstance(log, FakeUpdates):
            admitted = log.admits(entries)
            if admitted:
                log.add(entries)
            return admitted
        assert isinstance(stores, MotoStores)
        actions = log_actions(stores.tables.records, entries)
        try:
            stores.dynamo.call("transact_write_items", TransactItems=actions)
        except Cancelled:
            return False
        return True

    return put


def entry(stamp: int, notice: str = "0", **changes: object) -> UpdateEntry:
    made = UpdateEntry("clinic", f"{notice:0>8}-0000-5000-8000-000000000000", f"A-{notice}", stamp, "SUCCESS")
    return replace(made, **changes)  # type: ignore[arg-type]


def notifier(clock: FakeClock) -> Notifier:
    return Notifier("clinic", ACCOUNT, new_id_space(), "Australia/Sydney", clock.ms)


def read(log: UpdateLog, clock: FakeClock, text: str = ALL, limit: int = 5_000_000, began: int = 0) -> UpdatesRead:
    who = replace(notifier(clock), created_at=began)
    found = UpdateReader(log=log, clock=clock, limit=limit).read(who, text)
    assert isinstance(found, UpdatesRead)
    return found


def ids(found: UpdatesRead) -> list[str]:
    return [x["id"] for x in json.loads(found.body)]


def test_entries_are_read_in_order_over_the_days(log: UpdateLog, add: Add, clock: FakeClock) -> None:
    full = entry(
        clock.ms + DAY_MS,
        "2",
        status="PERM_FAIL",
        action="CANCEL",
        error="MESSAGE_NOT_FOUND",
        message="No such message.",
        version=7,
        ended=True,
    )
    assert add(full, entry(clock.ms, "1"))
    nothing = entry(clock.ms, "0", action="", status="PERM_FAIL")
    assert add(nothing, replace(entry(clock.ms, "3"), notifier="other"))
    every = Span(clock.ms - DAY_MS, clock.ms + 2 * DAY_MS)
    assert list(log.read("clinic", every)) == [nothing, entry(clock.ms, "1"), full]
    assert [x.id for x in log.read("other", every)] == ["A-3"]


def test_a_range_is_half_open(log: UpdateLog, add: Add, clock: FakeClock) -> None:
    assert add(*(entry(clock.ms + i) for i in range(3)))
    assert [x.stamp - clock.ms for x in log.read("clinic", Span(clock.ms, clock.ms + 2))] == [0, 1]
    assert list(log.read("clinic", Span(clock.ms, clock.ms))) == []


def test_no_entry_is_added_at_or_before_what_is_closed(log: UpdateLog, add: Add, clock: FakeClock) -> None:
    log.close("clinic", clock.ms)
    log.close("clinic", clock.ms - 5)
    assert log.marks("clinic") == Marks(closed=clock.ms)
    assert not add(entry(clock.ms))
    assert not add(entry(clock.ms + 1, "1"), entry(clock.ms, "2"))
    assert add(entry(clock.ms + 1, "1"))
    assert add(replace(entry(clock.ms), notifier="other"))


def test_no_entry_replaces_another(log: UpdateLog, add: Add, clock: FakeClock) -> None:
    assert add(entry(clock.ms, status="TEMP_FAIL"))
    assert not add(entry(clock.ms))
    assert add(entry(next_stamp(clock.ms, previous=clock.ms)))
    assert [x.status for x in log.read("clinic", Span(clock.ms, clock.ms + 9))] == ["TEMP_FAIL", "SUCCESS"]


def test_marks_only_rise(log: UpdateLog) -> None:
    assert log.marks("clinic") == Marks()
    for raise_, until in ((log.collect, 7), (log.collect, 3), (log.close, 9)):
        raise_("clinic", until)
    for until in (5, 4):
        log.purge("clinic", until, again=None)
    assert log.marks("clinic") == Marks(closed=9, collected=7, purged=5)


def test_a_log_is_walked_when_the_walk_before_it_has_said(log: UpdateLog) -> None:
    log.collect("clinic", 7)
    log.close("other", 9)
    assert list(log.to_purge(7 + DAY_MS - 1)) == []
    assert list(log.to_purge(7 + DAY_MS)) == ["clinic"]
    log.collect("clinic", 8)
    assert sorted(log.to_purge(9 + DAY_MS)) == ["clinic", "other"]
    log.purge("clinic", 8, again=3 * DAY_MS)
    log.purge("other", 0, again=None)
    assert list(log.to_purge(3 * DAY_MS - 1)) == []
    assert list(log.to_purge(3 * DAY_MS)) == ["clinic"]
    log.purge("clinic", 7, again=5 * DAY_MS)
    assert list(log.to_purge(3 * DAY_MS)) == ["clinic"], "a walk that is behind changes nothing"
    log.purge("clinic", 8, again=4 * DAY_MS)
    assert list(log.to_purge(3 * DAY_MS)) == []


@pytest.mark.parametrize("when", [None, When.REPEATED])
def test_a_walk_is_noted_with_its_entry_of_the_audit_log(log: UpdateLog, stores: Stores, when: When | None) -> None:
    event = audited(ACCOUNT, 17, "clinic", Act.NOTICES_UNREAD, SYSTEM, {"notices": 2})
    if when is not None:
        stores.tap.arm(0, when)
    log.purge("clinic", 5, again=9, event=event)
    log.purge("clinic", 4, again=10, event=replace(event, at=18))
    assert list(stores.journal.since(ACCOUNT, Log.AUDIT, 0)) == [event]
    assert list(log.to_purge(9)) == ["clinic"]


def test_a_writer_behind_a_reader_stamps_anew_and_its_entry_is_read_next(
    log: UpdateLog, add: Add, clock: FakeClock
) -> None:
    begin = clock.ms
    assert add(entry(begin, "1"))
    late = entry(begin + 100, "2")  # stamped before the read, written after it
    clock.advance(30)
    first = read(log, clock)
    assert ids(first) == ["A-1"]
    assert not add(late)
    closed = log.marks("clinic").closed
    assert add(replace(late, stamp=next_stamp(late.stamp, closed=closed)))
    clock.advance(30)
    again = f"{link_range(Span(begin // 1000 * 1000 + 1000, clock.ms))}"
    assert ids(read(log, clock, again)) == ["A-2"]


def test_what_has_not_settled_is_not_read(log: UpdateLog, add: Add, clock: FakeClock) -> None:
    assert add(entry(clock.ms))
    assert ids(read(log, clock)) == []
    assert log.marks("clinic").closed == clock.ms // 1000 * 1000 - 5000
    clock.advance(6)
    assert ids(read(log, clock)) == ["A-0"]


def test_a_read_of_the_past_closes_nothing_later(log: UpdateLog, clock: FakeClock) -> None:
    began, past = clock.ms - 9 * DAY_MS, Span(clock.ms - 3000_000, clock.ms - 2000_000)
    read(log, clock, link_range(past), began=began)
    assert log.marks("clinic") == Marks(closed=past.end)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [400, 1000, 2000])
def test_pages_end_at_whole_seconds_and_hold_every_entry_once(
    log: UpdateLog, add: Add, clock: FakeClock, limit: int
) -> None:
    for second in range(6):
        assert add(*(entry(clock.ms + 1000 * second + 7 * i, str(10 * second + i)) for i in range(1 + second)))
    clock.advance(60)
    found: list[str] = []
    text, pages = ALL, 0
    while True:
        page = read(log, clock, text, limit)
        found += ids(page)
        pages += 1
        assert log.marks("clinic").collected > 0
        if page.rest is None:
            break
        assert len(page.body) <= limit
        text = link_range(page.rest)
    assert found == [f"A-{10 * second + i}" for second in range(6) for i in range(1 + second)]
    assert pages > 1


def test_reading_without_a_gap_collects_and_a_gap_stops_it(log: UpdateLog, clock: FakeClock) -> None:
    began = clock.ms
    clock.advance(100)
    read(log, clock, began=began)
    first = log.marks("clinic").collected
    assert first == clock.ms // 1000 * 1000 - 5000
    clock.advance(100)
    read(log, clock, link_range(Span(first + 1000, clock.ms)), began=began)
    assert log.marks("clinic").collected == first
    read(log, clock, link_range(Span(first, clock.ms)), began=began)
    assert log.marks("clinic").collected == clock.ms // 1000 * 1000 - 5000


def test_a_range_of_many_years_reads_only_the_days_that_are_kept(log: UpdateLog, clock: FakeClock) -> None:
    spans: list[Span] = []

    class Watched(FakeUpdates):
        def read(self, notifier: str, span: Span) -> object:  # type: ignore[override]
            spans.append(span)
            return super().read(notifier, span)

    read(Watched(), clock, "20000101-20260901")  # type: ignore[arg-type]
    assert spans[0].start == clock.ms - LOG_DAYS * DAY_MS
    assert read(log, clock, "20000101-20010101") == UpdatesRead("[]", None)
    assert log.marks("clinic") == Marks()


def test_an_impossible_range_closes_nothing(log: UpdateLog, clock: FakeClock) -> None:
    found = UpdateReader(log=log, clock=clock).read(notifier(clock), "20261122-20261121")
    assert isinstance(found, BadRange)
    assert log.marks("clinic") == Marks()
