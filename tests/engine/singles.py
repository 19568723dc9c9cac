"""Single messages past calls that hang, in fake time: how long each waits, also beside another account's bulk.

`python -m tests.engine.singles` runs an hour. The express workers are modelled as Lambda and `functions/dispatch/send`
run them: an event source gives each a group of pointers, and an invocation ends when all its groups have.
"""

import argparse
import random
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import Outcome, Unknown
from shared.engine.lane.access import CALL_TIMEOUT
from shared.engine.lane.group import GroupSender
from shared.ports import Target
from tests.engine.fairness import LATENCY, POLL, Lane
from tests.fakes.clock import FakePool
from tests.fakes.provider import FakeProvider
from tests.fakes.queues import Message, Order, fairest, first
from tests.fakes.world import INVOCATION

RATE: Final = 150.0
PER_SECOND: Final = 100.0
POSTERS: Final = 20
"""Clients that post side by side."""
HANGS: Final = 0.01
"""Of the provider's calls."""
BULK, SINGLE = "acc_bulk", "acc_single"
BATCH: Final = 5000
STEP: Final = 0.02
"""Seconds between two looks of an invocation at its groups, and at the queue while it listens."""


class HangingProvider(FakeProvider):
    """A provider of whose calls some get no answer in time."""

    rng = random.Random(1)  # noqa: S311 - which ones

    def send(self, content: Content, targets: Sequence[Target], *, deadline: float) -> list[Outcome]:
        if self.rng.random() >= HANGS:
            return super().send(content, targets, deadline=deadline)
        self._take(targets, self._clock.now())
        self._clock.sleep(CALL_TIMEOUT)
        return [Unknown("read_timeout") for _ in targets]


@dataclass
class _Invocation:
    """An invocation of a worker for small jobs.

    Attributes:
        listens: whether it listens for other pointers while it only waits for slow answers.
        active: groups that wait for more than slow answers; `under_way`: all.
        more: whether to receive again.
    """

    lane: Lane
    sender: GroupSender
    pool: Any
    listens: bool
    active: int = 0
    under_way: int = 0
    more: bool = False
    groups: list[Any] = field(default_factory=list)

    def begin(self, messages: Sequence[Message]) -> None:
        """Begin a group."""
        self.active, self.under_way = self.active + 1, self.under_way + 1
        self.more = self._is_full(messages)
        self.groups.append(self.pool.submit(self._serve, messages))

    def go_on(self, until: float) -> None:
        """Serve what is received meanwhile, to the end of all groups."""
        world, most = self.lane.world, self.lane.world.settings.credential("one").groups
        while self.under_way:
            now = world.clock.now()
            listens = self.listens and not self.active
            if (self.more or listens) and self.active < most and now < until:
                self.more = False
                found = world.receive_together("one")
                if found:
                    self.begin(found)
                    continue
            world.clock.sleep(STEP)

    def _is_full(self, messages: Sequence[Message]) -> bool:
        return len(messages) >= self.lane.world.settings.credential("one").group

    def _serve(self, messages: Sequence[Message]) -> None:
        spared = False

        def spare() -> None:
            nonlocal spared
            self.active -= not spared
            self.more = spared = True

        self.lane.world.serve_together("one", messages, self.sender, spare=spare)
        self.under_way -= 1
        self.active -= not spared
        self.more |= self._is_full(messages)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run showed.

    Attributes:
        waits: seconds from acceptance to the provider's call of each single message.
        unsent: single messages without a call.
        bulk: messages a second of bulk.
        worst: calls of the worst second.
    """

    waits: Sequence[float]
    unsent: int
    bulk: float
    worst: int

    @property
    def p95(self) -> float:
        """The wait that one message in twenty exceeds."""
        return statistics.quantiles(self.waits, n=20)[-1]


class Singles(Lane):
    """A lane of 150 a second whose express workers are as on AWS.

    Args:
        per_second: single messages that are accepted a second.
        listens: whether an invocation listens for other pointers while it only waits for slow answers.
        bulk: whether another account has batches waiting all the time.
    """

    def __init__(self, per_second: float = PER_SECOND, *, listens: bool = True, bulk: bool = False) -> None:
        self.per_second = per_second
        order: Order = fairest if bulk else first
        super().__init__(RATE, latency=LATENCY, order=order)
        self._listens = listens
        world = self.world
        world.providers["one"] = HangingProvider(world.clock, world.oracle, name="one", tap=world.tap)
        world.providers["one"].latency = LATENCY
        self.bulk = bulk

    def _serve_small(self, end: float, sender: GroupSender, *, number: int) -> None:
        """Be one of the event source's workers for small jobs; only one of those that would be groups."""
        if number:
            return
        clock = self.world.clock
        while clock.now() < end:
            found = self.world.receive_together("one")
            if not found:
                clock.sleep(POLL)
                continue
            with FakePool(1000) as pool:
                invocation = _Invocation(self, sender, pool, self._listens)
                invocation.begin(found)
                invocation.go_on(clock.now() + INVOCATION / 2)

    def prove(self, seconds: float) -> Seen:
        """Accept single messages for so long, and let the workers serve them."""
        clock, begun = self.world.clock, self.world.clock.now()
        accepted: dict[str, float] = {}
        if self.bulk:
            self.accept(BULK, BATCH, 1 + round(seconds * RATE / BATCH))

        def post(number: int) -> None:
            for n in range(number, round(seconds * self.per_second), POSTERS):
                clock.sleep(max(0.0, begun + n / self.per_second - clock.now()))
                accepted[self.world.accept(1, account=SINGLE).id] = clock.now()

        self.run(seconds + 2 * CALL_TIMEOUT, beside=[partial(post, n) for n in range(POSTERS)])
        at = {x.ref.job: x.at for x in self.world.oracle.taken}
        waits = [at[job] - since for job, since in accepted.items() if job in at]
        bulk = sum(x.ref.job not in accepted and x.at < begun + seconds for x in self.world.oracle.taken)
        by_second = Counter(int(x.at) for x in self.world.oracle.taken)
        return Seen(waits, len(accepted) - len(waits), bulk / seconds, max(by_second.values()))


def main() -> int:
    """Print how long single messages wait."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.singles", description=__doc__)
    runs: dict[str, Callable[[], Singles]] = {
        "alone, without listening": partial(Singles, listens=False),
        "fewer, without listening": partial(Singles, 50.0, listens=False),
        "alone": Singles,
        "fewer": partial(Singles, 50.0),
        "beside bulk": partial(Singles, bulk=True),
    }
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--runs", nargs="+", choices=list(runs), default=list(runs))
    given = parser.parse_args()
    for name in given.runs:
        seen = runs[name]().prove(given.seconds)
        sys.stdout.write(
            f"{name}: {len(seen.waits)} single messages, p50 {statistics.median(seen.waits):.2f} s, p95 {seen.p95:.2f} "
            f"s, longest {max(seen.waits):.2f} s, {seen.unsent} without a call; bulk {seen.bulk:.1f} a second; worst "
            f"second {seen.worst}\n"
        )
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
