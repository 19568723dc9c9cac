"""Queues and slots in memory."""

import heapq
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf
from typing import Any

from shared.domain.lanes import lease_hints
from shared.domain.lanes.depth import QueueDepth
from shared.domain.lanes.lease_hints import LeaseHint
from shared.domain.lanes.pacing import AHEAD, LONGEST, MAX_HOLD, OWN_WAIT, UNNOTED, WRONG, Pace, Slots, own_clock
from shared.domain.lanes.quotas import NONE_UNUSED, UNBOUNDED, Headroom, Spend, Unused, book, given_back, room, stale
from shared.domain.lanes.refusals import NO_CALLS, RefusalTally
from shared.domain.lanes.switches import AS_DECLARED, NOT_LOWERED, Switches, ThrottledRate
from shared.ports import Clock, Retriable
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap

MAX_DELAY = 900
_following: ContextVar[int] = ContextVar("following", default=0)


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """A message that may be received from `due` (Unix seconds) on."""

    due: float
    number: int
    body: str = field(compare=False)
    group: str = field(compare=False)
    receives: int = field(default=0, compare=False)
    """How often it was received."""
    link: int = field(default=1, compare=False)
    """Its place in its chain, in which the function that one message starts sends the next."""
    express: bool = field(default=False, compare=False)


Order = Callable[[list[Message], list[Message]], Message]
"""Chooses which of the messages that are due, in order, comes next, by those in flight."""


def first(due: list[Message], _in_flight: list[Message]) -> Message:
    """Return the message that has waited the longest."""
    return due[0]


def fairest(due: list[Message], in_flight: list[Message]) -> Message:
    """Return the oldest message of the group of which the fewest are in flight, as a queue that is fair would."""
    busy = Counter(m.group for m in in_flight)
    return min(due, key=lambda m: (busy[m.group], m))


@contextmanager
def following(message: Message) -> Iterator[None]:
    """Do what a message asks for: what is sent meanwhile is the next link of its chain."""
    token = _following.set(message.link)
    try:
        yield
    finally:
        _following.reset(token)


class FakeQueue:
    """A standard queue: messages come in any order they are due, and stay until they are deleted; thread-safe.

    Attributes:
        order: of messages that are due.
    """

    def __init__(self, clock: FakeClock, tap: Tap | None = None) -> None:
        self.order: Order = first
        self.sent: list[Message] = []
        self.in_flight: list[Message] = []
        self.dead: list[Message] = []
        self._clock = clock
        self._tap = tap or Tap()
        self._waiting: list[Message] = []
        self._numbers = count()
        self._lock = threading.Lock()

    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "") -> None:
        self._send(bodies, delay, group, express=False)

    def _send(self, bodies: Sequence[str], delay: float, group: str, *, express: bool) -> None:
        if not 0 <= delay <= MAX_DELAY:
            raise ValueError(f"a queue delays by at most {MAX_DELAY} s")

        link = _following.get() + 1

        def put() -> None:
            with self._lock:
                for body in bodies:
                    message = Message(
                        self._clock.now() + delay, next(self._numbers), body, group, express=express, link=link
                    )
                    heapq.heappush(self._waiting, message)
                    self.sent.append(message)

        self._tap("queue.send", put)

    def is_empty(self) -> bool:
        """Return whether nothing waits or is in flight."""
        return not self._waiting and not self.in_flight

    # the receiving side, which belongs to the event source

    def receive(self, *, express: bool | None = None) -> Message | None:
        """Return a message that is due, now in flight; None if there is none. `express`: of one queue of a lane."""
        with self._lock:
            if not self._waiting or self._waiting[0].due > self._clock.now():
                return None
            if express is None and self.order is first:
                message = heapq.heappop(self._waiting)
            else:
                due = sorted(m for m in self._waiting if m.due <= self._clock.now() and express in (None, m.express))
                if not due:
                    return None
                message = self.order(due, [m for m in self.in_flight if express in (None, m.express)])
                self._waiting.remove(message)
                heapq.heapify(self._waiting)
            message = replace(message, receives=message.receives + 1)
            self.in_flight.append(message)
            return message

    def delete(self, message: Message) -> None:
        """Acknowledge a message."""
        with self._lock:
            self.in_flight.remove(message)

    def restore(self, message: Message, visible_at: float) -> None:
        """Give a message back; it is delivered again later."""
        with self._lock:
            self.in_flight.remove(message)
            heapq.heappush(self._waiting, replace(message, due=visible_at, number=next(self._numbers)))

    def bury(self, message: Message) -> None:
        """Give a message up: it is a dead letter."""
        with self._lock:
            self.in_flight.remove(message)
            self.dead.append(message)

    def lose(self) -> int:
        """Lose all that waits and is in flight, and return how many messages that were."""
        with self._lock:
            lost = len(self._waiting) + len(self.in_flight)
            self._waiting, self.in_flight = [], []
            return lost

    def drop(self, message: Message) -> None:
        """Lose a message that waits."""
        with self._lock:
            self._waiting.remove(message)
            heapq.heapify(self._waiting)

    @property
    def waiting(self) -> list[Message]:
        """The messages that wait, the next one first."""
        return sorted(self._waiting)


class FakeLane(FakeQueue):
    """Both queues of a lane, whose messages remember in which of them they are. Implements `ports.Lane`."""

    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "", express: bool = False) -> None:
        self._send(bodies, delay, group, express=express)

    def is_empty(self, *, express: bool | None = None) -> bool:
        """Return whether nothing waits or is in flight. `express`: in one of the queues."""
        return not any(express in (None, m.express) for m in (*self._waiting, *self.in_flight))

    def depth(self, *, express: bool) -> QueueDepth:
        def read() -> QueueDepth:
            there = [m for m in self._waiting if m.express == express]
            waiting = sum(m.due <= self._clock.now() for m in there)
            return QueueDepth(waiting, len(there) - waiting + sum(m.express == express for m in self.in_flight))

        return self._tap("queue.depth", read)


class _Nowhere(FakeLane):
    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "", express: bool = False) -> None:
        """Lose messages."""


class FakeLanes(dict[str, FakeLane]):
    """The lanes' queues, made when first asked for."""

    def __init__(self, clock: FakeClock, tap: Tap | None = None) -> None:
        super().__init__()
        self._clock = clock
        self._tap = tap
        self._gone: set[str] = set()

    def remove(self, credential: str) -> None:
        """Declare a credential no more: its queue goes with what is in it, and what is sent there is lost."""
        self._gone.add(credential)
        self[credential] = _Nowhere(self._clock)

    def __contains__(self, credential: object, /) -> bool:
        return credential not in self._gone

    def __missing__(self, credential: str) -> FakeLane:
        self[credential] = FakeLane(self._clock, self._tap)
        return self[credential]


class FakePacer:
    """Slots in memory, by the rule of the real pacer; thread-safe.

    Attributes:
        tat: credential → when its next slot may start, Unix microseconds; workers of one world share it. Under
            (credential, own clock) the same for the next window of a job with a rate of its own.
        switches: credential → what holds it back; shared likewise.
        writes: attempts to lower a rate, and those that did.
        judge: by whose clock AWS answers; None: it does not say.
        hints: (credential, worker) → where its lease was last seen; shared likewise.
        tallies: (credential, stretch of time) → calls that ended; shared likewise.
        quotas: credential → the counters of its quotas; shared likewise.
        full: credential → until when it is full, and the step; shared likewise.
    """

    def __init__(
        self,
        clock: Clock,
        tap: Tap | None = None,
        tat: dict[Any, int] | None = None,
        switches: dict[str, Switches] | None = None,
        hints: dict[tuple[str, str], LeaseHint] | None = None,
        judge: Clock | None = None,
        tallies: dict[tuple[str, str], RefusalTally] | None = None,
        *,
        quotas: dict[str, dict[str, int | str]] | None = None,
        full: dict[str, Headroom] | None = None,
    ) -> None:
        self.tat: dict[Any, int] = {} if tat is None else tat
        self.switches: dict[str, Switches] = {} if switches is None else switches
        self.hints: dict[tuple[str, str], LeaseHint] = {} if hints is None else hints
        self.tallies: dict[tuple[str, str], RefusalTally] = {} if tallies is None else tallies
        self.quotas: dict[str, dict[str, int | str]] = {} if quotas is None else quotas
        self.full: dict[str, Headroom] = {} if full is None else full
        self.writes = [0, 0]
        self._skew = 0.0
        self.judge = judge
        self._clock = clock
        self._tap = tap or Tap()
        self._lock = threading.Lock()

    def reserve(
        self,
        credential: str,
        k: int,
        pace: Pace,
        *,
        lead: float,
        until: float = inf,
        job: str = "",
        hint: LeaseHint | None = None,
        ended: RefusalTally = NO_CALLS,
        spend: Spend | None = None,
    ) -> Slots:
        own = (credential, own_clock(job)) if pace.period else None
        cost, turn = round(k * pace.spacing * 1_000_000), round(pace.turn(k) * 1_000_000)
        begun = self._clock.now()
        while True:
            asked = round((self._clock.now() + lead) * 1_000_000)
            horizon = asked + round(pace.ahead(self._clock.now() - begun) * 1_000_000)
            now = max(asked, pace.lowered.until * 1000)
            if now > horizon:
                if now / 1_000_000 > until:
                    return Slots(now / 1_000_000, pace.spacing, 0)
                self._wait((now - horizon) / 1_000_000, begun, credential, hint)
                continue
            first = self._tap(
                "pacer.reserve",
                lambda now=now, horizon=horizon: self._take(  # type: ignore[misc]
                    credential, now, horizon, cost, pace, own, turn, hint=hint, spend=spend
                ),
            )
            if self.judge is not None and abs(self._clock.now() - self.judge.now()) > WRONG:
                raise Retriable("the clock of this process is wrong")
            if isinstance(first, Switches) and first.lowered.until * 1000 > asked + round(
                (MAX_HOLD + AHEAD) * 1_000_000
            ):
                self.switches[credential] = replace(first, lowered=NOT_LOWERED)  # by a wrong clock
                continue
            if isinstance(first, Switches | Headroom):
                switches, left = (first, UNBOUNDED) if isinstance(first, Switches) else (None, first)
                return Slots(now / 1_000_000, pace.spacing, 0, switches, room=left)
            if first is not None:
                at, left, counters = first
                tally = self._count(credential, pace, ended)
                return Slots(at / 1_000_000, pace.spacing, k, tally=tally, room=left, counters=counters)
            if self._pull_back(credential, pace, own, asked):
                continue
            tat, mine = self.tat.get(credential, 0), self.tat.get(own, 0)
            mine = mine if mine > max(tat, now) else 0
            if max(tat, mine) / 1_000_000 > until or mine - now > OWN_WAIT * 1_000_000:
                return Slots(max(tat, mine) / 1_000_000, pace.spacing, 0)
            self._wait(max(tat - horizon, mine - now) / 1_000_000, begun, credential, hint)

    @classmethod
    def beside(cls, other: Any, clock: Clock | None = None, judge: Clock | None = None) -> "FakePacer":
        """Return the pacer of another process, which shares what is stored.

        Args:
            other: a pacer in memory.
            clock: of the process, if it has its own.
            judge: as of `FakePacer`.
        """
        assert isinstance(other, FakePacer)
        stored = other.tat, other.switches, other.hints
        return FakePacer(
            clock or other._clock, other._tap, *stored, judge, other.tallies, quotas=other.quotas, full=other.full
        )

    def lower(self, credential: str, lowered: ThrottledRate, past: ThrottledRate) -> ThrottledRate:
        def write() -> ThrottledRate:
            with self._lock:
                stored = self.switches.get(credential, AS_DECLARED)
                self.writes[0] += 1
                if stored.lowered.until > past.until:
                    return stored.lowered
                self.writes[1] += 1
                self.switches[credential] = replace(stored, lowered=lowered)
                return lowered

        return self._tap("pacer.lower", write)

    def skew(self) -> float:
        told, self._skew = self._skew, 0.0
        return told

    def _take(
        self,
        credential: str,
        now: int,
        horizon: int,
        cost: int,
        pace: Pace,
        own: tuple[str, str] | None,
        turn: int,
        *,
        hint: LeaseHint | None,
        spend: Spend | None,
    ) -> tuple[int, Headroom, tuple[str, ...]] | Switches | Headroom | None:
        with self._lock:
            found = self.switches.get(credential, AS_DECLARED)
            if not pace.agrees(found):
                return found
            tat = self.tat.get(credential, 0)
            first = max(tat, now)
            span = now / 1_000_000, (max(now, horizon) + cost) / 1_000_000 + pace.late
            stored = self.quotas.get(credential, {})
            booking = book(spend, *span, stored) if spend is not None else None
            if spend is not None:
                left = self._room(credential, spend, *span)
                if left.until > span[0] * 1000 or booking is None or not booking.agrees(stored):
                    if left.until > self.full.get(credential, UNBOUNDED).until:
                        self.full[credential] = Headroom(until=left.until)
                    return left
            if first > horizon or (own is not None and self.tat.get(own, 0) > first):
                return None
            self.tat[credential] = first + cost
            if hint is not None:
                self._note(credential, hint)
            if own is not None:
                self.tat[own] = first + turn
            if pace.recovered(now / 1_000_000):
                self.switches[credential] = replace(found, lowered=NOT_LOWERED)
            if spend is None or booking is None:
                return first, UNBOUNDED, ()
            kept = booking.applied(stored)
            self.quotas[credential] = {x: v for x, v in kept.items() if x not in stale(spend.quotas, kept, span[0])}
            left = self._room(credential, replace(spend, unused=NONE_UNUSED), *span)
            return first, left, booking.counters

    def _room(self, credential: str, spend: Spend, begin: float, end: float) -> Headroom:
        known, found = self.full.get(credential, UNBOUNDED), room(spend, begin, end, self.quotas.get(credential, {}))
        return replace(found, until=known.until, step=known.step) if found.until <= known.until else found

    def fill(self, credential: str, until: int, step: int) -> None:
        def write() -> None:
            if self.full.get(credential, UNBOUNDED).until < until:
                self.full[credential] = Headroom(until=until, step=step)

        self._tap("pacer.fill", write)

    def give_back(self, credential: str, unused: Unused) -> None:
        def write() -> None:
            with self._lock:
                stored = self.quotas.get(credential, {})
                for name, units in given_back(unused, stored).items():
                    stored[name] = int(stored[name]) - units
                known, now = self.full.get(credential, UNBOUNDED), round(self._clock.now() * 1000)
                if known.until > now and not known.step:
                    self.full[credential] = Headroom(until=now)

        self._tap("pacer.give_back", write)

    def room(self, credential: str, spend: Spend) -> Headroom:
        now = self._clock.now()
        return self._tap("pacer.room", lambda: self._room(credential, spend, now, now))

    def _count(self, credential: str, pace: Pace, ended: RefusalTally) -> RefusalTally:
        at, before = ((credential, x) for x in pace.stretches(self._clock.now()))
        with self._lock:
            self.tallies[at] = self.tallies.get(at, NO_CALLS) + ended
            return self.tallies[at] + self.tallies.get(before, NO_CALLS)

    def _pull_back(self, credential: str, pace: Pace, own: tuple[str, str] | None, now: int) -> bool:
        latest = max(now, pace.lowered.until * 1000) + round(pace.furthest * 1_000_000)
        bounds = {credential: latest, own: latest + round(pace.turn(LONGEST) * 1_000_000)}
        with self._lock:
            ahead = {x: self.tat[x] for x, most in bounds.items() if self.tat.get(x, 0) > most}
            for x, at in ahead.items():
                self._skew = max(self._skew, (at - now) / 1_000_000)
                self.tat[x] = now + round(pace.guard * 1_000_000)
        return bool(ahead)

    def _wait(self, seconds: float, begun: float, credential: str, hint: LeaseHint | None) -> None:
        """Wait for slots; a lease that waits long since it asked is noted before."""
        long = self._clock.now() - begun + seconds >= UNNOTED
        if long and hint is not None and self.hints.get((credential, hint.worker)) != hint:
            self._tap("pacer.note", lambda: self._note(credential, hint))
        self._clock.sleep(seconds)

    def _note(self, credential: str, hint: LeaseHint) -> None:
        self.hints[credential, hint.worker] = hint


class FakeHints:
    """What a pacer has noted."""

    def __init__(self, pacer: FakePacer, tap: Tap | None = None) -> None:
        self._hints = pacer.hints
        self._tap = tap or Tap()

    def read(self, credentials: Sequence[str]) -> list[tuple[str, LeaseHint]]:
        return self._tap(
            "hints.read",
            lambda: [
                (c, one)
                for (c, _), hint in sorted(self._hints.items(), key=lambda item: item[0])
                if c in credentials
                for one in lease_hints.read(hint.name, str(hint))
            ],
        )

    def forget(self, credential: str, hint: LeaseHint) -> None:
        def remove() -> None:
            if str(self._hints.get((credential, hint.worker))) == str(hint):
                del self._hints[credential, hint.worker]

        self._tap("hints.forget", remove)
