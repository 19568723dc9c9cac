"""One endpoint: its deliveries, the hints, the lease, and the time at which it is looked at (rules H3 to H5).

Adders store deliveries, then change the endpoint's own item, then hint. A worker that gets a hint leases the endpoint,
reads what is pending, posts it, and gives the lease back. A hint that finds a lease is dropped. Hints get lost, leases
run out while their workers go on, processes die anywhere. The walk hints at every endpoint that is to be looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.model.state import Broken
from tests.model.world import Step, put

STORE, MARK, HINT, ADDED = "store", "mark", "hint", "added"
"""What the adder of a delivery does next."""
QUERY, CALL, PUT, DELETE, RELEASE = "query", "call", "put", "delete", "release"
"""What a worker does next. One that dies between a post and what it writes of it has done nothing: it is posted again.
"""

Place = tuple[int, int]
"""A pending item: the delivery, and how often it was tried."""


class HookWorker(NamedTuple):
    """A worker. `mine`: it has the lease still; `seen`: additions as of its lease; `todo`: pending items as read."""

    mine: bool
    seen: int
    at: str = QUERY
    todo: tuple[Place, ...] = ()


class CallState(NamedTuple):
    """Everything. `held`: somebody took the lease; `over`: it has run out; `wake`: the walk finds the endpoint."""

    adders: tuple[str, ...]
    pending: frozenset[Place]
    taken: frozenset[int]
    added: int
    held: bool
    over: bool
    wake: bool
    hints: int
    workers: tuple[HookWorker | None, ...]
    crash: int
    lost: int
    slow: int


@dataclass(frozen=True)
class Calls:
    """A configuration.

    Attributes:
        deliveries: are added one by one.
        workers: at once.
        tries: the first calls of each delivery fail or succeed as they like, the last succeeds.
        crash: processes that may die; an adder's source adds its delivery again.
        lost: hints that may be lost.
        slow: leases that may run out while their worker lives.
    """

    deliveries: int = 2
    workers: int = 2
    tries: int = 2
    crash: int = 1
    lost: int = 1
    slow: int = 1
    without: frozenset[str] = frozenset()

    def start(self) -> CallState:
        """Return the first state."""
        return CallState(
            adders=(self._first,) * self.deliveries,
            pending=frozenset(),
            taken=frozenset(),
            added=0,
            held=False,
            over=False,
            wake=False,
            hints=0,
            workers=(None,) * self.workers,
            crash=self.crash,
            lost=self.lost,
            slow=self.slow,
        )

    @property
    def _first(self) -> str:
        return MARK if "a_delivery_is_stored_before_it_is_counted" in self.without else STORE

    def steps(self, s: CallState) -> Iterator[Step[CallState]]:
        """Yield all that can happen next."""
        for n, at in enumerate(s.adders):
            if at != ADDED and all(x in (ADDED, self._first) for x in s.adders[:n]):
                yield from self._adder(s, n, at)
        if s.hints:
            yield from self._hint(s)
        if s.wake and not s.hints and (not s.held or s.over):
            yield Step(True, "the walk hints", s._replace(hints=1))
        if s.held and not s.over:
            alive = any(w is not None and w.mine for w in s.workers)
            if not alive or s.slow:
                yield Step(not alive, "the lease runs out", s._replace(over=True, slow=s.slow - alive))
        for n, w in enumerate(s.workers):
            if w is not None:
                yield from self._worker(s, n, w)

    def _adder(self, s: CallState, n: int, at: str) -> Iterator[Step[CallState]]:
        if s.crash and at != self._first:
            again = put(s.adders, n, self._first)
            yield Step(False, f"the adder of {n} dies: {at}", s._replace(adders=again, crash=s.crash - 1))
        after_store = HINT if self._first == MARK else MARK
        if at == STORE:
            stored = s if n in s.taken else s._replace(pending=s.pending | {(n, 0)})
            yield Step(True, f"{n} is stored", stored._replace(adders=put(s.adders, n, after_store)))
        elif at == MARK:
            wake = s.wake or "an_addition_wakes" not in self.without
            marked = s._replace(added=s.added + 1, wake=wake)
            after = STORE if self._first == MARK else HINT
            yield Step(True, f"{n} is counted", marked._replace(adders=put(s.adders, n, after)))
        else:
            done = s._replace(adders=put(s.adders, n, ADDED), hints=min(s.hints + 1, 2))
            yield Step(True, f"a hint at {n}", done)

    def _hint(self, s: CallState) -> Iterator[Step[CallState]]:
        rest = s._replace(hints=s.hints - 1)
        if s.lost:
            yield Step(False, "a hint is lost", rest._replace(lost=s.lost - 1))
        if s.held and not s.over:
            yield Step(True, "a hint finds the lease", rest)
        elif None in s.workers:
            free = s.workers.index(None)
            wake = "a_lease_is_looked_at_when_it_ends" not in self.without
            others = tuple(w and w._replace(mine=False) for w in s.workers)
            leased = rest._replace(held=True, over=False, wake=wake, workers=others)
            yield Step(True, f"worker {free} leases it", _me(leased, free, HookWorker(True, s.added)))

    def _worker(self, s: CallState, n: int, w: HookWorker) -> Iterator[Step[CallState]]:
        if s.crash:
            yield Step(False, f"worker {n} dies: {w.at}", _me(s, n, None)._replace(crash=s.crash - 1))
        if w.at == QUERY:
            yield from self._query(s, n, w)
            return
        if w.at == RELEASE:
            yield self._release(s, n, w)
            return
        early = "the_next_is_stored_before_the_old_is_removed" in self.without
        place = w.todo[0]
        rest = w._replace(at=CALL if w.todo[1:] else QUERY, todo=w.todo[1:])
        if w.at == CALL:
            taken = s._replace(taken=s.taken | {place[0]}, pending=s.pending - {place})
            yield Step(True, f"worker {n} posts and removes {place}", _me(taken, n, rest))
            if place[1] + 1 < self.tries:
                yield Step(True, f"worker {n} fails with {place}", _me(s, n, _at(w, DELETE if early else PUT)))
        elif w.at == PUT:
            more = s._replace(pending=s.pending | {(place[0], place[1] + 1)})
            yield Step(
                True, f"worker {n} stores a next try of {place}", _me(more, n, rest if early else _at(w, DELETE))
            )
        else:
            less = s._replace(pending=s.pending - {place})
            then = _at(w, PUT) if early and w.at == DELETE else rest
            yield Step(True, f"worker {n} removes {place}", _me(less, n, then))

    def _query(self, s: CallState, n: int, w: HookWorker) -> Iterator[Step[CallState]]:
        """Read what is pending and post what is due: all that is new, and of the rest what its time has come for."""
        items = tuple(sorted(s.pending))
        if items:
            yield Step(True, f"worker {n} reads {items}", _me(s, n, w._replace(at=CALL, todo=items)))
        if all(tried for _, tried in items):
            yield Step(True, f"worker {n} finds nothing due", _me(s, n, w._replace(at=RELEASE, todo=items)))

    def _release(self, s: CallState, n: int, w: HookWorker) -> Step[CallState]:
        """Give the lease back, unless somebody has added since; what waits for its time is looked at then."""
        if not w.mine:
            return Step(True, f"worker {n} has lost the lease", _me(s, n, None))
        if w.seen != s.added and "a_release_sees_additions" not in self.without:
            return Step(True, f"worker {n} looks again", _me(s, n, w._replace(at=QUERY, seen=s.added, todo=())))
        wake = bool(w.todo) and "what_waits_is_looked_at" not in self.without
        return Step(True, f"worker {n} releases it", _me(s, n, None, held=False, over=False, wake=wake))

    def check(self, s: CallState) -> None:
        """Raise what does not hold in a state."""
        for n, at in enumerate(s.adders):
            lost = n not in s.taken and all(x != n for x, _ in s.pending)
            if at in (HINT, ADDED) and self._first == STORE and lost:
                raise Broken(f"{n} is neither pending nor taken")

    def is_goal(self, s: CallState) -> bool:
        """Tell whether every delivery was taken."""
        return len(s.taken) == self.deliveries


def _me(s: CallState, n: int, w: HookWorker | None, **changes: Any) -> CallState:
    return s._replace(workers=_alike(put(s.workers, n, w)), **changes)


def _alike(workers: tuple[HookWorker | None, ...]) -> tuple[HookWorker | None, ...]:
    """Return workers in one order: which of them is which makes no difference."""
    return tuple(sorted(workers, key=lambda w: (w is None, w or ())))


def _at(w: HookWorker, at: str) -> HookWorker:
    return w._replace(at=at)
