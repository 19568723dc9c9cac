"""Minutes in which something is due: announced once for each kind, and brought to its function in time."""

import json
from typing import Any

import pytest

from infra.limits import SCHEDULES_KEPT
from shared.contracts import DueKind, DueMinute
from shared.domain.digests.policy import MAX_WINDOW
from shared.domain.spending.limits import MAX_SCHEDULES
from shared.engine.minutes import EARLY_S, LEADS, PAUSE_S, REMEMBERED, SOON_S, MinuteAnnouncer, MinuteRelay
from shared.ports import Retriable
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap
from tests.fakes.queues import FakeQueue
from tests.fakes.schedules import FakeScheduler

NOON = 1_790_000_040
"""A minute begins."""
KINDS = list(DueKind)


class Stage:
    """A scheduler, the queue that it sends to, and processes that announce."""

    def __init__(self) -> None:
        self.clock, self.tap = FakeClock(float(NOON)), Tap()
        self.scheduler = FakeScheduler(self.tap)
        self.queue = FakeQueue(self.clock, self.tap)
        self.woken: list[tuple[DueMinute, float]] = []
        self.relay = MinuteRelay(
            wake={kind: lambda minute: self.woken.append((minute, self.clock.now())) for kind in KINDS},
            queue=self.queue,
            clock=self.clock,
        )

    def process(self) -> MinuteAnnouncer:
        return MinuteAnnouncer(scheduler=self.scheduler, queue=self.queue, clock=self.clock)

    def calls(self) -> list[str]:
        made, self.tap.calls = self.tap.calls, []
        return made

    def live(self, seconds: int) -> None:
        for _ in range(seconds):
            self.clock.advance(1)
            self.scheduler.fire(self.clock.now(), self.queue)
            while (message := self.queue.receive()) is not None:
                minute = DueMinute.loads(message.body)
                assert minute is not None
                self.relay.arrived(minute)
                self.queue.delete(message)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rest", [5, 59, 60, 61, 150, SOON_S, SOON_S + 1, 300, 1_000, 7_200])
def test_a_function_is_woken_once_in_time_for_each_moment(kind: DueKind, rest: int) -> None:
    stage = Stage()
    at = NOON + rest
    for _ in range(3):
        assert stage.process().announce(kind, at * 1000)
    stage.live(rest + 120)
    minutes = {minute for minute, _ in stage.woken}
    (minute,) = minutes
    wakes = sorted(when for _, when in stage.woken)
    if kind in LEADS:
        assert minute.at <= at < minute.at + 60
        assert wakes[0] <= max(NOON + 1, minute.at - 30)
    else:
        assert at <= minute.at < at + 60
        assert minute.at <= wakes[0] <= minute.at + 1


def test_a_minute_has_one_schedule_and_a_process_one_call() -> None:
    stage = Stage()
    processes = [stage.process() for _ in range(4)]
    for second in range(60):
        for x in processes:
            for kind in KINDS:
                assert x.announce(kind, (NOON + 3_600 + second) * 1000 + (1 if kind in LEADS else -59_999))
    assert len(stage.scheduler.set_for) == len(KINDS)
    assert stage.calls() == ["scheduler.set_once"] * len(processes) * len(KINDS)


def test_a_schedule_comes_half_a_minute_early_at_least() -> None:
    """EventBridge Scheduler may take a minute."""
    stage = Stage()
    stage.process().announce(DueKind.DIGESTS, (NOON + 3_600) * 1000)
    assert stage.scheduler.set_for == {f"digests-{NOON + 3_600}": NOON + 3_600 - EARLY_S}
    assert EARLY_S - 60 >= 30
    assert SOON_S - EARLY_S >= 60, "no schedule is set for a moment that is over when it is made"


def test_no_deployment_makes_more_schedules_of_minutes_than_a_region_keeps() -> None:
    """A window is the longest time that anything is announced ahead."""
    assert len(KINDS) * MAX_WINDOW / 60 + MAX_SCHEDULES < SCHEDULES_KEPT


def test_after_a_fault_no_request_waits_for_the_next_one_and_later_it_is_tried_again() -> None:
    stage = Stage()
    x = stage.process()
    stage.tap.arm_at("scheduler.set_once", error=lambda: Retriable("ThrottlingException"))
    at = (NOON + 3_600) * 1000
    assert not x.announce(DueKind.DIGESTS, at)
    assert not x.announce(DueKind.DIGESTS, at)
    assert stage.calls() == ["scheduler.set_once"]
    stage.clock.advance(PAUSE_S)
    assert x.announce(DueKind.DIGESTS, at)
    assert stage.calls() == ["scheduler.set_once"]


def test_a_process_remembers_so_many_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert REMEMBERED > 24 * 60
    monkeypatch.setattr("shared.engine.minutes.REMEMBERED", 2)
    stage = Stage()
    x = stage.process()
    for n in (10, 11, 12, 10):
        assert x.announce(DueKind.DIGESTS, (NOON + n * 60) * 1000)
    assert len(stage.calls()) == 4
    assert len(stage.scheduler.set_for) == 3


@pytest.mark.parametrize("raw", [{}, {"kind": "digests"}, {"kind": "none", "at": 0}, {"kind": "digests", "at": "1"}, 7])
def test_what_is_no_minute_is_refused(raw: Any) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        DueMinute.loads(json.dumps({"minute": raw}))


def test_other_messages_are_no_minutes() -> None:
    assert DueMinute.loads('{"job":"1"}') is None
    assert DueMinute.loads("[]") is None
    assert DueMinute.loads(DueMinute(DueKind.DIGESTS).dumps()) == DueMinute(DueKind.DIGESTS, 0)
