"""The ledger: the small mutable record of a chunk. No other item holds the states of its recipients.

Everything here is a pure function from one ledger to the next. The store writes the result by compare-and-swap on
`version`. The module `passes` ends leases. None means "nothing to do" or "not allowed now". Source: docs/protocol.md,
rules L1 to L3, F and J2.
"""

import struct
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from shared.domain.jobs.feedback import join
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.states import COUNT_KEYS, COUNT_TABLE, MAX_ATTEMPTS, OPEN, Cell
from shared.domain.times import Millis
from shared.frozen import dataclass

BY_KEYS: Final = ("tried", "accepted", "delivered", "failed")
"""Per credential of the route: attempts begun, accepted, delivered, and finally failed there."""
_BY_WIDTH: Final = len(BY_KEYS)


class LedgerStatus(StrEnum):
    """Whether somebody works on the chunk."""

    IDLE = "IDLE"
    BUSY = "BUSY"
    DONE = "DONE"


@dataclass(frozen=True, slots=True)
class Ledger:
    """One chunk's ledger. Times are Unix milliseconds.

    Attributes:
        cells: one byte per recipient, `attempt << 4 | state`.
        owner: invocation that holds the lease, if BUSY; `epoch` counts leases, `seq` the owner's own writes in one.
        until: end of the lease.
        lane: credential that serves the chunk now; `first_lane` where its rounds start.
        tried: indices into the job's route used in this round; `rounds` completed.
        limit: attempts a recipient may have; 0: the ledger is of a copy of the past (`domain.restoring`).
        retries: the owner's retries so far.
        throttled: leases in a row whose provider took nothing and asked to wait.
        per_call: the most recipients of a call, since a lease ended before a refused one was divided; 0: no bound.
        folded: the histogram and `by` figures already added to the job, as `figures` packs them.
        by: per route index, the four numbers of BY_KEYS.
        dirty: cells changed since the last fold.
        uncounted: figures that are in the job's counts, but not yet in the day's stats: the first fold adds them there.
        told: one byte per cell, the state that its owner was last informed of and 1; empty if its owner asks instead.
        not_after: the earliest time after which one of its recipients must not be sent to; 0: none.
    """

    job: str
    chunk: int
    cells: bytes
    lane: str
    first_lane: str
    limit: int
    by: tuple[int, ...]
    folded: tuple[int, ...]
    ttl: int
    status: LedgerStatus = LedgerStatus.IDLE
    owner: str = ""
    epoch: int = 0
    seq: int = 0
    until: Millis = 0
    tried: tuple[int, ...] = ()
    rounds: int = 0
    retries: int = 0
    throttled: int = 0
    per_call: int = 0
    not_before: Millis = 0
    released_at: int = 0
    dirty: bool = False
    uncounted: tuple[int, ...] = ()
    told: bytes = b""
    not_after: int = 0
    version: int = 1

    def cell(self, index: int) -> tuple[Cell, int]:
        """Return (state, attempt) of a recipient."""
        b = self.cells[index]
        return Cell(b & 15), b >> 4

    def having(self, *states: Cell) -> list[int]:
        """Return the indices of the recipients in one of the states, in order."""
        wanted = frozenset(int(s) for s in states)
        return [i for i, b in enumerate(self.cells) if b & 15 in wanted]

    @property
    def unfinished(self) -> bool:
        """True while a cell is QUEUED, RETRY or CLAIMED."""
        return any(b & 15 in _OPEN for b in self.cells)

    def ran_out(self, now: Millis) -> bool:
        """Tell whether somebody holds the lease and its time is over. `now`: Unix milliseconds."""
        return self.status is LedgerStatus.BUSY and self.until < now

    def held_by(self, owner: str, epoch: int) -> bool:
        """Tell whether this is still that lease."""
        return self.status is LedgerStatus.BUSY and self.owner == owner and self.epoch == epoch


_OPEN: Final = frozenset(int(s) for s in OPEN)


def create(
    *, job: str, chunk: int, skipped: Iterable[int], size: int, lane: str, route: Sequence[str], limit: int, ttl: int
) -> Ledger:
    """Return the ledger of a new chunk. Its first histogram counts as folded already.

    Args:
        skipped: places of recipients that are never sent to.
        size: the chunk's recipients.
        route: the job's credentials, in their order.
        limit: the most attempts for a recipient.
        ttl: Unix seconds when DynamoDB deletes it.
    """
    cells = bytearray([Cell.QUEUED] * size)
    for i in skipped:
        cells[i] = Cell.SKIPPED
    by = (0,) * (_BY_WIDTH * len(route))
    base = Ledger(job, chunk, bytes(cells), lane, lane, limit, by, (), ttl)
    return replace(
        base,
        folded=figures(base),
        status=LedgerStatus.IDLE if base.unfinished else LedgerStatus.DONE,
    )


def histogram(cells: bytes) -> tuple[int, ...]:
    """Return how many cells there are per key of COUNT_KEYS."""
    kinds = cells.translate(COUNT_TABLE)
    return tuple(kinds.count(i) for i in range(len(COUNT_KEYS)))


def figures(ledger: Ledger) -> tuple[int, ...]:
    """Return all that a fold carries to the job: the histogram, then `by`."""
    return histogram(ledger.cells) + ledger.by


def pack(numbers: Sequence[int]) -> bytes:
    """Pack small counts as two bytes each."""
    return struct.pack(f">{len(numbers)}H", *numbers)


def unpack(data: bytes) -> tuple[int, ...]:
    """Read what `pack` wrote."""
    return struct.unpack(f">{len(data) // 2}H", data)


def _count(by: tuple[int, ...], route_index: int, key: str, n: int) -> tuple[int, ...]:
    if n == 0 or route_index < 0:
        return by
    i = route_index * _BY_WIDTH + BY_KEYS.index(key)
    return (*by[:i], max(0, min(by[i] + n, 0xFFFF)), *by[i + 1 :])


def _route_index(route: Sequence[str], credential: str) -> int:
    return route.index(credential) if credential in route else -1


# L1, L2


def acquire(ledger: Ledger, *, lane: str, owner: str, now: Millis, until: Millis) -> Ledger | None:
    """Lease the chunk if it is idle, on this lane and due. None otherwise.

    Args:
        owner: unique to this lease.
        until: Unix milliseconds at which the lease runs out.
    """
    if ledger.status is not LedgerStatus.IDLE or ledger.lane != lane or ledger.not_before > now:
        return None
    return replace(
        ledger,
        status=LedgerStatus.BUSY,
        owner=owner,
        until=until,
        seq=0,
        epoch=ledger.epoch + 1,
        version=ledger.version + 1,
    )


def claim(
    ledger: Ledger,
    results: Sequence[Entry],
    k: int,
    *,
    route: Sequence[str],
    at_lane: str,
    suppressed: Collection[int] = (),
    expired: Collection[int] = (),
    until: Millis = 0,
) -> tuple[Ledger, list[int]]:
    """Merge the last window's results, skip what waits and is suppressed or expired, and claim k QUEUED cells.

    Those with the fewest attempts come first: else the same recipients would be every probe of a long outage and use
    up their attempts. The lease runs out at `until` from now on, 0: as before.

    Args:
        k: the most recipients to claim.
        route: the job's credentials, in their order.
        at_lane: the credential that holds the lease.
        suppressed: places of recipients that are skipped if they wait.
        expired: places of recipients that become EXPIRED if they wait.
        until: Unix milliseconds at which the lease runs out from now on; 0 leaves it.

    Returns:
        The next ledger and the claimed indices; their attempt is in the new cells.
    """
    merged = merge(ledger, results, holder=True, route=route, at_lane=at_lane)
    cells = bytearray(merged.cells)
    for i in suppressed:
        if cells[i] & 15 == Cell.QUEUED:
            cells[i] = cells[i] & 0xF0 | Cell.SKIPPED
    for i in expired:
        if cells[i] & 15 == Cell.QUEUED:
            cells[i] = cells[i] & 0xF0 | Cell.EXPIRED
    claimed = sorted(_in_turn(cells, merged)[:k])
    for i in claimed:
        cells[i] = ((cells[i] >> 4) + 1) << 4 | Cell.CLAIMED
    by = _count(merged.by, _route_index(route, at_lane), "tried", len(claimed))
    out = replace(
        merged,
        cells=bytes(cells),
        by=by,
        seq=ledger.seq + 1,
        until=until or ledger.until,
        dirty=True,
        version=ledger.version + 1,
    )
    return out, claimed


def in_turn(ledger: Ledger) -> list[int]:
    """Return who waits in the order in which `claim` takes them, the fewest attempts first.

    After leases whose first calls a provider refused to take now, others come first: it may be about one recipient.
    """
    return _in_turn(ledger.cells, ledger)


def _in_turn(cells: bytes | bytearray, ledger: Ledger) -> list[int]:
    most = min(ledger.limit, MAX_ATTEMPTS)
    waiting = [i for i, b in enumerate(cells) if b & 15 == Cell.QUEUED and b >> 4 < most]
    first = ledger.throttled % len(waiting) if waiting else 0
    return sorted(waiting[first:] + waiting[:first], key=cells.__getitem__)


# L3

_GIVES: Final = {
    Kind.ACCEPTED: Cell.SENT,
    Kind.RELAYED: Cell.RELAYED,
    Kind.REFUSED: Cell.FAILED,
    Kind.INVALID: Cell.SKIPPED,
    Kind.NOT_SENT: Cell.RETRY,
    Kind.UNKNOWN: Cell.UNKNOWN,
    Kind.RISKED: Cell.RETRY,
}


def _retried(result: Entry, limit: int, *, held: bool) -> Cell:
    """Return the state of a recipient who was not sent to. `held`: the writer has the lease and claimed this attempt.

    A doubt for which no try is left that it could be risked for stays a doubt: it did not surely fail.
    """
    if result.kind is Kind.RISKED:
        return Cell.RETRY if held and result.attempt < limit else Cell.UNKNOWN
    return Cell.RETRY if held else Cell.DROPPED


def merge(
    ledger: Ledger,
    results: Sequence[Entry],
    *,
    holder: bool,
    route: Sequence[str],
    at_lane: str,
    requeued: Iterable[int] = (),
) -> Ledger:
    """Write a window's results into the cells; the version stays.

    Args:
        results: one entry per attempt that has a fate; claimed cells without one were throttled or never begun.
        holder: whether the writer still holds the lease. If not, "not sent" counts as given up: another worker may
            have decided about the recipient already.
        at_lane: the credential that was used.
        requeued: indices that the holder claimed, that were surely not sent and whose attempt is used again.
    """
    cells, limit = bytearray(ledger.cells), min(ledger.limit, MAX_ATTEMPTS)
    accepted = failed = freed = 0
    for e in results:
        state, attempt = Cell(cells[e.index] & 15), cells[e.index] >> 4
        ours = state is Cell.CLAIMED and attempt == e.attempt
        new = _GIVES[e.kind]
        if new is Cell.RETRY:
            new = _retried(e, limit, held=ours and holder)
        new = new if ours else join(state, attempt, new, e.attempt)
        if new is not state:
            cells[e.index] = attempt << 4 | new
            accepted += new in (Cell.SENT, Cell.RELAYED)
            failed += new is Cell.FAILED
    for i in requeued:
        if cells[i] & 15 == Cell.CLAIMED:
            cells[i] = ((cells[i] >> 4) - 1) << 4 | Cell.QUEUED
            freed += 1
    index = _route_index(route, at_lane)
    by = _count(_count(ledger.by, index, "accepted", accepted), index, "failed", failed)
    by = _count(by, index, "tried", -freed)
    changed = bytes(cells) != ledger.cells
    return replace(ledger, cells=bytes(cells), by=by, dirty=ledger.dirty or changed)


def give_up(ledger: Ledger, *, route: Sequence[str]) -> Ledger:
    """Make UNKNOWN all that is still CLAIMED when its lease ends: only feedback can show its fate from now on."""
    lost = [Entry(i, ledger.cells[i] >> 4, Kind.UNKNOWN) for i in ledger.having(Cell.CLAIMED)]
    return merge(ledger, lost, holder=True, route=route, at_lane=ledger.lane) if lost else ledger


# F, J2, J4

_AGAIN: Final = frozenset({Cell.RETRY, Cell.DROPPED})
"""A cell after a failed attempt: another one follows, or none."""


def join_words(
    ledger: Ledger, words: Iterable[tuple[int, int, Cell]], *, route: Sequence[str], credential: str
) -> Ledger | None:
    """Join events of one credential by rank. None if no cell changes.

    A DONE ledger stays DONE, also with RETRY cells: `passes.reopen` starts their pass.

    Args:
        route: the job's credentials, in their order.
    """
    cells = bytearray(ledger.cells)
    accepted = delivered = failed = 0
    for index, attempt, state in words:
        if not ledger.limit and state in _AGAIN:
            continue  # a copy of the past does not know of later attempts
        old, at = Cell(cells[index] & 15), cells[index] >> 4
        new = join(old, at, state, attempt)
        if new is not old:
            cells[index] = at << 4 | new
            accepted += old in (Cell.CLAIMED, Cell.UNKNOWN) and attempt == at
            delivered += new is Cell.DELIVERED
            failed += new in (Cell.BOUNCED, Cell.DROPPED, Cell.RETRY)
    if bytes(cells) == ledger.cells:
        return None
    i = _route_index(route, credential)
    by = _count(_count(ledger.by, i, "delivered", delivered), i, "failed", failed)
    by = _count(by, i, "accepted", accepted)
    return rewritten(replace(ledger, by=by), bytes(cells))


def disprove(ledger: Ledger, attempts: Iterable[tuple[int, int]], state: Cell) -> Ledger | None:
    """Give a state to UNKNOWN cells that are still at these attempts. None if no cell changes.

    Args:
        state: RETRY or DROPPED of attempts that were proven absent, UNKNOWN_CLOSED of those that are cancelled.
    """
    if not ledger.limit and state in _AGAIN:
        return None
    cells = bytearray(ledger.cells)
    for index, attempt in attempts:
        if cells[index] == attempt << 4 | Cell.UNKNOWN:
            cells[index] = attempt << 4 | state
    return rewritten(ledger, bytes(cells)) if bytes(cells) != ledger.cells else None


def fold(ledger: Ledger) -> tuple[Ledger, tuple[int, ...]] | None:
    """Return the ledger as folded and what to add to the job (as `figures` orders it); None if nothing changed.

    A ledger with figures that are in no stats yet is folded although nothing changed.
    """
    now = figures(ledger)
    if now == ledger.folded and not ledger.dirty and not ledger.uncounted:
        return None
    delta = tuple(a - b for a, b in zip(now, ledger.folded, strict=True))
    return replace(ledger, folded=now, dirty=False, uncounted=(), version=ledger.version + 1), delta


def for_stats(ledger: Ledger, delta: Sequence[int]) -> tuple[int, ...]:
    """Return what a fold adds to the day's stats. `delta`: to the job, as `fold` returned it for this ledger."""
    return tuple(map(sum, zip(delta, ledger.uncounted, strict=True))) if ledger.uncounted else tuple(delta)


def overdue(ledger: Ledger, now: Millis) -> list[int]:
    """Return the recipients that wait although the earliest `not_after` of the chunk is over; `now`: Unix ms."""
    return ledger.having(Cell.QUEUED, Cell.RETRY) if 0 < ledger.not_after < now else []


def rewritten(ledger: Ledger, cells: bytes) -> Ledger:
    """Return the ledger with new cells; an idle one with nothing left is DONE."""
    out = replace(ledger, cells=cells, dirty=True, version=ledger.version + 1)
    return replace(out, status=LedgerStatus.DONE) if out.status is LedgerStatus.IDLE and not out.unfinished else out
