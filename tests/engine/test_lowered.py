"""A provider that takes less than its declared rate: few calls are refused, and most of what it takes is used."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.outcomes import Outcome, Throttled
from shared.ports import Target
from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider, Oracle
from tests.fakes.queues import FakePacer
from tests.fakes.world import World, credential

LEASES = 4


class Limited(FakeProvider):
    """Takes `limit` messages in any second, and asks for `wait` seconds of quiet beyond that."""

    limit = 10**9
    wait = 1.0

    def __init__(self, clock: FakeClock, oracle: Oracle, **kwargs: Any) -> None:
        super().__init__(clock, oracle, **kwargs)
        self.recent: deque[float] = deque()
        self.refused: list[float] = []

    def _one(self, target: Target, at: float) -> Outcome | Exception:
        while self.recent and self.recent[0] <= at - 1:
            self.recent.popleft()
        if len(self.recent) >= self.limit:
            self.refused.append(at)
            return Throttled(self.wait)
        self.recent.append(at)
        return super()._one(target, at)


def limited(rate: float, limit: int, *, latency: float = 0.1, wait: float = 1.0) -> tuple[World, Limited]:
    world = World(replace(credential("one", rate), workers=2), provider=Limited)
    provider = world.providers["one"]
    assert isinstance(provider, Limited)
    provider.limit, provider.latency, provider.wait = limit, latency, wait
    return world, provider


def serve(world: World, seconds: float, workers: int = 2) -> list[FakePacer]:
    """Let workers of two leases each, which share nothing but the stores, serve lane `one`; returns their pacers."""
    end = world.clock.now() + seconds
    pacers = [FakePacer(world.clock, world.tap, world.pacer.tat, world.pacer.switches) for _ in range(workers)]  # type: ignore[attr-defined]
    senders = [world.sender("one", pacer=p) for p in pacers]

    def lease(n: int) -> None:
        world.clock.sleep(0.0137 * n)
        while world.clock.now() < end:
            if not world.send("one", senders[n % workers]):
                world.clock.sleep(0.25)

    leases: Sequence[Callable[[], None]] = [lambda n=n: lease(n) for n in range(2 * workers)]  # type: ignore[misc]
    world.clock.run(*leases)
    return pacers


@pytest.mark.promise(2)
@pytest.mark.parametrize(("rate", "limit"), [(10, 5)])
def test_of_a_lower_limit_most_is_used_and_few_calls_are_refused(rate: float, limit: int) -> None:
    world, provider = limited(rate, limit)
    seconds = 400
    world.accept(round(rate * seconds * 0.6))
    begun = world.clock.now()
    serve(world, seconds)
    calls = [t for t, _, _ in world.oracle.calls if t < begun + seconds]
    refused = [t for t in provider.refused if t < begun + seconds]
    taken = [x for x in world.oracle.taken if x.at < begun + seconds]
    assert 0 < len(refused) <= 0.05 * len(calls)
    assert len(taken) >= 0.85 * limit * seconds
    world.check()


def test_the_first_refusal_is_the_last_call_until_the_hold_has_ended() -> None:
    world, provider = limited(20, 5, latency=0.0, wait=7.0)
    world.accept(200)
    begun = world.clock.now()
    pacers = serve(world, 6)
    assert len(provider.refused) == 1
    assert [sum(done) for done in zip(*(p.writes for p in pacers), strict=True)] == [1, 1]
    assert not [t for t, _, _ in world.oracle.calls if provider.refused[0] < t < provider.refused[0] + 7]
    assert provider.refused[0] - begun < 1


def test_a_chunk_that_another_credential_may_take_does_not_wait_for_a_long_hold() -> None:
    world = World(credential("one", 10), credential("two", 10), provider=Limited)
    provider = world.providers["one"]
    assert isinstance(provider, Limited)
    provider.limit, provider.wait = 0, 600.0
    job = world.accept(40)
    began = world.clock.now()
    world.run(seconds=60)
    assert world.counts(job.id) == {"sent": 40}
    assert world.clock.now() - began < 60
    assert len(provider.refused) == 1, "the other chunks left without a call"
