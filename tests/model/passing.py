"""Passes by message (L4): which credential of the route a chunk goes to next, as `shared.domain.jobs.passes` does.

In a world without a `route` any number of passes is left to a message until its limit, whoever they go to.
"""

from collections.abc import Iterator

from tests.model import cells as rules
from tests.model.state import CLAIMED, DROPPED, FREE, OPEN, QUEUED, RETRY, Broken, Ledger, Past, State
from tests.model.world import World, put

Moved = Iterator[tuple[str, Ledger]]
"""What may become of a ledger, each with how it came to that."""


def bits(mask: int) -> Iterator[int]:
    """Yield the places of the bits that are set."""
    return (n for n in range(mask.bit_length()) if mask >> n & 1)


def named(s: State, c: int, i: int, past: Past) -> set[int]:
    """Return the credentials that details name for a message, by their places in the route."""
    return {s.truth[c][i].lanes[a] for a in bits(past.noted | past.failed)}


def barred(m: World, s: State, c: int, i: int, past: Past) -> set[int]:
    """Return the credentials of which details say that they cannot carry a message."""
    return {s.truth[c][i].lanes[a] for a in bits(past.noted) if m.unable >> s.truth[c][i].lanes[a] & 1}


def note(m: World, s: State, c: int, i: int, attempt: int, *, failed: bool = False) -> State:
    """Put a detail that names an attempt: a window's, or a provider's word that it failed after all."""
    if not m.route:
        return s
    past, bit = s.pasts[c][i], 1 << attempt
    new = past._replace(failed=past.failed | bit) if failed else past._replace(noted=past.noted | bit)
    return s._replace(pasts=put(s.pasts, c, put(s.pasts[c], i, new)))


def next_pass(m: World, s: State, c: int, ledger: Ledger, *, leave: bool = False, read: tuple[Past, ...] = ()) -> Moved:
    """Yield what release may make of a ledger, the usual way first: the next pass, once nothing else is left.

    Args:
        m: the world.
        s: its state, whose details are read now, after the ledger.
        c: the chunk.
        ledger: as merged; nothing in it is claimed.
        leave: what is queued moves on as well, without an attempt.
        read: the details, if they were read earlier.
    """
    if not m.route:
        yield "", ledger._replace(cells=rules.next_pass(ledger.cells, ledger.limit))
        return
    leave = leave and "what_is_queued_leaves_a_lane" not in m.without
    states = {state for state, _ in ledger.cells}
    moving = {RETRY, QUEUED} if leave else {RETRY}
    if not states & moving or CLAIMED in states or (QUEUED in states and not leave):
        yield "", ledger
    else:
        yield from _Pass(m, s, c, ledger, read or s.pasts[c]).moved(moving, leave=leave)


class _Pass:
    """A chunk's waiting messages on their way to the next pass."""

    def __init__(self, m: World, s: State, c: int, ledger: Ledger, pasts: tuple[Past, ...]) -> None:
        self._m, self._s, self._c, self._ledger, self._pasts = m, s, c, ledger, pasts
        self._cells = list(ledger.cells)

    def moved(self, moving: set[str], *, leave: bool) -> Moved:
        """Yield the ledger at the next credential, or at the route's beginning; or given up."""
        m, here = self._m, self._ledger.lane
        may = {i: self._open_to(i) for i, (state, _) in enumerate(self._cells) if state in moving}
        for i, places in may.items():
            tries = self._cells[i][1] < self._ledger.limit
            keep = tries and (places or "without_a_credential_left_it_is_given_up" in m.without)
            self._cells[i] = (RETRY if keep else DROPPED, self._cells[i][1])
        left = {i: places for i, places in may.items() if self._cells[i][0] == RETRY}
        tried = self._ledger.tried | 1 << here
        for place in ((here + 1 + k) % m.route for k in range(m.route)):
            if place == here and leave:
                continue
            fresh = [i for i, places in left.items() if place in places and (self._later(i) or not tried >> place & 1)]
            if fresh and not self._s.shut >> place & 1:
                yield "", self._queued(place, fresh, tried)
                return
        wanted = [p for p in range(m.route) if any(p in places for places in left.values())]
        if not wanted:
            yield "", self._ledger._replace(cells=tuple(self._cells))
            return
        usable = [p for p in wanted if not self._s.shut >> p & 1]
        place = (usable or wanted)[0]
        yield ", which begins another round", self._queued(place, [i for i in left if place in left[i]], 0)
        if not usable and "rounds_come_to_an_end" not in m.without:
            given_up = tuple((DROPPED, a) if state == RETRY else (state, a) for state, a in self._cells)
            yield ", after the last round", self._ledger._replace(cells=given_up)

    def _later(self, i: int) -> bool:
        return bool(self._pasts[i].failed >> self._cells[i][1] & 1)

    def _open_to(self, i: int) -> set[int]:
        past, lanes = self._pasts[i], self._s.truth[self._c][i].lanes
        spent = {lanes[a] for a in bits(past.failed)}
        closed = named(self._s, self._c, i, past) if self._later(i) else spent
        if "a_credential_that_failed_it_never_gets_it_again" in self._m.without:
            closed = set()
        able = set(range(self._m.route))
        if "who_cannot_carry_it_never_gets_it_again" not in self._m.without:
            able -= barred(self._m, self._s, self._c, i, past)
        return able - closed or (able if self._ledger.asked and not self._later(i) else set())

    def _queued(self, place: int, indices: list[int], tried: int) -> Ledger:
        out = list(self._cells)
        for i in indices:
            out[i] = (QUEUED, out[i][1])
        return self._ledger._replace(cells=tuple(out), lane=place, tried=tried)


def reopened(m: World, s: State, c: int) -> Moved:
    """Yield a ledger that was done, with the pass that feedback starts in it (F)."""
    ledger = s.ledgers[c]
    if m.route and ledger.holder == FREE and {state for state, _ in ledger.cells} & OPEN == {RETRY}:
        yield from next_pass(m, s, c, ledger._replace(tried=0))
    else:
        yield "", ledger


def check_claim(m: World, s: State, c: int, lane: int, window: tuple[tuple[int, int], ...]) -> None:
    """Check that no message is claimed in a lane that may not have it.

    That is one that cannot carry it, one whose provider took it and gave it up, and, if that was its last attempt, any
    that has tried it. With `fail_over` such a word may come when the message waits in that lane already.
    """
    if not m.route or m.fail_over or s.ledgers[c].asked:
        return
    for i, attempt in window:
        past, before, lanes = s.pasts[c][i], attempt - 1, s.truth[c][i].lanes
        if lane in barred(m, s, c, i, past):
            raise Broken(f"message {c}.{i} goes back to credential {lane}, which cannot carry it")
        if lane in {lanes[a] for a in bits(past.failed)}:
            raise Broken(f"message {c}.{i} goes back to credential {lane}, which took it and gave it up")
        if past.failed >> before & 1 and lane in named(s, c, i, past):
            raise Broken(f"message {c}.{i} goes back to credential {lane}, which tried it, after it was given up")
