"""The purge of one notice: it ends and comes back, a reader collects its entries, a walk shortens its life.

The walk reads how far the log is collected, then the notice, then writes; it may die or be late. What is past its time
is removed at any moment after it. Times are steps of a clock.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.model.state import Broken
from tests.model.world import Step

LONG: Final = 4
"""Steps for which an ended notice is kept if nobody collects it."""
SHORT: Final = 1
"""Steps for which a collected one is kept."""
NO_WALK: Final = (0, 0)


class State(NamedTuple):
    """A notice and its log.

    `phase`: W waiting, E ended, - removed. `until`: when an ended one may be removed, 0 of one that waits. `ended`:
    when it ended. `log`: version of each entry, oldest first, and whether the notice ended with it; `collected`: how
    many of them are read. `walk`: the version of the entry that a walk is at, and the notice's as it has read it.
    """

    clock: int = 0
    phase: str = "W"
    version: int = 1
    until: int = 0
    ended: int = 0
    log: tuple[tuple[int, bool], ...] = ()
    collected: int = 0
    walk: tuple[int, int] = NO_WALK
    acts: int = 3


@dataclass(frozen=True)
class Purge:
    """A configuration: how far the clock goes unless a notice waits for a later moment."""

    end: int = 4
    without: frozenset[str] = frozenset()

    def start(self) -> State:
        """Return the first state."""
        return State()

    def steps(self, s: State) -> Iterator[Step[State]]:
        """Yield all that can happen next."""
        if s.clock < self.end or (s.phase == "E" and s.clock < s.until):
            yield Step(True, f"clock {s.clock + 1}", s._replace(clock=s.clock + 1))
        if s.collected < len(s.log):
            yield Step(True, "the notifier collects", s._replace(collected=len(s.log)))
        yield from self._notifier(s)
        yield from self._walk(s)
        if s.phase == "E" and s.clock >= s.until:
            yield Step(True, "removed", self._removed(s))

    def _notifier(self, s: State) -> Iterator[Step[State]]:
        version = s.version + 1
        if s.phase == "W":
            ended = s._replace(phase="E", until=s.clock + LONG, ended=s.clock)
            ended = ended._replace(version=version, log=(*s.log, (version, True)))
            yield Step(True, "it ends", ended)
        elif s.phase == "E" and s.acts:
            again = s._replace(phase="W", until=0, version=version, log=(*s.log, (version, False)), acts=s.acts - 1)
            yield Step(False, "an update brings it back", again)
            word = s._replace(until=s.clock + LONG, ended=s.clock, acts=s.acts - 1)
            yield Step(False, "a late word", word._replace(version=version, log=(*s.log, (version, True))))

    def _walk(self, s: State) -> Iterator[Step[State]]:
        at, read = s.walk
        seen = len(s.log) if "only_what_is_collected_goes_sooner" in self.without else s.collected
        if s.walk == NO_WALK:
            for version, ended in s.log[:seen]:
                if ended:
                    yield Step(True, f"a walk finds entry {version}", s._replace(walk=(version, 0)))
            return
        yield Step(False, "the walk dies", s._replace(walk=NO_WALK))
        if not read:
            yield Step(True, f"it reads version {s.version}", s._replace(walk=(at, s.version)))
            return
        last = at == read or "a_walk_is_at_the_last_entry" in self.without
        same = s.version == read or "a_walk_writes_what_it_read" in self.without
        until = min(s.until or LONG + s.clock, s.clock + SHORT)
        if last and same and s.phase != "-":
            yield Step(True, "it shortens", s._replace(until=until, walk=NO_WALK))
        else:
            yield Step(True, "it leaves the notice", s._replace(walk=NO_WALK))

    @staticmethod
    def _removed(s: State) -> State:
        if s.collected < len(s.log) and s.clock < s.ended + LONG:
            raise Broken("a notice goes before its last update is collected")
        return s._replace(phase="-")

    @staticmethod
    def check(s: State) -> None:
        """Raise what does not hold in a state."""
        if s.phase == "W" and s.until:
            raise Broken("a notice that waits has an end")

    def is_goal(self, s: State) -> bool:
        """Tell whether the notice is gone and nothing is under way."""
        return s.phase == "-" and s.walk == NO_WALK
