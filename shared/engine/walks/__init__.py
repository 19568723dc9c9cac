"""Walks of the sweeper: each finds one kind of unfinished work.

A feature adds its own by a `Walk` in `shared.bootstrap.deployment.Deployment.walks`. Source: docs/adr/0056.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from shared.domain.times import Millis, Seconds
from shared.engine.walks.progress import Progress
from shared.frozen import dataclass

_LOG = logging.getLogger(__name__)


class WalkCounts:
    """Counts of the actions of one run's looks, and the longest waits that they saw; safe for threads.

    Attributes:
        waits: lane → the longest wait of its small jobs.
    """

    def __init__(self) -> None:
        self.waits: dict[str, Millis] = {}
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, name: str, n: int = 1) -> None:
        """Count."""
        if n:
            with self._lock:
                self._counts[name] += n

    def wait(self, lane: str, wait: Millis) -> None:
        """Keep a wait if it is the longest of its lane."""
        with self._lock:
            if wait > self.waits.get(lane, 0):
                self.waits[lane] = wait

    def of(self, name: str) -> int:
        """Return a count."""
        return self._counts[name]


@dataclass(slots=True)
class Run:
    """One walk's part of a run.

    Attributes:
        now: Unix milliseconds at which the run began. All of its looks take it for the time, so that what became due
            between two runs became due in exactly one of them.
        deadline: Unix seconds after which no look begins; a long one also ends then.
        progress: of the walk.
        tally: of the whole run.
        faults: what was raised, of all walks.
        stuck: jobs in which nothing has happened for too long; None: not known.
    """

    now: Millis
    deadline: Seconds
    progress: Progress
    tally: WalkCounts
    faults: list[Exception] = field(default_factory=list)
    stuck: tuple[str, ...] | None = None

    def attempt(self, name: str, act: Callable[[], None]) -> bool:
        """Do something about one thing; its fault is kept for the end, so that it takes nothing from the others.

        Returns:
            False if it failed.
        """
        try:
            act()
        except Exception as fault:  # noqa: BLE001 - the sweeper raises it at the end
            _LOG.exception("not swept", extra={"job": name})
            self.faults.append(fault)
            return False
        return True


@dataclass(frozen=True, slots=True)
class Inspection:
    """One step of a walk, to be made beside others in any order.

    Attributes:
        name: of the thing, for the log.
        place: where it is. Places grow along the walk; an empty one does not move the walk on.
        act: looks, and does what is to be done.
    """

    name: str
    place: str
    act: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Walk:
    """A round of looks that begins anew when it has come to its end.

    Attributes:
        name: unique; its progress is kept under it.
        share: of a run's time, in proportion to those of the walks that come after it. They get what it does not use.
        looks: yields the looks from a place (exclusive) on, from the start if that is empty.
        ended: called when the last look of a round is over.
        noted: whether its progress is kept; False for things that have no places, which costs no write a minute.
    """

    name: str
    share: float
    looks: Callable[[Run, str], Iterator[Inspection]]
    ended: Callable[[Run], None] = lambda _run: None
    noted: bool = True


def simple(name: str, share: float, found: Callable[[], Iterable[tuple[str, Callable[[], None]]]]) -> Walk:
    """Return a walk that starts anew in each run. Things that are done no longer appear in it.

    Args:
        share: the share of a run's time, 0 to 1.
        found: yields each thing's name and the action for it.
    """
    return timed(name, share, lambda _until: found())


def timed(name: str, share: float, found: Callable[[Seconds], Iterable[tuple[str, Callable[[], None]]]]) -> Walk:
    """Return a walk as `simple` does, of things that take long: each ends by itself when the walk's time is over.

    Args:
        share: the share of a run's time, 0 to 1.
        found: yields each thing's name and the action for it, given the walk's deadline in Unix seconds.
    """

    def looks(run: Run, _after: str) -> Iterator[Inspection]:
        return (Inspection(x, "", act) for x, act in found(run.deadline))

    return Walk(name, share, looks, noted=False)
