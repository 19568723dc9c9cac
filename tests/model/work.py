"""Work on an item under a lease, as of lists and exports: `shared/engine/work.py`.

Workers die, stand still past their lease or meet faults, as often as they like; messages are lost or come twice. What
workers store outside the item is not modelled: it counts only by the checkpoint that follows it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tests.model.state import Broken
from tests.model.world import Step, put

NOBODY = -1


class Item(NamedTuple):
    """The item: `until` says whether the time of its lease, or of its rest, has yet to come; `end`: how it ended."""

    owner: int = NOBODY
    until: bool = False
    starts: int = 0
    place: int = 0
    end: str = ""


class Worker(NamedTuple):
    """An invocation: the item as it knows it, and whether that is still as stored. `holds`: it took the lease."""

    held: Item
    fresh: bool = True
    holds: bool = False


class State(NamedTuple):
    """All that is known.

    Attributes:
        workers: None for one that does nothing.
        hint: whether a message is there.
        done: the places of all checkpoints; `ends`: how often the item's end was written.
        vain: leases since the last checkpoint.
    """

    item: Item
    workers: tuple[Worker | None, ...]
    hint: bool = True
    done: tuple[int, ...] = ()
    ends: int = 0
    vain: int = 0


@dataclass(frozen=True)
class Work:
    """A configuration: `places` are the checkpoints until the end, `starts` the leases that may come no further."""

    places: int = 2
    workers: int = 2
    starts: int = 2
    without: frozenset[str] = frozenset()

    def start(self) -> State:
        """Return the first state."""
        return State(Item(), (None,) * self.workers)

    def steps(self, s: State) -> Iterator[Step[State]]:
        """Yield all that can happen next."""
        item = s.item
        free = not item.end and not item.until
        if s.hint:
            yield Step(False, "the message is lost", s._replace(hint=False))
        elif free and "what_is_free_is_pointed_to_again" not in self.without:
            yield Step(True, "a message is sent again", s._replace(hint=True))
        elif not item.end:
            yield Step(False, "a message comes twice", s._replace(hint=True))
        if item.until and (item.owner == NOBODY or "a_lease_runs_out" not in self.without):
            yield Step(True, "time passes", s._replace(item=item._replace(until=False)))
        for k, worker in enumerate(s.workers):
            if worker is not None:
                yield from self._work(s, k, worker)
            elif s.hint:
                reads = Worker(item) if free else None
                yield Step(True, f"{k} reads the item", s._replace(hint=False, workers=put(s.workers, k, reads)))

    def _work(self, s: State, k: int, worker: Worker) -> Iterator[Step[State]]:
        held, idle = worker.held, put(s.workers, k, None)
        yield Step(False, f"{k} dies", s._replace(workers=idle))
        if not worker.fresh and "a_write_is_compared" not in self.without:
            yield Step(True, f"{k} has lost the lease", s._replace(workers=idle))
            return
        if not worker.holds:
            counted = "starts_are_counted" not in self.without
            taken = held._replace(owner=k, until=True, starts=min(held.starts + counted, self.starts + 1))
            vain = s.vain + (held.starts < self.starts or not counted)
            yield Step(True, f"{k} takes the lease", self._written(s, k, taken)._replace(vain=vain))
            return
        yield Step(False, f"{k} meets a fault", self._left(s, k, held._replace(owner=NOBODY, until=True)))
        if held.starts > self.starts:
            yield self._ended(s, k, "failed")
        elif held.place == self.places:
            yield self._ended(s, k, "ready")
        else:
            starts = held.starts if "a_checkpoint_forgives" in self.without else 0
            further = held._replace(until=True, starts=starts, place=held.place + 1)
            done = (*s.done, further.place)
            yield Step(True, f"{k} comes further", self._written(s, k, further)._replace(done=done, vain=0))
        over = self._left(s, k, held._replace(owner=NOBODY, until=False))
        yield Step(False, f"{k} hands over", over._replace(hint=True))

    def _ended(self, s: State, k: int, end: str) -> Step[State]:
        ended = s.workers[k].held._replace(owner=NOBODY, until=False, end=end)  # type: ignore[union-attr]
        return Step(True, f"{k} writes {end}", self._left(s, k, ended)._replace(ends=s.ends + 1))

    def _written(self, s: State, k: int, new: Item) -> State:
        """Return the state after a write of a worker's: what others know is old."""
        others = tuple(x and x._replace(fresh=False) for x in s.workers)
        return s._replace(item=new, workers=put(others, k, Worker(new, holds=True)))

    def _left(self, s: State, k: int, new: Item) -> State:
        """Return the state after a worker's last write."""
        after = self._written(s, k, new)
        return after._replace(workers=put(after.workers, k, None))

    def check(self, s: State) -> None:
        """Raise what does not hold in a state."""
        if list(s.done) != sorted(set(s.done)):
            raise Broken(f"a worker without lease wrote a checkpoint: {s.done}")
        if s.ends > 1 or (s.ends and not s.item.end):
            raise Broken("a worker without lease wrote after the end")
        if s.vain > self.starts:
            raise Broken("the work is begun for ever")
        if s.item.end == "failed" and s.vain < self.starts:
            raise Broken("work that came further is given up")

    def is_goal(self, s: State) -> bool:
        """Tell whether the work has ended."""
        return bool(s.item.end) and not any(s.workers)


RULES = (
    "a_write_is_compared",
    "starts_are_counted",
    "a_checkpoint_forgives",
    "a_lease_runs_out",
    "what_is_free_is_pointed_to_again",
)
