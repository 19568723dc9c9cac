"""Lambda and SQS in fake time, as far as they decide how long something waits: containers, processors, queues."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from shared.domain.lanes.depth import QueueDepth
from shared.domain.times import Seconds
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap
from tests.fakes.queues import FakeLane, FakeLanes, FakeQueue, Message

COLD_S: Final = 1.2
"""Seconds until a new container of 512 MB has made its clients (docs/performance.md has those measured)."""
KEPT_S: Final = 300.0
"""Seconds after which Lambda removes an idle container; it promises no such time."""
AGAIN_S: Final = 0.2
"""Seconds after which a request that found no room is made again."""


class Function:
    """A Lambda function.

    Args:
        most: invocations at once.
        cold: seconds that a new container takes to start.

    Attributes:
        billed: seconds of all invocations.
        invocations, starts: how many there were, and how many of them began in a new container.
        throttled: requests that found no room.
        highest: the most invocations at once.
    """

    def __init__(self, clock: FakeClock, most: int, *, cold: Seconds = COLD_S) -> None:
        self._clock = clock
        self._most = most
        self._cold = cold
        self._idle: list[Seconds] = []
        self._running = 0
        self.billed = 0.0
        self.invocations = self.starts = self.throttled = self.highest = 0

    @contextmanager
    def invocation(self) -> Iterator[None]:
        """Wait for room and a container, and be billed until the end."""
        while self._running >= self._most:
            self.throttled += 1
            self._clock.sleep(AGAIN_S)
        self._running += 1
        self.invocations += 1
        self.highest = max(self.highest, self._running)
        begun = self._clock.now()
        self._idle = [x for x in self._idle if begun - x < KEPT_S]
        if self._idle:
            self._idle.pop()
        else:
            self.starts += 1
            self._clock.sleep(self._cold)
        try:
            yield
        finally:
            self._running -= 1
            self._idle.append(self._clock.now())
            self.billed += self._clock.now() - begun


class Processor:
    """The processor of one container, which does one thing after the other."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._free = 0.0

    def use(self, seconds: Seconds) -> None:
        """Compute for so long, after all that was asked before."""
        self._free = max(self._clock.now(), self._free) + seconds
        self._clock.sleep(self._free - self._clock.now())


class Busy:
    """The seconds in which one container has at least one thing to do; Lambda bills these."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._doing = 0
        self._since = 0.0
        self.seconds = 0.0

    @contextmanager
    def doing(self) -> Iterator[None]:
        """Do something, beside what else is being done."""
        if not self._doing:
            self._since = self._clock.now()
        self._doing += 1
        try:
            yield
        finally:
            self._doing -= 1
            if not self._doing:
                self.seconds += self._clock.now() - self._since


class QuickLane(FakeLane):
    """Both queues of a lane, each in its order; a long queue costs no processor time of ours."""

    def __init__(self, clock: FakeClock, tap: Tap | None = None) -> None:
        super().__init__(clock, tap)
        self._of = {express: FakeQueue(clock) for express in (False, True)}
        self.requests = 0
        """Of senders of pointers."""

    def _send(self, bodies: Sequence[str], delay: float, group: str, *, express: bool) -> None:
        self.requests += 1
        self._of[express]._send(bodies, delay, group, express=express)  # noqa: SLF001 - one of its own parts

    def receive(self, *, express: bool | None = None) -> Message | None:
        """Return a message that is due, of one queue or of both."""
        ways = (True, False) if express is None else (express,)
        return next((m for x in ways if (m := self._of[x].receive()) is not None), None)

    def delete(self, message: Message) -> None:
        """Acknowledge a message."""
        self._of[message.express].delete(message)

    def restore(self, message: Message, visible_at: float) -> None:
        """Give a message back."""
        self._of[message.express].restore(message, visible_at)

    def bury(self, message: Message) -> None:
        """Give a message up."""
        self._of[message.express].bury(message)
        self.dead.append(message)

    def is_empty(self, *, express: bool | None = None) -> bool:
        """Return whether nothing waits or is in flight, in one queue or in both."""
        return all(q.is_empty() for x, q in self._of.items() if express in (None, x))

    def depth(self, *, express: bool) -> QueueDepth:
        """Return how much is in a queue."""
        queue = self._of[express]
        due = sum(m.due <= self._clock.now() for m in queue.waiting)
        return QueueDepth(due, len(queue.waiting) - due + len(queue.in_flight))


class QuickLanes(FakeLanes):
    """The lanes' queues."""

    def __missing__(self, credential: str) -> FakeLane:
        made = self[credential] = QuickLane(self._clock, self._tap)
        return made
