"""Who waits for whom, in fake time: several accounts on one lane, with Lambda's event sources as they are.

`python -m tests.engine.fairness` prints how long a single mail waits behind others' bulk, and how two accounts share a
credential; `make bench` shows two of these figures. An event source runs so many workers side by side; each takes up
to two pointers, and no more until both have ended.
"""

import json
import random
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from shared.domain.jobs.job import Job
from shared.engine.lane.group import GroupSender
from shared.engine.lane.send import LEASES
from tests.fakes.clock import FakePool
from tests.fakes.queues import FakePacer, Message, Order, fairest
from tests.fakes.world import INVOCATION, World, credential

LATENCY: Final = 0.1
"""Seconds of a provider's call."""
STORE: Final = (0.003, 0.008)
"""Seconds of a call to a store."""
POLL: Final = 0.05
"""Seconds between two looks at an empty queue."""
SETTLED: Final = 10.0
"""Seconds after which shares are measured."""
BULK, SINGLE, OTHER = "acc_bulk", "acc_single", "acc_other"


def whim(seed: int) -> Order:
    """Return a queue's order that is none."""
    rng = random.Random(seed)  # noqa: S311 - whims

    def choose(due: list[Message], _in_flight: list[Message]) -> Message:
        return rng.choice(due)

    return choose


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run showed.

    Attributes:
        waits: seconds from acceptance to the provider's call, of each single mail.
        per_second: messages a second of all accounts, once the lane was in full swing.
        shares: account → its part of them.
    """

    waits: Sequence[float]
    per_second: float
    shares: Mapping[str, float]

    @property
    def p95(self) -> float:
        """The wait that one single mail in twenty exceeds."""
        return statistics.quantiles(self.waits, n=20)[-1]


class Lane:
    """One lane and its workers.

    Args:
        rate: of the credential.
        workers: for large jobs, and as many for small ones.
        latency: seconds of a provider's call.
        order: of pointers that are due.
        seed: for whims.
    """

    def __init__(
        self, rate: float, *, workers: int = 2, latency: float = LATENCY, order: Order = fairest, seed: int = 0
    ) -> None:
        self.world = World(replace(credential("one", rate), workers=workers), seed=seed)
        self.world.providers["one"].latency = latency
        self.world.lanes["one"].order = order
        self.world.slow_down(*STORE)
        self._clock = self.world.clock
        self._tat: dict[str, int] = {}
        self._rng = random.Random(seed)  # noqa: S311 - arrivals
        self._owners = 0
        self._singles: list[Job] = []

    def accept(self, account: str, size: int, jobs: int = 1) -> None:
        """Accept an account's batches."""
        for _ in range(jobs):
            self.world.accept(size, account=account)

    def run(self, seconds: float, *, every: float = 0.0, beside: Sequence[Callable[[], None]] = ()) -> Seen:
        """Let the workers serve the lane, and one account send a single mail now and then, `every` seconds or so.

        Args:
            seconds: of the run.
            every: 0: the account sends none.
            beside: what else goes on at the same time.
        """
        declared, begun = self.world.settings.credential("one"), self._clock.now()
        end = begun + seconds
        work: list[Callable[[], None]] = [partial(self._serve, end, number=n) for n in range(declared.workers)]
        for n in range(declared.express_workers):
            sender = self._sender()
            work += [partial(self._serve_small, end, sender, number=n) for _ in range(declared.groups)]
        if every:
            work.append(lambda: self._send_singles(begun + seconds - SETTLED, every))
        self._clock.run(*work, *beside)
        taken = self.world.oracle.taken
        at = {x.ref.job: x.at for x in taken}
        waits = [at.get(job.id, end) - job.created_at / 1000 for job in self._singles]
        whose = {job: found.account for job in self.world.jobs if (found := self.world.records.job(job)) is not None}
        counted = Counter(whose[x.ref.job] for x in taken if begun + SETTLED < x.at <= end)
        whole = counted.total()
        return Seen(waits, whole / (seconds - SETTLED), {who: n / whole for who, n in counted.items()})

    def _send_singles(self, end: float, every: float) -> None:
        while True:
            self._clock.sleep(self._rng.uniform(0, 2 * every))
            if self._clock.now() > end:
                return
            self._singles.append(self.world.accept(1, account=SINGLE))

    def _sender(self) -> GroupSender:
        pacer = FakePacer(self._clock, self.world.tap, self._tat)
        return self.world.sender("one", pacer=pacer, breaker_cache=self.world.process(), pool=FakePool)

    def _serve_small(self, end: float, sender: GroupSender, *, number: int) -> None:
        """Be one of the groups side by side that a worker for small jobs serves."""
        self._clock.sleep(0.013 * number)
        while self._clock.now() < end:
            if not self.world.send_together("one", sender):
                self._clock.sleep(POLL)

    def _serve(self, end: float, *, number: int) -> None:
        """Be one of an event source's workers for large jobs: a process that lives as long as the run."""
        queue, sender = self.world.lanes["one"], self._sender()

        def work(message: Message, deadline: float) -> None:
            where = json.loads(message.body)
            self._owners += 1
            sender.work(where["job"], where["chunk"], owner=f"owner-{self._owners}", deadline=deadline)

        self._clock.sleep(0.013 * number)
        while self._clock.now() < end:
            taken = [m for m in (queue.receive(express=False) for _ in range(LEASES)) if m is not None]
            if not taken:
                self._clock.sleep(POLL)
                continue
            deadline = self._clock.now() + INVOCATION
            with FakePool(LEASES) as pool:
                for task in [pool.submit(work, m, deadline) for m in taken]:
                    task.result()
            for m in taken:
                queue.delete(m)


def behind_bulk(
    rate: float, batches: int, *, seconds: float, every: float = 4.0, order: Order = fairest, seed: int = 0
) -> Seen:
    """Let one account send batches of 5,000, and another a mail now and then."""
    lane = Lane(rate, order=order, seed=seed)
    lane.accept(BULK, 5000, batches)
    return lane.run(seconds, every=every)


def shared(rate: float, *, seconds: float, sizes: tuple[int, int] = (5000, 5000)) -> Seen:
    """Let two accounts have batches of these sizes waiting, more than can be sent."""
    lane = Lane(rate)
    for account, size in zip((BULK, OTHER), sizes, strict=True):
        lane.accept(account, size, -(-int(rate * (seconds + INVOCATION)) // size))
    return lane.run(seconds)


def main() -> int:
    """Print what single mails wait for, and who gets how much."""
    for rate, batches, every, seconds in ((14, 1, 4, 300), (14, 1, 0.3, 120), (100, 3, 4, 140), (100, 3, 0.3, 60)):
        for name, order in (("fewest first", fairest), ("any order", whim(1))):
            seen = behind_bulk(rate, batches, seconds=seconds, every=every, order=order)
            sys.stdout.write(
                f"{batches} x 5,000 at {rate}/s, {name}; {len(seen.waits)} single mails, one in {every} s: p50 "
                f"{statistics.median(seen.waits):.1f} s, p95 {seen.p95:.1f} s, longest {max(seen.waits):.1f} s; "
                f"{seen.per_second:.2f}/s in all\n"
            )
            sys.stdout.flush()
    for rate in (14, 100):
        for sizes in ((5000, 5000), (5000, 300), (5000, 10), (5000, 1)):
            seen = shared(rate, seconds=60, sizes=sizes)
            parts = ", ".join(f"{seen.shares[who]:.0%}" for who in (BULK, OTHER))
            sys.stdout.write(f"batches of {sizes} of two accounts at {rate}/s: {parts}; {seen.per_second:.2f}/s\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
