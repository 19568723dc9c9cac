"""What a killed worker leaves in doubt, and how soon its messages go on, in fake time with the times that AWS has.

`python -m tests.engine.kills` (the first half of `make recovery`) kills one of a lane's two workers, each with two
leases, at a drawn instant, again and again, and prints a row for each rate.
"""

import argparse
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from shared.domain.jobs.states import Cell
from shared.domain.lanes.pacing import pace
from shared.engine.lane.send import LEASES
from tests.engine.pace import Life
from tests.fakes.faults import Crash
from tests.fakes.queues import FakePacer
from tests.fakes.world import World, credential

WORKERS = 2
LOOK = 15
SWEEP = 4
"""Looks for each run of the sweeper."""
LATENCY = 0.1
"""Seconds that a provider takes for an answer."""
SECONDS = 3.0
"""For so long the lane's work lasts if nothing happens."""
GOAL = 40.0
"""Seconds after which nothing of a dead worker waits."""
WAITING = {Cell.QUEUED, Cell.CLAIMED, Cell.RETRY}


@dataclass(frozen=True, slots=True)
class Kill:
    """What came of one: leases lost, messages unknown in each, those never called, and seconds until none waited."""

    lost: list[int]
    uncalled: int
    seconds: float


def kill(rate: int, seed: int) -> Kill:  # noqa: C901 - who acts in it, one after the other
    """Kill one worker while both have work; the other goes on, and a new one comes."""
    rng = random.Random(seed)  # noqa: S311 - moments
    world = World(replace(credential("one", rate), workers=WORKERS), seed=seed)
    world.providers["one"].latency = LATENCY
    world.slow_down(0.004, 0.008)
    size = max(1, min(500, round(rate * SECONDS / (WORKERS * LEASES))))
    for _ in range(max(WORKERS * LEASES, round(rate * SECONDS / size))):
        world.accept(size)
    clock = world.clock
    tat: dict[str, int] = {}
    died = clock.now() + rng.uniform(0.5, 0.8 * SECONDS)
    end = clock.now() + 200
    over: list[float] = []

    def waits() -> bool:
        return any(WAITING & {x.cell(i)[0] for i in range(len(x.cells))} for x in world.stores.ledgers.items.values())  # type: ignore[attr-defined]

    def serve(dies: float, begins: float) -> Callable[[], None]:
        life = Life(clock, 0.0, dies, [])
        hints = world.pacer.hints  # type: ignore[attr-defined]
        sender = world.sender("one", clock=life, pacer=FakePacer(life, world.tap, tat, hints=hints), pool=life.pool)

        def lease() -> None:
            clock.sleep(max(0.0, begins - clock.now()))
            try:
                while clock.now() < min(dies, end) and not over:
                    if not world.send("one", sender):
                        clock.sleep(0.25)
            except Crash:
                return

        return lease

    def look() -> None:
        clock.sleep(rng.uniform(0, LOOK))
        for n in count():
            if clock.now() >= end or over:
                return
            world.expired.look()
            if n % SWEEP == 0:
                world.sweep()
            clock.sleep(LOOK)

    def watch() -> None:
        clock.sleep(died - clock.now())
        while clock.now() < end and waits():
            clock.sleep(0.25)
        over.append(clock.now())

    first, second, third = serve(died, 0), serve(end, 0), serve(end, died + 1)
    clock.run(first, first, second, second, third, third, look, watch)
    world.check()
    lost: list[int] = []
    uncalled = 0
    taken = {(x.ref.job, x.ref.chunk, x.ref.index) for x in world.oracle.taken}
    for job in world.jobs:
        windows, _ = world.records.details(job, 0)
        for found in ([e.index for e in w.entries if e.code == "worker_lost"] for w in windows):
            lost += [len(found)] if found else []
            uncalled += sum((job, 0, i) not in taken for i in found)
    return Kill(lost, uncalled, over[0] - died)


def main() -> int:
    """Print the table; 1 if a lease leaves more than a window and calls under way, or messages wait for too long."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    wrong = 0
    sys.stdout.write("rate window kills leases lost unknown most a lease never called   went on: p50    p95    most\n")
    for rate in (20, 200, 2000):
        kills = [kill(rate, seed) for seed in range(options.kills)]
        lost = [n for k in kills for n in k.lost]
        waits = sorted(k.seconds for k in kills)
        window, most = pace(rate, 1).window, max(lost, default=0)
        p50, p95 = (waits[-(-len(waits) * share // 100) - 1] for share in (50, 95))
        wrong += most > window + rate * LATENCY or waits[-1] > GOAL
        sys.stdout.write(
            f"{rate:4} {window:6} {len(kills):5} {len(lost):11} {sum(lost):7} {most:12} "
            f"{sum(k.uncalled for k in kills):12} {p50:14.1f} s {p95:5.1f} s {waits[-1]:5.1f} s\n"
        )
        sys.stdout.flush()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
