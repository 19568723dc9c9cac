"""Providers that refuse what comes too fast, or some calls by chance, in fake time."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from shared.domain.jobs.outcomes import Outcome, Throttled
from shared.ports import Target
from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider, Oracle
from tests.fakes.queues import FakePacer
from tests.fakes.world import World, credential


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
    pacers = [FakePacer.beside(world.pacer) for _ in range(workers)]
    senders = [world.sender("one", pacer=p) for p in pacers]

    def lease(n: int) -> None:
        world.clock.sleep(0.0137 * n)
        while world.clock.now() < end:
            if not world.send("one", senders[n % workers]):
                world.clock.sleep(0.25)

    leases: Sequence[Callable[[], None]] = [lambda n=n: lease(n) for n in range(2 * workers)]  # type: ignore[misc]
    world.clock.run(*leases)
    return pacers


def by_chance(share: float, *, rate: float, messages: int, life: float, seed: int = 1) -> float:
    """Return the seconds until all is sent, with a provider that refuses a share of its calls whatever their rate.

    Two workers of two leases serve the lane. One of them is replaced every `life` seconds, as Lambda does: the new one
    knows nothing.
    """
    world, provider = limited(rate, 10**9, latency=0.05)
    rng = random.Random(seed)  # noqa: S311 - a provider's whims
    refused = Throttled(1.0)
    provider.before = lambda _targets: setattr(provider, "answer", refused if rng.random() < share else None)
    world.accept(messages)
    began = world.clock.now()
    senders = [world.sender("one", breaker_cache=world.process()) for _ in range(2)]
    end = began + 20 * messages / rate

    def done() -> bool:
        return len(world.oracle.taken) == messages or world.clock.now() >= end

    def lease(n: int) -> None:
        world.clock.sleep(0.0137 * n)
        while not done():
            if not world.send("one", senders[n % 2]):
                world.clock.sleep(0.05)

    def replaced() -> None:
        for n in count():
            world.clock.sleep(life / 2)
            if done():
                return
            senders[n % 2] = world.sender("one", pacer=FakePacer.beside(world.pacer), breaker_cache=world.process())

    leases: Sequence[Callable[[], None]] = [lambda n=n: lease(n) for n in range(4)]  # type: ignore[misc]
    world.clock.run(replaced, *leases)
    world.check()
    return max(x.at for x in world.oracle.taken) - began


@dataclass(frozen=True, slots=True)
class Use:
    """Shares: of all calls those that were refused, and of what the provider would have taken what it took."""

    refused: float
    used: float


def use(rate: float, limit: int, *, seconds: float) -> Use:
    """Let two workers send at the declared rate to a provider that takes `limit` a second."""
    world, provider = limited(rate, limit)
    world.accept(round(rate * seconds * 0.6))
    end = world.clock.now() + seconds
    serve(world, seconds)
    world.check()
    calls = sum(at < end for at, _, _ in world.oracle.calls)
    return Use(
        refused=sum(at < end for at in provider.refused) / calls,
        used=sum(x.at < end for x in world.oracle.taken) / (limit * seconds),
    )
