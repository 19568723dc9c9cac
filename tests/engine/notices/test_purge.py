"""The daily walk of collected notices: what goes sooner, what stays, and what is recorded as never collected."""

from dataclasses import replace

import pytest

from shared.domain.audit import Act, Log
from shared.domain.notices.notice import DAY_S, KEPT_DAYS
from shared.domain.times import DAY_MS
from tests.engine.notices.hub import HOUR, Hub
from tests.fakes.faults import Crash, When

WEEK_S = 7 * DAY_S


@pytest.fixture
def hub() -> Hub:
    return Hub()


def cancelled(hub: Hub, *numbers: int) -> None:
    """Have notices end, each with an entry of its own."""
    for n in numbers:
        hub.new(n)
        hub.cancel(n)
        hub.clock.advance(1)


def walk(hub: Hub) -> None:
    """Let the function of every minute run a day later."""
    hub.clock.advance(24 * HOUR)
    hub.begin()


def shortened(hub: Hub, *numbers: int) -> set[int]:
    """Return those of the notices that are kept only for a week after their expiry."""
    return {n for n in numbers if hub.notice(n).ttl == hub.notice(n).expires_at // 1000 + WEEK_S}


def unread(hub: Hub) -> list[int]:
    """Return the numbers of uncollected notices in the audit log."""
    events = hub.records.journal.since(hub.notifier.namespace, Log.AUDIT, 0)  # type: ignore[attr-defined]
    return [int(x.data["notices"]) for x in events if x.kind == Act.NOTICES_UNREAD]


def test_what_is_collected_goes_a_week_after_its_expiry(hub: Hub) -> None:
    cancelled(hub, *range(8))
    hub.new(8)
    hub.clock.advance(9)
    assert hub.collect() == [f"n{n}" for n in range(8)]
    walk(hub)
    assert shortened(hub, *range(9)) == set(range(8))
    assert hub.notice(8).ttl == 0
    marks = hub.log.marks("clinic")
    assert marks.purged == marks.collected


def test_what_is_not_collected_stays(hub: Hub) -> None:
    cancelled(hub, 0)
    hub.clock.advance(9)
    hub.collect()
    cancelled(hub, 1)
    walk(hub)
    assert shortened(hub, 0, 1) == {0}
    hub.collect(hub.log.marks("clinic").collected)
    walk(hub)
    assert shortened(hub, 0, 1) == {0, 1}


def test_a_notice_that_has_changed_since_its_entry_stays(hub: Hub) -> None:
    cancelled(hub, 0, 1)
    hub.clock.advance(9)
    hub.collect()
    hub.update(0)
    hub.update(1)
    hub.cancel(1)
    walk(hub)
    assert hub.notice(0).ttl == 0
    assert hub.notice(1).ttl == hub.notice(1).stamp // 1000 + KEPT_DAYS * DAY_S
    hub.collect(hub.log.marks("clinic").collected)
    walk(hub)
    assert shortened(hub, 1) == {1}


@pytest.mark.slow
@pytest.mark.parametrize("when", When)
def test_a_walk_that_dies_anywhere_is_made_again(when: When) -> None:
    for at in range(40):
        hub = Hub()
        cancelled(hub, *range(7))
        hub.clock.advance(9)
        hub.collect()
        hub.clock.advance(24 * HOUR)
        hub.world.tap.arm(at, when, Crash)
        try:
            hub.begin()
        except Crash:
            hub.reboot()
        hub.world.tap.disarm()
        hub.begin()
        assert shortened(hub, *range(7)) == set(range(7))


def test_a_walk_stops_when_its_time_is_up_and_goes_on_a_minute_later(hub: Hub) -> None:
    cancelled(hub, *range(8))
    hub.clock.advance(9)
    hub.collect()
    hub.clock.advance(24 * HOUR)
    hub.purge.one("clinic", hub.clock.now())
    assert shortened(hub, *range(8)) == {0, 1, 2}
    assert list(hub.log.to_purge(hub.clock.ms)) == ["clinic"]
    hub.begin()
    assert shortened(hub, *range(8)) == set(range(8))
    assert list(hub.log.to_purge(hub.clock.ms + DAY_MS - 1)) == []


def test_more_entries_of_one_moment_than_a_part_are_walked_together(hub: Hub) -> None:
    for n in range(9):
        hub.new(n)
        hub.cancel(n)
    hub.clock.advance(9)
    hub.collect()
    walk(hub)
    assert shortened(hub, *range(9)) == set(range(9))


def test_what_nobody_collected_is_recorded_when_it_goes(hub: Hub) -> None:
    cancelled(hub, 0, 1)
    hub.clock.advance(89 * 24 * HOUR)
    hub.begin()
    assert unread(hub) == []
    walk(hub)
    walk(hub)
    assert unread(hub) == [2]
    assert shortened(hub, 0, 1) == set()


def test_an_uncollected_notice_that_lives_on_is_not_recorded(hub: Hub) -> None:
    cancelled(hub, 0, 1, 2)
    hub.clock.advance(80 * 24 * HOUR)
    hub.update(0)
    hub.cancel(1)  # nothing
    del hub.store.items[hub.notice(2).uuid]
    hub.clock.advance(11 * 24 * HOUR)
    hub.begin()
    assert unread(hub) == [2], "the one that has gone already counts"


def test_a_deleted_notifier_is_walked_until_its_log_is_empty(hub: Hub) -> None:
    cancelled(hub, 0)
    hub.notifier = replace(hub.notifier, deleted=True)
    for _ in range(92):
        walk(hub)
    assert unread(hub) == [1]
    assert hub.log.walks == {}


def test_a_notifier_without_a_record_is_walked_no_more(hub: Hub) -> None:
    hub.log.purge("gone", 7, again=1)
    hub.begin()
    assert "gone" not in hub.log.walks
