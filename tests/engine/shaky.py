"""A provider that fails some of its calls at random, and a deployment that serves it side by side."""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from shared.domain.jobs.outcomes import Outcome, Rejected, Throttled, Unknown
from shared.domain.jobs.states import JobState
from shared.engine.lane.access import CALL_TIMEOUT
from shared.engine.lane.send import Sender
from shared.ports import Retriable
from tests.engine.failing import LEASES
from tests.fakes.provider import Swallowed
from tests.fakes.world import World

Answer = tuple[Outcome | Swallowed, float]
"""What the provider says, and the seconds that it takes to."""
QUICK: Final = 0.05
SWEEP: Final = 60.0
"""Seconds between two sweeps."""
FAST: Final[Sequence[Answer]] = (
    (Rejected("http_502", permanent=False), QUICK),
    (Rejected("http_503", permanent=False), QUICK),
)
ALL: Final[Sequence[Answer]] = (
    *FAST,
    (Throttled(1), QUICK),
    (Swallowed(), QUICK),
    (Unknown("read_timeout"), CALL_TIMEOUT),
)


def shake(world: World, name: str, share: float, answers: Sequence[Answer], seed: int = 1) -> None:
    """Let a share of a provider's calls fail, each in one of the ways."""
    rng = random.Random(seed)  # noqa: S311 - a provider's whims
    provider = world.providers[name]

    def say(_targets: object) -> None:
        provider.answer, provider.latency = rng.choice(answers) if rng.random() < share else (None, QUICK)

    provider.before = say


def deploy(world: World, *lanes: str, workers: int = 2, seconds: float = 600.0, until: Callable[[], bool]) -> float:
    """Serve lanes with several workers of two leases each, and all that goes with them, until something is so.

    Returns the seconds that it took.
    """
    began = world.clock.now()
    run = _Run(world, began + seconds, until)
    work: list[Callable[[], None]] = [run.keep]
    for lane in lanes:
        for w in range(workers):
            sender = world.sender(lane, breaker_cache=world.process())
            work += [partial(run.lease, lane, sender, LEASES * w + k) for k in range(LEASES)]
    world.clock.run(*work)
    return run.end - began


class _Run:
    def __init__(self, world: World, end: float, until: Callable[[], bool]) -> None:
        self.end = end
        self._world = world
        self._until = until

    def lease(self, lane: str, sender: Sender, n: int) -> None:
        self._world.clock.sleep(0.007 * n)
        handed_on: list[bool] = []

        def spare() -> None:
            handed_on.append(True)
            self._world.clock.begin(partial(self.lease, lane, sender, 0))

        while self._world.clock.now() < self.end and not handed_on:
            with suppress(Retriable):
                if self._world.send(lane, sender, spare=spare) is not None:
                    continue
            self._world.clock.sleep(0.05)

    def keep(self) -> None:
        world, swept = self._world, self._world.clock.now()
        while world.clock.now() < self.end:
            while world.log() is not None:
                pass
            world.plan()
            world.again()
            if world.clock.now() - swept >= SWEEP:
                world.sweep()
                swept = world.clock.now()
            if self._until():
                self.end = world.clock.now()
            world.clock.sleep(0.25)


def logged(world: World) -> bool:
    """Tell whether every job has ended."""
    return all(world.job(j).state is JobState.LOGGED for j in world.jobs)
