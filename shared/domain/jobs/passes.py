"""Passes: which credential a chunk goes to next, and when it ends (L4, L5). Pure, like the ledger's other rules.

A *pass* is one turn of a chunk at one credential; a *round* is one way around the route. Source: docs/protocol.md, L4.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from shared.domain.jobs.details import Detail, FeedbackDetail
from shared.domain.jobs.feedback import SOFT, ProviderEventKind
from shared.domain.jobs.ledger import Ledger, LedgerStatus, give_up, merge
from shared.domain.jobs.outcomes import CANNOT_CARRY, Entry, Kind
from shared.domain.jobs.states import MAX_ATTEMPTS, Cell
from shared.domain.times import Millis
from shared.frozen import dataclass

MAX_ROUNDS: Final = 160
"""Rounds after which a chunk that no credential takes is given up: 19 hours or more of waiting for breakers."""

THROTTLED: Final = 5
"""After so many leases in a row whose provider took nothing and asked to wait, the chunk tries another provider. A
limit that lasts so long does not end in seconds. Each such lease costs calls that send nothing."""
LONG_WAIT: Final = 300_000
"""Milliseconds; a provider that asks for a longer wait has used up its quota for now."""


@dataclass(frozen=True, slots=True)
class AttemptHistory:
    """The history of one message's attempts, from the details.

    Attributes:
        named: credentials that tried it.
        spent: those that took it and then failed it: they never get it again.
        failed_later: its last attempt was taken and failed later, so only credentials that never tried it may.
        barred: those whose adapter cannot carry it: they never get it again, and no other event changes that.
    """

    named: frozenset[str] = frozenset()
    spent: frozenset[str] = frozenset()
    failed_later: bool = False
    barred: frozenset[str] = frozenset()

    def open_to(self, route: Sequence[str], *, owner_asked: bool = False) -> frozenset[int]:
        """Return the places in the route that may still get the message.

        `owner_asked`: its owner wanted it sent again, so that a route that is spent begins anew.
        """
        able = frozenset(r for r, credential in enumerate(route) if credential not in self.barred)
        closed = self.named if self.failed_later else self.spent
        left = frozenset(r for r in able if route[r] not in closed)
        return left or (able if owner_asked and not self.failed_later else left)


NO_PAST: Final = AttemptHistory()
_FAILED_LATER: Final = SOFT | {ProviderEventKind.DEFERRED}
"""Words that can move a message on to another credential."""


def _named(windows: Iterable[Detail]) -> dict[int, set[str]]:
    """Return by recipient the credentials by which windows made attempts."""
    named: dict[int, set[str]] = {}
    for credential, index in ((w.credential, e.index) for w in windows for e in w.entries if e.attempt > 0):
        named.setdefault(index, set()).add(credential)
    return named


def _barred(windows: Iterable[Detail]) -> dict[int, set[str]]:
    """Return by recipient the credentials whose adapter cannot carry its message."""
    barred: dict[int, set[str]] = {}
    for credential, entry in ((w.credential, e) for w in windows for e in w.entries):
        if entry.kind is Kind.NOT_SENT and entry.code in CANNOT_CARRY:
            barred.setdefault(entry.index, set()).add(credential)
    return barred


def pasts(ledger: Ledger, windows: Iterable[Detail], words: Iterable[FeedbackDetail]) -> dict[int, AttemptHistory]:
    """Return by recipient what a chunk's details tell of its attempts; who is left out was never tried.

    Args:
        ledger: the chunk's, read before its details.
    """
    windows = list(windows)
    named, barred = _named(windows), _barred(windows)
    spent: dict[int, set[str]] = {}
    last: set[int] = set()
    about = [(f.credential, e) for f in words for e in f.entries if e.index < len(ledger.cells) and not e.secondary]
    for credential, entry in about:
        named.setdefault(entry.index, set()).add(credential)
        if ProviderEventKind(entry.word) in _FAILED_LATER:
            spent.setdefault(entry.index, set()).add(credential)
            if entry.attempt == ledger.cells[entry.index] >> 4:
                last.add(entry.index)
    none: frozenset[str] = frozenset()
    return {
        i: AttemptHistory(frozenset(names), frozenset(spent.get(i, none)), i in last, frozenset(barred.get(i, none)))
        for i, names in named.items()
    }


@dataclass(frozen=True, slots=True)
class FullLane:
    """A lane whose quota is used up.

    Attributes:
        until: Unix milliseconds.
        waits: messages wait for it, and move to no other credential.
        room: until when another credential's quota is used up, in milliseconds; 0: it has room.
    """

    until: int
    waits: bool = True
    room: Callable[[str], int] = lambda _credential: 0


@dataclass(frozen=True, slots=True)
class PassContext:
    """The inputs that release needs to start the next pass.

    Attributes:
        route: the job's route.
        now: Unix milliseconds.
        usable: whether a credential's breaker is closed, or due to be probed.
        delay: milliseconds to wait before a round, by its number (1 for the second). Once a message was tried, rounds
            through which it only waited, without an attempt, do not count.
        throttled_until: the provider asked to wait until then (milliseconds), or 0.
        leave: the lane's breaker is open: queued messages also move on, without an attempt.
        throttled: the provider took nothing in this lease and asked to wait.
        full: the lane's quota is used up; None: it is not.
        per_call: the most recipients of the lane's next calls, since a refused one is not divided yet; 0: as before.
        gone: whether a credential is no longer declared. Messages that only such credentials may get are given up.
        pasts: the history from the chunk's details, read after the ledger that is given, and only if it is needed.
    """

    route: Sequence[str]
    now: Millis
    delay: Callable[[int], int]
    usable: Callable[[str], bool] = lambda _credential: True
    throttled_until: int = 0
    leave: bool = False
    throttled: bool = False
    full: FullLane | None = None
    per_call: int = 0
    gone: Callable[[str], bool] = lambda _credential: False
    pasts: Callable[[Ledger], Mapping[int, AttemptHistory]] = lambda _ledger: {}


def release(ledger: Ledger, passing: PassContext) -> Ledger:
    """End the lease: start the next pass if nothing else is left, and become DONE or IDLE."""
    row, passing = _throttled(ledger, passing)
    full = None if passing.leave else passing.full
    out = next_pass(ledger, passing) if full is None else _overflow(ledger, passing, full)
    status = LedgerStatus.IDLE if out.unfinished else LedgerStatus.DONE
    asked = passing.throttled_until if out.lane == ledger.lane else 0  # another provider did not ask to wait
    return replace(
        out,
        status=status,
        owner="",
        seq=0,
        until=0,
        throttled=row,
        per_call=(passing.per_call or ledger.per_call) if out.lane == ledger.lane else 0,
        not_before=max(out.not_before, asked) if status is LedgerStatus.IDLE else out.not_before,
        released_at=passing.now,
        version=ledger.version + 1,
    )


def _throttled(ledger: Ledger, passing: PassContext) -> tuple[int, PassContext]:
    """Return how many leases in a row were throttled, and how the next pass begins.

    A provider that throttles again and again, or for long, is left as if its breaker were open.
    """
    if not passing.throttled:
        return 0, passing
    row = ledger.throttled + 1
    if row >= THROTTLED or passing.throttled_until - passing.now > LONG_WAIT:
        return 0, replace(passing, leave=True)
    return row, passing


def reopen(ledger: Ledger, passing: PassContext) -> Ledger:
    """Start a pass for what feedback put back to RETRY in a chunk that was DONE; the version stays (F)."""
    if ledger.status is not LedgerStatus.DONE or not ledger.unfinished:
        return ledger
    out = next_pass(replace(ledger, tried=(), rounds=0), passing)
    return replace(out, status=LedgerStatus.IDLE if out.unfinished else LedgerStatus.DONE)


def take_over(ledger: Ledger, proof: Mapping[int, Entry], passing: PassContext) -> Ledger | None:
    """End an expired lease: each claimed cell becomes what the window's detail says of that attempt, else UNKNOWN.

    Args:
        proof: by recipient, the entry of the expired lease's last window detail.
        passing: as for `release`.
    """
    if not ledger.ran_out(passing.now):
        return None
    known = [
        proof[i]
        for i in ledger.having(Cell.CLAIMED)
        if i in proof and proof[i].attempt == ledger.cells[i] >> 4 and proof[i].kind is not Kind.RISKED
    ]
    merged = give_up(merge(ledger, known, holder=True, route=passing.route, at_lane=ledger.lane), route=passing.route)
    return replace(release(merged, passing), epoch=ledger.epoch + 1)


def next_pass(ledger: Ledger, passing: PassContext) -> Ledger:
    """Give up what has no try left, and queue the rest at the next credential; nothing while work is queued here.

    The next credential is the first in the route after the lane that is usable and that some waiting recipients have
    not tried this round. It gets those. The others keep waiting (RETRY) for a later pass. If there is no such
    credential, the route starts again after a delay.
    """
    waiting = _waiting(ledger, leave=passing.leave)
    if not waiting:
        return ledger
    plan = _Plan(ledger, passing, waiting)
    if not plan.open:
        return plan.result(ledger.lane, ())
    here = plan.place(ledger.lane)
    tried = plan.tried_with(here)
    for place in plan.order(here + 1):
        if place == here and passing.leave:
            continue  # its breaker may not be written as open yet; to come back at once would be to come back for ever
        fresh = plan.fresh(place, tried)
        if fresh and passing.usable(passing.route[place]):
            return replace(plan.result(passing.route[place], fresh), tried=tried, not_before=passing.now)
    return plan.new_round()


def _overflow(ledger: Ledger, passing: PassContext, full: FullLane) -> Ledger:
    """Move what is queued in a lane that is full to a credential with room; without one it waits, and is not tried.

    If no credential that was not tried this round has room, it waits.
    """
    queued = ledger.having(Cell.QUEUED)
    if not queued:
        return next_pass(ledger, passing)
    if full.waits:
        return ledger
    plan = _Plan(ledger, passing, queued)
    if not plan.open:
        return plan.result(ledger.lane, ())
    here = plan.place(ledger.lane)
    tried = plan.tried_with(here)
    until = {here: full.until}
    for place in plan.others(here):
        until[place] = full.room(passing.route[place])
        fresh = plan.fresh(place, tried)
        if fresh and not until[place]:
            return replace(plan.result(passing.route[place], fresh), tried=tried, not_before=passing.now)
    return _wait_for_room(ledger, passing, plan, until)


def _wait_for_room(ledger: Ledger, passing: PassContext, plan: "_Plan", until: Mapping[int, Millis]) -> Ledger:
    """Let what is queued wait where there is room first.

    A credential that was tried this round takes it after the delay of a round. Rounds do not count here: each of them
    ends with an attempt.

    Args:
        until: place of the route to the time until which its quota is used up; 0: it has room.
    """
    here = plan.place(ledger.lane)
    first = min(until, key=lambda place: (until[place], place != here))
    if first < 0 or first == here:
        return plan.result(ledger.lane, plan.able(here) or plan.open)
    moved = plan.result(passing.route[first], plan.able(first))
    if until[first]:
        return moved
    return replace(moved, tried=(), not_before=passing.now + passing.delay(plan.tried(ledger.rounds + 1)))


def _waiting(ledger: Ledger, *, leave: bool) -> list[int]:
    """Return who waits for the next pass; none while the lane has work, unless its work is to leave it."""
    if leave:
        return ledger.having(Cell.RETRY, Cell.QUEUED)
    return [] if ledger.having(Cell.QUEUED) else ledger.having(Cell.RETRY)


class _Plan:
    """A chunk's waiting recipients on their way to the next pass."""

    def __init__(self, ledger: Ledger, passing: PassContext, waiting: Sequence[int]) -> None:
        self._ledger = ledger
        self._passing = passing
        self._cells = bytearray(ledger.cells)
        self._later: dict[int, bool] = {}
        self.open: dict[int, frozenset[int]] = {}
        """Recipient → places of the route that may get it."""
        limit = min(ledger.limit, MAX_ATTEMPTS)
        pasts = passing.pasts(ledger) if any(ledger.cells[i] >> 4 for i in waiting) else {}
        for i in waiting:
            attempt = ledger.cells[i] >> 4
            past = pasts.get(i, NO_PAST)
            wanted = past.open_to(passing.route, owner_asked=ledger.retries > 0)
            places = frozenset(p for p in wanted if not passing.gone(passing.route[p]))
            if attempt < limit and places:
                self._put(i, Cell.RETRY)
                self.open[i] = places
                self._later[i] = past.failed_later
            else:
                self._put(i, Cell.DROPPED)

    def _put(self, index: int, state: Cell) -> None:
        self._cells[index] = self._cells[index] & 0xF0 | state

    def place(self, credential: str) -> int:
        """Return a credential's place in the route, -1 if the route does not have it."""
        return list(self._passing.route).index(credential) if credential in self._passing.route else -1

    def order(self, start: int) -> list[int]:
        """Return all places of the route from one on."""
        n = len(self._passing.route)
        return [(start + k) % n for k in range(n)]

    def others(self, here: int) -> Iterator[int]:
        """Yield the usable places of the route after one that are open to some recipients."""
        for place in self.order(here + 1):
            if place != here and self.able(place) and self._passing.usable(self._passing.route[place]):
                yield place

    def tried_with(self, here: int) -> tuple[int, ...]:
        """Return the places that were tried this round, with one more; -1 is none."""
        tried = self._ledger.tried
        return tuple(dict.fromkeys((*tried, here))) if here >= 0 else tried

    def fresh(self, place: int, tried: Sequence[int]) -> list[int]:
        """Return the recipients that may move to a place now: it is open to them, and untried by them in this round.

        A message that failed later ignores the round that others are in.
        """
        out = place in tried
        return [i for i, places in self.open.items() if place in places and (self._later[i] or not out)]

    def able(self, place: int) -> list[int]:
        """Return the recipients to whom a place is open."""
        return [i for i, places in self.open.items() if place in places]

    def new_round(self) -> Ledger:
        """Start the route again after a delay: at the first usable credential, or the first."""
        rounds = self._ledger.rounds + 1
        if rounds > MAX_ROUNDS:
            for i in self.open:
                self._put(i, Cell.DROPPED)
            return self.result(self._ledger.lane, ())
        wanted = [p for p in self.order(self.place(self._ledger.first_lane)) if any(p in x for x in self.open.values())]
        place = next((p for p in wanted if self._passing.usable(self._passing.route[p])), wanted[0])
        return replace(
            self.result(self._passing.route[place], self.able(place)),
            tried=(),
            rounds=rounds,
            not_before=self._passing.now + self._passing.delay(min(rounds, self.tried(rounds))),
        )

    def tried(self, rounds: int) -> int:
        """Return how many of the rounds were tried; all of them, if the lane is left without an attempt."""
        if self._passing.leave:
            return rounds
        return max(1, -(-max([self._ledger.cells[i] >> 4 for i in self.open]) // len(self._passing.route)))

    def result(self, lane: str, queued: Iterable[int]) -> Ledger:
        """Return the ledger with these recipients queued at a lane."""
        for i in queued:
            self._put(i, Cell.QUEUED)
        return replace(self._ledger, cells=bytes(self._cells), lane=lane, dirty=True)
