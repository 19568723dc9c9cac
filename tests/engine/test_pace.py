"""Promise 2 in fake time: whatever the number of workers, never above the rate, and seldom far below it."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import pytest

from shared.domain.jobs.outcomes import Throttled
from shared.engine.pool import Pending
from tests.engine.measuring import drain, worst_second
from tests.fakes.clock import FakePool
from tests.fakes.world import World, credential

T = TypeVar("T")


def measure(world: World, messages: int, *, slow: bool = False, skew: float = 0.0) -> tuple[int, float]:
    """Send a batch; returns the worst second and the average per second while work was left."""
    job = world.accept(messages)
    if slow:
        world.slow_down(0.001, 0.012)
    drain(world, skew)
    times = sorted((t, n) for t, _, n in world.oracle.calls)
    assert sum(n for _, n in times) == messages
    assert world.oracle.times(job.id).values()
    world.run()
    world.check()
    spent = times[-1][0] - times[0][0]
    return worst_second(times), (messages - times[-1][1]) / spent


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize(("rate", "messages"), [(1, 90), (10, 900), (14, 900), (150, 3000)])
@pytest.mark.parametrize("provider_limit", [1, 1000])
def test_four_workers_keep_the_rate(rate: int, messages: int, provider_limit: int) -> None:
    world = World(credential("one", rate), provider_limit=provider_limit)
    worst, average = measure(world, messages)
    assert worst <= rate
    assert average >= 0.93 * rate


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize(("rate", "messages"), [(1, 60), (10, 600), (14, 800), (150, 2250), (1000, 8000)])
def test_clocks_that_are_five_milliseconds_off_keep_the_rate(rate: int, messages: int) -> None:
    world = World(credential("one", rate), provider_limit=1000)
    worst, average = measure(world, messages, skew=0.005)
    assert worst <= rate
    assert average >= 0.93 * rate


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize("rate", [1, 10, 150])
def test_calls_to_the_stores_that_take_their_time_cost_no_slots(rate: int) -> None:
    world = World(credential("one", rate), provider_limit=1000)
    worst, average = measure(world, 30 * rate, slow=True)
    assert worst <= rate
    assert average >= 0.93 * rate


@pytest.mark.slow
@pytest.mark.promise(2)
def test_a_thousand_a_second_in_calls_of_many() -> None:
    world = World(credential("one", 1000), provider_limit=1000)
    worst, average = measure(world, 12_000)
    assert worst <= 1000
    assert average >= 0.93 * 1000


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize("rate", [10, 150])
def test_a_slow_provider_does_not_make_bursts(rate: int) -> None:
    world = World(credential("one", rate), provider_limit=1000)
    world.providers["one"].latency = 0.8
    worst, average = measure(world, 25 * rate)
    assert worst <= rate
    assert average >= 0.5 * rate


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize("rate", [1, 10, 70])
def test_stalls_and_throttling_burn_slots_and_never_double_them(rate: int) -> None:
    world = World(credential("one", rate))
    provider = world.providers["one"]
    calls = iter(range(10**6))

    def stall(_targets: object) -> None:
        n = next(calls)
        if n % 37 == 5:
            world.clock.sleep(0.35)

    provider.before = stall
    for i in range(0, 30 * rate, 50):
        provider.script(f"r{i}@example.com", [Throttled(1)])
    world.accept(30 * rate)
    drain(world)
    times = sorted((t, n) for t, _, n in world.oracle.calls)
    late = 0.36  # a stalled call leaves late by its stall, into the second of those behind it
    assert len(world.oracle.taken) == 30 * rate
    assert worst_second(times) <= rate * (1 + late) + 1


@pytest.mark.promise(2)
def test_a_slot_missed_by_more_than_ten_milliseconds_is_burned() -> None:
    world = World(credential("one", 10))
    job = world.accept(9)
    provider = world.providers["one"]
    stalled: list[bool] = []

    def stall(_targets: object) -> None:
        if not stalled:
            stalled.append(True)
            world.clock.advance(0.25)  # the thread that starts calls is stalled, too

    provider.before = stall
    world.send("one")
    times = [(t, n) for t, _, n in world.oracle.calls]
    gaps = [b - a for (a, _), (b, _) in pairwise(times)]
    assert min(gaps[1:]) > 0.09
    assert worst_second(times) <= 10
    assert world.counts(job.id) == {"sent": 9}


@pytest.mark.promise(2)
def test_a_thread_that_starts_late_makes_no_call() -> None:
    """The machine was busy between the start of a call's thread and its first line: the slot has passed."""
    world = World(credential("one", 10))
    job = world.accept(9)
    late = iter([0.0, 0.5, 0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 0.3])
    began = []

    class TardyPool(FakePool):
        def submit(self, fn: Callable[..., T], /, *args: Any) -> Pending[T]:
            delay = next(late, 0.0)

            def start(*args: Any) -> T:
                world.clock.sleep(delay)
                began.append(delay)
                return fn(*args)

            return super().submit(start, *args)

    sender = world.sender("one", pool=TardyPool)
    world.clock.run(lambda: world.send("one", sender))
    assert len(began) == 12
    times = sorted((t, n) for t, _, n in world.oracle.calls)
    assert min(b - a for (a, _), (b, _) in pairwise(times)) > 0.09
    assert world.counts(job.id) == {"sent": 9}
    assert world.oracle.times(job.id) == {(0, i): 1 for i in range(9)}
