"""One recipient's cell, which changes a few times, and how each change is handed on (rules H1 and H2).

A change makes the ledger dirty. A folder hints at it before it folds. Hints come twice, late, or to two gatherers at
once. A gatherer first notes what it begins to hand on, and gives that a time. Then it stores deliveries, and notes that
it has ended. Others that meet such a beginning hand on the same, with the same time: an event has one body. Processes
die anywhere.

For batches, a folder sends none while another hint waits. If gatherers are quick, others leave a beginning to the one
that made it while that one lives. Then a change is handed on once, unless somebody dies.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from tests.model.state import Broken
from tests.model.world import Step, put

READ, BEGIN, STORE, NOTE = "read", "begin", "store", "note"
"""What a gatherer does next."""
NOTHING = (0, 0)

T = TypeVar("T", bound=tuple[object, ...])


class Folder(NamedTuple):
    """A folder that has read the ledger. `fresh`: nothing was written to it since; `hinted`: its hint is sent."""

    fresh: bool = True
    hinted: bool = False


class Gatherer(NamedTuple):
    """A gatherer with a hint. `told`, `cell`, `version`: as it has read or begun them; `more`: it looks once more."""

    at: str = READ
    told: int = 0
    cell: int = 0
    version: int = 0
    time: int = 0
    more: bool = False


class TellState(NamedTuple):
    """Everything.

    Attributes:
        cell: the number of changes so far.
        delivered: the changes told of, and the times they were told with.
        version: the time of what was noted last.
        begun: what is being handed on, and its time; (0, 0): nothing.
        time: the latest one.
        again: changes that were handed on again.
    """

    cell: int
    dirty: bool
    hints: int
    told: int
    delivered: frozenset[tuple[int, int]]
    version: int
    begun: tuple[int, int]
    time: int
    again: int
    folders: tuple[Folder | None, ...]
    gatherers: tuple[Gatherer | None, ...]
    crash: int
    twice: int


@dataclass(frozen=True)
class Telling:
    """A configuration.

    Attributes:
        changes: of the cell.
        folders: and `gatherers` at once.
        crash: processes that may die; a gatherer's hint comes again.
        twice: hints that may come twice.
        single: events are handed on singly, not in batches, so no hint waits and spares another.
        unwanted: the number of a change that no endpoint wants; nothing is noted of it. 0: all are wanted.
        quick: others leave what a gatherer has begun to it while it lives. Nothing is handed on again then.
    """

    changes: int = 3
    folders: int = 2
    gatherers: int = 2
    crash: int = 2
    twice: int = 1
    single: bool = False
    unwanted: int = 0
    quick: bool = False
    without: frozenset[str] = frozenset()

    def start(self) -> TellState:
        """Return the first state."""
        return TellState(
            cell=0,
            dirty=False,
            hints=0,
            told=0,
            delivered=frozenset(),
            version=0,
            begun=(0, 0),
            time=0,
            again=0,
            folders=(None,) * self.folders,
            gatherers=(None,) * self.gatherers,
            crash=self.crash,
            twice=self.twice,
        )

    def steps(self, s: TellState) -> Iterator[Step[TellState]]:
        """Yield all that can happen next."""
        if s.cell < self.changes:
            after = _written(s)._replace(cell=s.cell + 1, dirty=True)
            yield Step(True, f"the cell changes to {after.cell}", after)
        if s.dirty and None in s.folders:
            free = s.folders.index(None)
            taken = put(s.folders, free, Folder())
            yield Step(True, f"folder {free} reads the ledger", s._replace(folders=_alike(taken)))
        if s.hints and None in s.gatherers:
            free = s.gatherers.index(None)
            given = s._replace(gatherers=_alike(put(s.gatherers, free, Gatherer())))
            yield Step(True, f"gatherer {free} receives a hint", given._replace(hints=s.hints - 1))
            if s.twice:
                yield Step(False, f"gatherer {free} receives a copy of a hint", given._replace(twice=s.twice - 1))
        for n, folder in enumerate(s.folders):
            if folder is not None:
                yield from self._folder(s, n, folder)
        for n, gatherer in enumerate(s.gatherers):
            if gatherer is not None:
                yield from self._gatherer(s, n, gatherer)

    def _folder(self, s: TellState, n: int, folder: Folder) -> Iterator[Step[TellState]]:
        idle = s._replace(folders=_alike(put(s.folders, n, None)))
        if s.crash:
            yield Step(False, f"folder {n} dies", idle._replace(crash=s.crash - 1))
        late = "the_hint_is_before_the_fold" in self.without
        waits = s.hints or "only_a_hint_that_waits_spares_another" in self.without
        if waits and not (folder.hinted or late or self.single):
            spared = s._replace(folders=_alike(put(s.folders, n, folder._replace(hinted=True))))
            yield Step(True, f"folder {n} leaves it to a hint that waits", spared)
        if not folder.hinted and not late:
            hinted = s._replace(hints=s.hints + 1, folders=_alike(put(s.folders, n, folder._replace(hinted=True))))
            yield Step(True, f"folder {n} hints", hinted)
        elif folder.hinted and late:
            yield Step(True, f"folder {n} hints", idle._replace(hints=s.hints + 1))
        elif folder.fresh or "a_fold_is_of_the_ledger_as_read" in self.without:
            after = s if late else idle
            after = _written(after)._replace(dirty=False)
            if late:
                after = after._replace(folders=_alike(put(s.folders, n, folder._replace(hinted=True))))
            yield Step(True, f"folder {n} folds", after)
        else:
            yield Step(True, f"folder {n} finds the ledger changed", idle)

    def _gatherer(self, s: TellState, n: int, g: Gatherer) -> Iterator[Step[TellState]]:
        idle = s._replace(gatherers=_alike(put(s.gatherers, n, None)))
        if s.crash:
            yield Step(False, f"gatherer {n} dies: {g.at}", idle._replace(crash=s.crash - 1, hints=s.hints + 1))
        early = "deliveries_are_stored_before_they_are_noted" in self.without
        if g.at == READ:
            yield self._read(s, n)
        elif g.at == BEGIN:
            if not self._waits(s):
                yield self._begin(s, n, g, early=early)
        elif g.at == STORE:
            said = {(g.cell, g.time)} if g.cell != g.told else set()
            again = min(1, s.again + bool(said & s.delivered))
            after = s._replace(delivered=s.delivered | said, again=again)
            yield Step(True, f"gatherer {n} stores {g.cell}", _me(after, n, _more(g) if early else g._replace(at=NOTE)))
        else:
            after = self._finished(s, g)
            yield Step(True, f"gatherer {n} notes {g.cell}", _me(after, n, g._replace(at=STORE) if early else _more(g)))

    def _read(self, s: TellState, n: int) -> Step[TellState]:
        """Read what was told, then the ledger."""
        label = f"gatherer {n} reads {s.told} told, {s.cell}"
        if s.begun == NOTHING and s.cell in (s.told, self.unwanted):
            return Step(True, label, _me(s, n, None))
        return Step(True, label, _me(s, n, Gatherer(BEGIN, s.told, s.cell, s.version)))

    def _waits(self, s: TellState) -> bool:
        """Tell whether what was begun is left to the gatherer that began it."""
        alive = any(x is not None and x.at in (STORE, NOTE) and x.time == s.begun[1] for x in s.gatherers)
        return self.quick and alive and "what_is_begun_is_left_to_its_gatherer" not in self.without

    def _begin(self, s: TellState, n: int, g: Gatherer, *, early: bool) -> Step[TellState]:
        """Note what is handed on, or find what another has begun; look again if something else was noted meanwhile."""
        if s.version != g.version and "what_is_begun_follows_what_was_read" not in self.without:
            return Step(True, f"gatherer {n} finds another note", _me(s, n, Gatherer()))
        begun = s.begun
        if begun == NOTHING or "a_beginning_stays" in self.without:
            begun = (g.cell, s.time + 1)
        cell, time = begun
        mine = Gatherer(NOTE if early else STORE, s.told, cell, s.version, time, more=cell != g.cell)
        after = _me(s._replace(begun=begun, time=max(s.time, time)), n, mine)
        return Step(True, f"gatherer {n} begins {cell} at {time}", after)

    def _finished(self, s: TellState, g: Gatherer) -> TellState:
        """Return a state in which what was begun is noted, unless another has noted it."""
        if s.begun != (g.cell, g.time) and "a_note_ends_its_own_beginning" not in self.without:
            return s
        told = s.cell if "a_note_says_what_was_begun" in self.without else g.cell
        return s._replace(told=told, version=g.time, begun=NOTHING)

    def check(self, s: TellState) -> None:
        """Raise what does not hold in a state."""
        told = {cell for cell, _ in s.delivered}
        if s.told and s.told not in told and "deliveries_are_stored_before_they_are_noted" not in self.without:
            raise Broken(f"{s.told} is noted, and no delivery says so")
        if self._still(s) and s.cell == self.changes and s.cell not in told | {self.unwanted}:
            raise Broken(f"no delivery says the last change: {sorted(told)}")
        if len(told) < len(s.delivered):
            raise Broken(f"an event has two bodies: {sorted(s.delivered)}")
        if self.quick and s.again and s.crash == self.crash:
            raise Broken(f"a change is handed on again: {sorted(told)}")

    def is_goal(self, s: TellState) -> bool:
        """Tell whether nothing is left to do."""
        return self._still(s) and s.cell == self.changes

    def _still(self, s: TellState) -> bool:
        return not (s.dirty or s.hints or any(s.folders) or any(s.gatherers))


def _written(s: TellState) -> TellState:
    """Return a state after a write of the ledger: what folders have read is old."""
    return s._replace(folders=tuple(x and x._replace(fresh=False) for x in s.folders))


def _alike(some: tuple[T | None, ...]) -> tuple[T | None, ...]:
    """Return processes in one order: which of them is which makes no difference."""
    return tuple(sorted(some, key=lambda x: (x is None, x or ())))


def _more(g: Gatherer) -> Gatherer | None:
    """Return what a gatherer does when it has handed on something: it looks once more, or ends."""
    return Gatherer() if g.more else None


def _me(s: TellState, n: int, g: Gatherer | None) -> TellState:
    """Return a state after a step of a gatherer."""
    return s._replace(gatherers=_alike(put(s.gatherers, n, g)))
