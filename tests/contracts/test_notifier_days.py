"""The stats of notifiers by day, on DynamoDB and in memory: days that are over are counted once."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from shared.adapters.dynamo.notices.notices import DynamoNotices
from shared.adapters.dynamo.notices.updates import DynamoUpdates
from shared.domain.notices.days import NotifierDay, span_of
from shared.domain.notices.notice import NoticeChange
from shared.domain.notices.notifier import Notifier, new_id_space
from shared.domain.notices.updates import UpdateEntry
from shared.engine.notices.days import NotifierDays
from shared.ports import Notices, UpdateLog
from tests.contracts.conftest import ACCOUNT
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.notices.notices import FakeNotices
from tests.fakes.notices.updates import FakeUpdates
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores


class Shelf:
    """A log and its writer over one of the worlds, and one notifier."""

    def __init__(self, stores: Stores, clock: FakeClock) -> None:
        self.clock, self.stores = clock, stores
        self.log: UpdateLog
        self.notices: Notices
        if isinstance(stores, FakeStores):
            made = FakeUpdates(stores.tap)
            self.log, self.notices, self._read = made, FakeNotices(stores.tap, made), "updates.read"
        else:
            assert isinstance(stores, MotoStores)
            self.log = DynamoUpdates(stores.dynamo, records=stores.tables.records)
            self.notices = DynamoNotices(stores.dynamo, records=stores.tables.records)
            self._read = "dynamo.query"
        self.notifier = Notifier("clinic", ACCOUNT, new_id_space(), "UTC", clock.ms)
        self.days = NotifierDays(log=self.log, clock=clock)
        self._written = 0

    def write(self, status: str = "SUCCESS", stamp: int = 0, action: str | None = None, error: str = "") -> None:
        """Add an entry, as those who change a notice do."""
        self._written += 1
        uuid = f"{self._written:08}-0000-5000-8000-000000000000"
        entry = UpdateEntry("clinic", uuid, "n", stamp or self.clock.ms, status, action, error)
        assert self.notices.write(None, NoticeChange(None, (entry,)))

    def today(self) -> date:
        return datetime.fromtimestamp(self.clock.now(), UTC).date()

    def ask(self, back: int = 2) -> list[NotifierDay]:
        """Return the stats of some days, today first."""
        return self.days.of(self.notifier, [self.today() - timedelta(days=i) for i in range(back)])

    def reads(self) -> int:
        """Return how often the log was read so far."""
        return self.stores.tap.calls.count(self._read)


@pytest.fixture
def shelf(stores: Stores, clock: FakeClock) -> Shelf:
    return Shelf(stores, clock)


def amounts(days: Sequence[NotifierDay]) -> list[tuple[dict[str, int], dict[str, int], int]]:
    return [(dict(x.statuses), dict(x.errors), x.rejected) for x in days]


def test_a_day_counts_its_updates_by_status_and_error(shelf: Shelf) -> None:
    shelf.write()
    shelf.write("TEMP_FAIL", error="TEMP_DELIVERY_FAIL")
    shelf.write("PERM_FAIL", action="NEW", error="INVALID_TEMPLATE")
    (today,) = shelf.ask(1)
    assert today.day == f"{shelf.today():%Y%m%d}"
    expected = ({"SUCCESS": 1, "TEMP_FAIL": 1}, {"TEMP_DELIVERY_FAIL": 1, "INVALID_TEMPLATE": 1}, 1)
    assert amounts([today]) == [expected]


def test_a_day_that_is_over_is_read_once(shelf: Shelf) -> None:
    shelf.write()
    shelf.clock.advance(86_400)
    shelf.write("CANCELED")
    first = shelf.ask()
    before = shelf.reads()
    assert amounts(shelf.ask()) == amounts(first) == [({"CANCELED": 1}, {}, 0), ({"SUCCESS": 1}, {}, 0)]
    assert shelf.reads() == before + 1, "today alone"


def test_no_update_is_added_to_a_day_that_was_counted(shelf: Shelf) -> None:
    shelf.write()
    late = shelf.clock.ms
    shelf.clock.advance(86_400)
    shelf.ask()
    shelf.write("CANCELED", stamp=late + 1)
    assert amounts(shelf.ask()) == [({"CANCELED": 1}, {}, 0), ({"SUCCESS": 1}, {}, 0)]


def test_a_day_that_has_only_just_ended_is_not_counted_for_good(shelf: Shelf) -> None:
    end = span_of(shelf.today()).end
    shelf.clock.advance((end - shelf.clock.ms) / 1000 + 3)
    assert amounts(shelf.ask()) == [({}, {}, 0)] * 2
    shelf.write(stamp=end - 1)
    assert amounts(shelf.ask()) == [({}, {}, 0), ({"SUCCESS": 1}, {}, 0)]


def test_days_before_the_notifier_was_made_are_not_read(shelf: Shelf) -> None:
    shelf.notifier = replace(shelf.notifier, created_at=shelf.clock.ms - 86_400_000)
    before = shelf.reads()
    assert amounts(shelf.ask(31)) == [({}, {}, 0)] * 31
    assert shelf.reads() == before + 2


@pytest.mark.parametrize("when", When)
def test_a_call_that_dies_anywhere_leaves_no_wrong_count(shelf: Shelf, when: When) -> None:
    shelf.write()
    shelf.clock.advance(86_400)
    for at in range(8):
        shelf.stores.tap.arm(at, when)
        try:
            shelf.ask()
        except Crash:
            shelf.stores.tap.disarm()
        shelf.stores.tap.disarm()
        assert amounts(shelf.ask())[1] == ({"SUCCESS": 1}, {}, 0)
