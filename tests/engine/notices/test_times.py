"""When notices are due is announced after they are stored, and the sweeper finds what nothing has announced."""

import pytest

from shared.domain.notices.notice import Phase
from shared.domain.notices.times import moment
from tests.engine.notices.hub import DAY, ZONE, Hub

NIGHT = moment(ZONE, DAY, 300)
"""Five o'clock, hours before notifiers' hours begin."""


def waiting(hub: Hub, count: int) -> int:
    """Take notices in and let the function postpone them; return when they are due, Unix milliseconds."""
    for n in range(count):
        hub.new(n)
    hub.minute()
    (due,) = {x.due for x in hub.store.items.values()}
    assert due is not None
    assert due > hub.clock.ms + 600_000
    hub.due_queue.lose()
    return due


def begun(hub: Hub) -> bool:
    return all(x.phase is not Phase.WAITING for x in hub.store.items.values())


def test_all_notices_of_a_minute_have_one_schedule_and_begin_then() -> None:
    hub = Hub(at=NIGHT)
    due = waiting(hub, 20)
    assert len(hub.scheduler.set_for) == 1
    hub.woken.clear()
    hub.clock.advance((due - hub.clock.ms) // 1000 - 100)
    hub.live(101)
    assert begun(hub)
    assert [due <= at <= due + 2_000 for at in hub.woken] == [True]
    assert hub.overdue == []


@pytest.mark.parametrize("lost", ["schedule", "message"])
def test_what_is_lost_costs_two_minutes_at_most(lost: str) -> None:
    hub = Hub(at=NIGHT)
    due = waiting(hub, 2)
    if lost == "schedule":
        hub.scheduler.set_for.clear()
        hub.scheduler.bodies.clear()
    hub.clock.advance((due - hub.clock.ms) // 1000 - 2)
    hub.scheduler.fire(hub.clock.now(), hub.due_queue)
    hub.due_queue.lose()
    hub.live(1)
    assert not begun(hub)
    hub.live(121)
    assert begun(hub)
    assert hub.overdue != []


def test_a_finished_run_is_looked_at_without_a_schedule() -> None:
    hub = Hub()
    hub.new()
    hub.minute()
    hub.scheduler.set_for.clear()
    hub.live(600)
    assert hub.overdue != [], "its message has no receipt yet"


def test_nothing_wakes_the_function_if_nothing_is_due() -> None:
    hub = Hub(at=NIGHT)
    waiting(hub, 3)
    hub.woken.clear()
    hub.live(1_200)
    assert (hub.woken, hub.overdue, hub.due_queue.waiting) == ([], [], [])
