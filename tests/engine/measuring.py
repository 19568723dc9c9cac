"""Draining a world by several workers, and the rate at which its messages went out."""

import bisect
from typing import Final

from tests.fakes.clock import SkewedClock
from tests.fakes.queues import FakePacer
from tests.fakes.world import World

WORKERS: Final = 4


def worst_second(times: list[tuple[float, int]]) -> int:
    """Return the most recipients in any closed second; the times are in order."""
    at = [t for t, _ in times]
    totals = [0]
    for _, n in times:
        totals.append(totals[-1] + n)
    return max((totals[bisect.bisect_right(at, t + 1 - 1e-9)] - totals[i] for i, t in enumerate(at)), default=0)


def drain(world: World, skew: float = 0.0) -> None:
    """Let several workers, whose clocks differ by up to twice the skew, serve the lane until it is empty."""
    tat: dict[str, int] = {}

    def serve(n: int) -> None:
        own = SkewedClock(world.clock, skew * (2 * n / (WORKERS - 1) - 1))
        sender = world.sender("one", clock=own, pacer=FakePacer(own, world.tap, tat))
        world.clock.sleep(n * 0.013)
        idle = 0
        while idle < 20:
            idle = 0 if world.send("one", sender) else idle + 1
            if idle:
                world.clock.sleep(0.5)

    world.clock.run(*(lambda n=n: serve(n) for n in range(WORKERS)))
