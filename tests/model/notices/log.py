"""The update log: writers stamp, then write, however late; a reader closes the log up to T, reads, and goes on.

Clock in seconds; the writers' clocks differ by up to `skew`. Writers 0 and 1 are changes of one notice, in this order,
writer 2 is one of another.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.model.state import Broken
from tests.model.world import Step, put

MARGIN: Final = 1
STAMPED, WRITTEN = 1, 2


class State(NamedTuple):
    """`log`: stamp and writer of each entry; `since`: where the reader goes on, `got` what it has read."""

    clock: int = 0
    log: tuple[tuple[int, int], ...] = ()
    closed: int = -1
    since: int = 0
    got: tuple[int, ...] = ()
    writers: tuple[tuple[int, int], ...] = ((0, 0),) * 3


@dataclass(frozen=True)
class Log:
    """A configuration: for how many seconds it runs."""

    end: int = 4
    skew: int = 1
    without: frozenset[str] = frozenset()

    def start(self) -> State:
        """Return the first state."""
        return State()

    def steps(self, s: State) -> Iterator[Step[State]]:
        """Yield all that can happen next."""
        if s.clock < self.end:
            yield Step(True, f"clock {s.clock + 1}", s._replace(clock=s.clock + 1))
        for w, (step, stamp) in enumerate(s.writers):
            if w != 1 or s.writers[0][0] == WRITTEN:
                yield from self._write(s, w, step, stamp)
        upto = s.clock - MARGIN
        if upto >= s.since:
            yield from self._read(s, upto)

    def _write(self, s: State, w: int, step: int, stamp: int) -> Iterator[Step[State]]:
        before = -1
        if w == 1 and "a_stamp_is_later_than_the_last" not in self.without:
            before = max((at for at, writer in s.log if writer == 0), default=-1)
        if step == 0:
            for off in range(-self.skew, 1):
                at = max(s.clock + off, before + 1, 0)
                yield Step(off == 0, f"writer {w} stamps {at}", s._replace(writers=put(s.writers, w, (STAMPED, at))))
        elif step == STAMPED and (stamp > max(s.closed, before) or "readers_close_the_log" in self.without):
            written = s._replace(log=(*s.log, (stamp, w)), writers=put(s.writers, w, (WRITTEN, stamp)))
            yield Step(True, f"writer {w} writes {stamp}", written)
        elif step == STAMPED:
            at = max(s.clock, s.closed + 1, before + 1)
            yield Step(True, f"writer {w} stamps anew", s._replace(writers=put(s.writers, w, (STAMPED, at))))

    @staticmethod
    def _read(s: State, upto: int) -> Iterator[Step[State]]:
        new = sorted(x for x in s.log if s.since <= x[0] <= upto)
        if new or upto > s.closed:
            since = new[-1][0] + 1 if new else s.since
            got = (*s.got, *(w for _, w in new))
            after = s._replace(closed=max(s.closed, upto), since=since, got=got)
            yield Step(True, f"reader {s.since}-{upto}", after)

    def check(self, s: State) -> None:
        """Raise what does not hold in a state."""
        if len(set(s.got)) < len(s.got):
            raise Broken("an entry is read twice")
        if any(at < s.since and w not in s.got for at, w in s.log):
            raise Broken("an entry appears behind the reader")
        if 1 in s.got and 0 not in s.got[: s.got.index(1)]:
            raise Broken("two changes of one notice are read in the wrong order")

    def is_goal(self, s: State) -> bool:
        """Tell whether everything is written."""
        return all(step == WRITTEN for step, _ in s.writers)
