"""A storm in fake time: a provider fails in every way while workers die, old doubts wait, and others send beside it.

`python -m tests.engine.storm` prints a row for each seed. What is sent twice or lost ends it.
"""

import argparse
import random
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Final
from unittest.mock import patch
from uuid import UUID

from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Outcome, Rejected, Throttled, Unknown
from shared.domain.jobs.states import Cell, JobState
from shared.engine.lane import slots
from shared.engine.lane.access import CALL_TIMEOUT
from shared.engine.lane.send import LEASES, Sender
from shared.ports import Retriable
from tests.engine.pace import Life
from tests.engine.shaky import deploy, logged, shake
from tests.fakes.faults import Crash
from tests.fakes.provider import ResolvingProvider, Swallowed
from tests.fakes.queues import FakePacer
from tests.fakes.world import World, credential

RATE: Final = 150
WORKERS: Final = 2
LIFE: Final = 4.0
"""Seconds after which one of the workers dies."""
EXPRESS_LIFE: Final = 20.0
"""The same of those that serve single messages: they are seldom at work."""
REFUSED: Final = 0.03
FAILED: Final = 0.19
"""Shares of the calls that the provider refuses with 429, and that fail otherwise."""
QUICK: Final = 0.05
WAYS: Final[tuple[tuple[Outcome | Swallowed, float], ...]] = (
    (Swallowed(Unknown("connection_closed")), QUICK),
    (Unknown("http_502"), QUICK),
    (Rejected("http_503", permanent=False), QUICK),
    (Unknown("read_timeout"), CALL_TIMEOUT),
)
DOUBTS: Final = 1000
BESIDE: Final = 2.0
"""Seconds between two single messages of another account."""
LOOK: Final = 15.0
SWEEP: Final = 60.0
LATEST: Final = 900.0
LAST: Final = 0.05
"""Share of the messages that may wait in the end, when few chunks are left: most are held by dead workers."""
SHARE: Final = 0.75
"""Of the rate, what is used in any storm."""


@dataclass(frozen=True, slots=True)
class Weathered:
    """What came of a storm.

    Attributes:
        seconds: until all messages but LAST were called once.
        logged: seconds until both jobs were LOGGED.
        share: calls of the first `seconds`, as a share of what the rate allows.
        unknown: messages of unknown fate in the end.
        single: seconds from acceptance to the call of single messages beside it: the 95th of a hundred.
    """

    seconds: float
    logged: float
    share: float
    unknown: int
    single: float


class Storm:
    """One storm.

    Args:
        seed: draws what the provider does.
        messages: of each of the two jobs.
    """

    def __init__(self, seed: int, messages: int) -> None:
        self._rng = random.Random(seed)  # noqa: S311 - a provider's whims
        self._world = World(replace(credential("one", RATE), workers=WORKERS), provider=ResolvingProvider, seed=seed)
        self._clock = self._world.clock
        self._messages = messages
        self._began = 0.0
        self._over = False

    def weather(self) -> Weathered:
        """Run the storm to its end; the same seed is always the same storm, names of jobs and processes, too."""
        names = random.Random(self._rng.random())  # noqa: S311 - names
        with (
            patch("secrets.randbits", names.getrandbits),
            patch.object(slots, "uuid4", lambda: UUID(int=names.getrandbits(128))),
        ):
            return self._weather()

    def _weather(self) -> Weathered:
        self._doubt()
        self._world.slow_down(0.004, 0.008)
        self._world.providers["one"].before = self._whim
        self._began = self._clock.now()
        jobs = [self._world.accept(self._messages) for _ in range(2)]
        beside: list[Job] = []
        called: list[float] = []
        logged: list[float] = []

        def others() -> None:
            while not self._over:
                beside.append(self._world.accept(1, account="acc_000000000002"))
                self._clock.sleep(BESIDE)

        def watch() -> None:
            while not self._over:
                self._clock.sleep(0.5)
                if not called and sum(map(self._waiting, jobs)) <= len(jobs) * self._messages * LAST:
                    called.append(self._since())
                if all(self._world.job(job.id).state is JobState.LOGGED for job in jobs):
                    logged.append(self._since())
                self._over = bool(logged) or self._since() > LATEST

        workers = [partial(self._worker, n, express) for n in range(WORKERS) for express in (False, True)]
        self._clock.run(watch, others, self._keep, self._look, *workers)
        self._world.check()
        seconds = called[0] if called else LATEST
        waits = sorted(filter(None, map(self._waited, beside)))
        return Weathered(
            seconds=seconds,
            logged=logged[0] if logged else LATEST,
            share=sum(0 <= at - self._began < seconds for at, _, _ in self._world.oracle.calls) / (RATE * seconds),
            unknown=sum(self._world.states(job.id).count(Cell.UNKNOWN) for job in jobs),
            single=waits[len(waits) * 95 // 100 - 1],
        )

    def _since(self) -> float:
        return self._clock.now() - self._began

    def _waiting(self, job: Job) -> int:
        """Return how many messages were never called."""
        return sum(x.cells.count(int(Cell.QUEUED)) for x in self._world.ledgers.read_all(job.id))

    def _waited(self, job: Job) -> float | None:
        """Return the seconds until a single message was first called; None if it was not, or not taken."""
        at = min((t.at for t in self._world.oracle.of(job.id) if t.ref.attempt == 1), default=None)
        return None if at is None else at - job.created_at / 1000

    def _doubt(self) -> None:
        """Leave messages in doubt, as a run before did."""
        shake(self._world, "one", 0.3, WAYS[:1])
        self._world.accept(round(DOUBTS / 0.3))
        deploy(self._world, "one", until=lambda: logged(self._world))
        self._clock.sleep(120)
        self._world.sweep()

    def _whim(self, _targets: object) -> None:
        provider, drawn = self._world.providers["one"], self._rng.random()
        provider.answer, provider.latency = None, QUICK
        if drawn < REFUSED:
            provider.answer = Throttled(1)
        elif drawn < REFUSED + FAILED:
            provider.answer, provider.latency = self._rng.choice(WAYS)

    def _worker(self, n: int, express: bool) -> None:  # noqa: FBT001 - a kind of queue
        """Be a worker of the lane, and the one that comes when it dies: a process that knows nothing yet."""
        for turn in count(1):
            every = EXPRESS_LIFE if express else LIFE
            life = Life(self._clock, 0.0, self._began + every * (WORKERS * turn - n), [])
            sender = self._world.sender(
                "one",
                clock=life,
                pool=life.pool,
                pacer=FakePacer.beside(self._world.pacer),
                breaker_cache=self._world.process(),
            )
            for _ in range(LEASES):
                self._clock.begin(partial(self._lease, sender, life, express=express))
            self._clock.sleep(life.dies - self._clock.now())
            if self._over:
                return

    def _lease(self, sender: Sender, life: Life, *, express: bool) -> None:
        """Serve pointers, one after the other; beside one that waits for slow answers, another."""
        handed_on: list[bool] = []

        def spare() -> None:
            handed_on.append(True)
            self._clock.begin(partial(self._lease, sender, life, express=express))

        with suppress(Crash):
            while not handed_on and not self._over and self._clock.now() < life.dies:
                with suppress(Retriable):
                    if self._world.send("one", sender, express=express, spare=spare) is not None:
                        continue
                self._clock.sleep(0.05)

    def _keep(self) -> None:
        """Do what streams and schedules bring about."""
        swept = self._clock.now()
        while not self._over:
            with suppress(Retriable):
                while self._world.log() is not None:
                    pass
                self._world.plan()
                self._world.again()
                if self._clock.now() - swept >= SWEEP:
                    swept = self._clock.now()
                    self._world.sweep()
            self._clock.sleep(0.25)

    def _look(self) -> None:
        while not self._over:
            self._clock.sleep(LOOK)
            self._world.expired.look()


def main() -> int:
    """Print a row for each seed; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.storm", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--messages", type=int, default=8000, help="of each of two jobs")
    options = parser.parse_args()
    missed = 0
    sys.stdout.write("seed  95 % called  LOGGED  share of the rate  unknown  single p95\n")
    for seed in range(options.seeds):
        x = Storm(seed, options.messages).weather()
        missed += x.share < SHARE
        sys.stdout.write(
            f"{seed:4}  {x.seconds:9.1f} s  {x.logged:4.0f} s  {100 * x.share:15.0f} %  {x.unknown:7}"
            f"  {x.single:8.2f} s\n"
        )
        sys.stdout.flush()
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
