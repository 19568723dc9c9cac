"""Promise 2 over its whole grid, in fake time: rates, sizes of calls, and what befalls the workers.

`python -m tests.engine.pace` (`make pace`) prints for each cell the most recipients that any second held, and the
average. Workers are processes of two leases each, with a clock of their own; they freeze, die and start anew, and what
they had learnt and reserved is lost with them. Work never runs out, so that whatever is not sent is the pacer's loss.
"""

import math
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from typing import Any, Final, TypeVar

from shared.contracts import Credential
from shared.domain.jobs.chunks import chunk_size
from shared.domain.lanes.pacing import HORIZON, pace
from shared.domain.lanes.switches import AS_DECLARED, Switches
from shared.engine.lane.send import LEASES, Sender
from shared.engine.pool import Pending
from tests.engine.measuring import WORKERS, worst_second
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.faults import Crash
from tests.fakes.queues import FakePacer
from tests.fakes.world import World, credential

T = TypeVar("T")
RATES: Final = (1, 10, 14, 150, 1000)
SKEW: Final = 0.005
GOAL: Final = 0.93
"""The share of the rate that the average must reach where nothing is lost by force."""
PERIOD: Final = 7.0
"""Seconds after which operators set another rate."""
SETTLED: Final = HORIZON + 1.2
"""Seconds after which nothing is sent in slots of an older rate: they were 2 s ahead, and a window lasts a second."""
SHARES: Final = (0.5, 0.2, 10.0, 0.0)
"""Of the declared rate, what operators set in turns; 0: none but the declared one."""
SLOTS: Final = 8
"""Slots of the lowest of these rates for which one is kept at the least, so that its average can be measured."""
MANY: Final = 1000
"""Recipients that a provider takes in one call, where calls carry as many as they may."""


class Calls(StrEnum):
    """How many recipients the provider calls carry."""

    ONE = "one"
    MOST = "most"
    MIXED = "mixed"
    """Batches of all sizes, some under a lower rate of their own."""
    CHANGING = "changing"
    """And the operator's bound on a call differs from worker to worker, as while a new version is rolled out."""
    SWITCHED = "switched"
    """And operators set another present rate again and again, be it above the declared one."""


class Trouble(StrEnum):
    """What befalls the workers."""

    NONE = "none"
    SKEW = "skew"
    """Their clocks differ by up to twice SKEW."""
    SLOW = "slow"
    """Every call to a store takes its time."""
    STALLS = "stalls"
    """A whole process stands still now and then, up to 0.6 s."""
    RESTARTS = "restarts"
    """A process dies, in a window or between two, and a new one takes its place."""
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Case:
    """One cell of the grid; `seconds` are measured."""

    rate: int
    calls: Calls
    trouble: Trouble
    seconds: float
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What a run showed.

    Attributes:
        worst: the most recipients in any closed second.
        over: the most by which one exceeded the present rate, rounded up to a whole message, once what was reserved
            before it was set had gone; at most 0 is due.
        average: recipients a second; one whose job has a lower rate counts for as many as its slot could have held,
            and where the present rate is lower than the declared one, so much more.
        excused: recipients a second that could not go out since their slots were reserved by a worker that then died
            or stood still: at most one window for each of its leases.
        slowest: of the jobs with a rate of their own, the most that one exceeded it by in any second; at most 0 is due.
    """

    worst: int
    average: float
    excused: float
    slowest: int
    over: int = 0


class Life:
    """One process's clock: off by some milliseconds, standing still at times, and dead from an instant on."""

    def __init__(self, clock: FakeClock, offset: float, dies: float, freezes: list[tuple[float, float]]) -> None:
        self.dies = dies
        self._clock = clock
        self._offset = offset
        self._freezes = freezes

    def now(self) -> float:
        """Return the process's time."""
        if self._clock.now() >= self.dies:
            raise Crash
        return self._clock.now() + self._offset

    def sleep(self, seconds: float) -> None:
        """Wait, and longer if the process stands still then."""
        self._clock.sleep(seconds)
        self.thaw()

    def thaw(self) -> None:
        """Wait until the process stands still no more; what comes next is late."""
        here = self._clock.now()
        for start, end in self._freezes:
            if start <= here < end:
                self._clock.sleep(min(end, self.dies) - here)

    def pool(self, size: int) -> "LivingPool":
        """Return a pool of this process's threads."""
        return LivingPool(self, size)


class LivingPool(FakePool):
    """Threads that start late when their process stands still."""

    def __init__(self, life: Life, size: int) -> None:
        super().__init__(size)
        self._life = life

    def submit(self, fn: Callable[..., T], /, *args: Any) -> Pending[T]:
        """Begin a call."""

        def start(*args: Any) -> T:
            _mine.set(self._life)
            self._life.thaw()
            return fn(*args)

        return super().submit(start, *args)


_mine: ContextVar[Life | None] = ContextVar("_mine", default=None)
"""The process that an actor belongs to."""


def stalling(delay: Callable[[], None]) -> Callable[[], None]:
    """Return what a call to a store waits for: the network, and its own process."""

    def wait() -> None:
        delay()
        life = _mine.get()
        if life is not None:
            life.thaw()

    return wait


class Operators:
    """Whoever sets the present rate of lane `one`.

    Attributes:
        switches: as the workers' pacers are told.
        spans: from when, until when, and at which rate all slots in use were reserved.
    """

    def __init__(self, clock: FakeClock, case: Case) -> None:
        self.switches: dict[str, Switches] = {}
        self.spans: list[tuple[float, float, float]] = []
        self._clock = clock
        self._case = case

    def move(self, end: float) -> None:
        """Set another rate every `PERIOD` seconds until the end; after more where slots last for more than a second.

        A rate that is raised counts from the end of the last slot of the one before.
        """
        rng = random.Random(self._case.seed)  # noqa: S311 - whims
        rate = float(self._case.rate)
        slot = 1 / (rate * min(x for x in SHARES if x))
        period, settled = (PERIOD, SETTLED) if slot <= 1 else (SLOTS * slot, SETTLED + slot)
        while (begun := self._clock.now()) + period < end:
            present = rate * rng.choice([x for x in SHARES if rate * x != self._present()])
            self.switches["one"] = Switches(rate=present)
            self._clock.sleep(period)
            self.spans.append((begun + settled, begun + period, Switches(rate=present).within(rate)))

    def _present(self) -> float:
        return self.switches.get("one", AS_DECLARED).rate


class Worker:
    """A process that is started anew whenever it has died."""

    def __init__(
        self, world: World, case: Case, number: int, tat: dict[str, int], operators: Operators, end: float
    ) -> None:
        self._world = world
        self._case = case
        self._tat = tat
        self._switches = operators.switches
        self._end = end
        self._rng = random.Random(case.seed * 1000 + number)  # noqa: S311 - whims
        skewed = case.trouble in (Trouble.SKEW, Trouble.ALL)
        self._offset = SKEW * (2 * number / (WORKERS - 1) - 1) if skewed else 0.0
        self._declared = self._declare(number)
        self.troubles = 0
        self._start()

    def _declare(self, number: int) -> Credential:
        declared = self._world.settings.credential("one")
        if self._case.calls is Calls.CHANGING:
            return replace(declared, per_call=(0, 1, 7, 0)[number % 4])
        return declared

    def _start(self) -> None:
        clock = self._world.clock
        dies, freezes = self._end, []
        whole = self._case.seconds
        if self._case.trouble in (Trouble.RESTARTS, Trouble.ALL):
            dies = min(dies, clock.now() + whole * self._rng.uniform(0.25, 0.75))
        if self._case.trouble in (Trouble.STALLS, Trouble.ALL):
            start = clock.now()
            while (start := start + whole * self._rng.uniform(0.25, 0.75)) < dies:
                freezes.append((start, start + self._rng.choice([0.004, 0.009, 0.012, 0.1, 0.6])))
        self.troubles += len(freezes) + (dies < self._end)
        self.life = Life(clock, self._offset, dies, freezes)
        self.sender: Sender = self._world.sender(
            "one",
            clock=self.life,
            pacer=FakePacer(self.life, self._world.tap, self._tat, self._switches),
            pool=self.life.pool,
            declared=self._declared,
        )

    def serve(self, delay: float) -> None:
        """Serve the lane, as one of the process's leases, until the end."""
        clock = self._world.clock
        clock.sleep(delay)
        while clock.now() < self._end:
            life = self.life
            _mine.set(life)
            try:
                if not self._world.send("one", self.sender):
                    clock.sleep(0.25)
            except Crash:
                clock.sleep(max(0.0, life.dies - clock.now()) + 0.2)
                if life is self.life:
                    self._start()


def run(case: Case) -> Result:
    """Run one cell."""
    rng = random.Random(case.seed)  # noqa: S311 - sizes
    declared = replace(credential("one", case.rate), workers=WORKERS)
    world = World(declared, seed=case.seed, provider_limit=1 if case.calls is Calls.ONE else MANY)
    own = dict(_jobs(world, case, rng))
    if case.trouble in (Trouble.SLOW, Trouble.ALL):
        world.slow_down(0.001, 0.012)
    world.tap.delay = stalling(world.tap.delay)
    begun = world.clock.now()
    tat: dict[str, int] = {}
    operators = Operators(world.clock, case)
    end = begun + case.seconds + 2
    workers = [Worker(world, case, n, tat, operators, end) for n in range(WORKERS)]
    leases: list[Callable[[], None]] = [
        lambda w=w, n=n: w.serve(0.0137 * n)  # type: ignore[misc]
        for n, w in enumerate(workers * LEASES)
    ]
    if case.calls is Calls.SWITCHED:
        leases.append(lambda: operators.move(end))
    world.clock.run(*leases)
    world.check()
    return _result(case, world, own, sum(w.troubles for w in workers), operators.spans)


def _jobs(world: World, case: Case, rng: random.Random) -> Iterator[tuple[str, float]]:
    """Store more work than can be sent; yields job → its own rate."""
    spare = (WORKERS * LEASES + 2 * WORKERS * case.seconds / 4) * chunk_size(10**6, 1, case.rate)
    wanted = 1.2 * case.rate * (case.seconds + 2) + spare
    if case.calls in (Calls.ONE, Calls.MOST):
        yield world.accept(round(wanted)).id, case.rate
        return
    sizes = [s for s in (1, 2, 3, 7, 19, 43, 60, 111, 230, 487) if s <= 30 * case.rate]
    while wanted > 0:
        size = rng.choice(sizes)
        job = world.accept(size)
        rate = case.rate / rng.choice([2, 3]) if rng.random() < 0.15 else float(case.rate)
        world.stores.records.jobs[job.id] = replace(job, rate=rate)  # type: ignore[attr-defined]
        wanted -= size
        yield job.id, rate


def _result(
    case: Case, world: World, own: dict[str, float], troubles: int, spans: list[tuple[float, float, float]]
) -> Result:
    calls = world.oracle.calls
    first = min(t for t, _, _ in calls)
    if not spans:
        spans = [(first, first + case.seconds, float(case.rate))]
    share, worst = 0.0, []
    for start, end, rate in spans:
        share += sum(1 / min(own[x.ref.job], rate) for x in world.oracle.taken if start < x.at <= end)
        worst.append(worst_second(sorted((t, n) for t, _, n in calls if start < t <= end)) - math.ceil(rate))
    measured = sum(end - start for start, end, _ in spans)
    window = pace(case.rate, MANY).window
    over = [-case.rate]
    for job, rate in own.items():
        if rate < case.rate:
            mine = sorted((x.at, 1) for x in world.oracle.taken if x.ref.job == job)
            over.append(worst_second(mine) - max(1, int(rate)))
    return Result(
        worst=worst_second(sorted((t, n) for t, _, n in calls)),
        average=case.rate * share / measured,
        excused=troubles * LEASES * window / measured,
        slowest=max(over),
        over=max(worst),
    )


def cases(seconds: Callable[[int], float], seeds: int = 1) -> list[Case]:
    """Return the whole grid; `seconds`: how long to measure at a rate."""
    return [Case(r, c, t, seconds(r), s) for r, c, t, s in product(RATES, Calls, Trouble, range(seeds))]


def long(rate: int) -> float:
    """Return the seconds that `make pace` measures at a rate."""
    if rate == 1:
        return 600
    return 120 if rate < 100 else 60 if rate < 1000 else 30


def verdict(case: Case, result: Result) -> str:
    """Return what is wrong with a result; empty if it keeps the promise."""
    wrong = []
    if result.worst > case.rate:
        wrong.append(f"{result.worst} in a second")
    if result.over > 0:
        wrong.append(f"{result.over} above the present rate")
    if result.slowest > 0:
        wrong.append(f"a job exceeds its own rate by {result.slowest}")
    if result.average + result.excused < GOAL * case.rate:
        wrong.append(f"{result.average / case.rate:.3f} of the rate")
    return ", ".join(wrong)


def main() -> int:
    """Print the grid; 1 if the promise is not kept somewhere."""
    begun = time.monotonic()
    sys.stdout.write("    R  calls     trouble    worst second   average/R\n")
    failed = done = 0
    for case in cases(long):
        result = run(case)
        wrong = verdict(case, result)
        failed += bool(wrong)
        done += 1
        lost = f" ({result.excused / case.rate:.3f} may be lost)" if result.excused else ""
        sys.stdout.write(
            f"{case.rate:5}  {case.calls:8}  {case.trouble:9}  {result.worst:12}   {result.average / case.rate:9.3f}"
            f"{lost}{'  FAILED: ' + wrong if wrong else ''}\n"
        )
        sys.stdout.flush()
    sys.stdout.write(f"{done} cells, {failed} failed, {time.monotonic() - begun:.0f} s\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
