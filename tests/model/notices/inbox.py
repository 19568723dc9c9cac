"""Payloads of one notifier: numbered as they come, taken in order, a record and the checkpoint in one transaction.

Takers die, freeze and wake; hints are lost; a client repeats a payload whose answer it did not get.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tests.model.state import Broken
from tests.model.world import Step, put

Place = tuple[int, int]
"""Payload and record."""


class State(NamedTuple):
    """`stored`: payloads by number; `answered`: how many the client knows of; `takers`: the checkpoints they read."""

    stored: int
    answered: int
    checkpoint: Place
    applied: tuple[Place, ...]
    takers: tuple[Place | None, ...]
    crash: int


@dataclass(frozen=True)
class Inbox:
    """A configuration."""

    payloads: int = 3
    records: int = 2
    takers: int = 2
    crash: int = 2
    without: frozenset[str] = frozenset()

    def start(self) -> State:
        """Return the first state."""
        return State(0, 0, (0, 0), (), (None,) * self.takers, self.crash)

    def steps(self, s: State) -> Iterator[Step[State]]:
        """Yield all that can happen next."""
        if s.answered < self.payloads:
            yield Step(True, "PUT", s._replace(stored=s.stored + 1, answered=s.answered + 1))
            if s.crash:
                yield Step(False, "PUT, answer lost", s._replace(stored=s.stored + 1, crash=s.crash - 1))
        for k, place in enumerate(s.takers):
            if place is None:
                if s.checkpoint[0] < s.stored:
                    read = s._replace(takers=put(s.takers, k, s.checkpoint))
                    yield Step(True, f"taker {k} reads the checkpoint", read)
                continue
            yield self._taken(s, k, place)
            if s.crash:
                died = s._replace(takers=put(s.takers, k, None), crash=s.crash - 1)
                yield Step(False, f"taker {k} dies", died)

    def _taken(self, s: State, k: int, place: Place) -> Step[State]:
        if place != s.checkpoint and "a_checkpoint_is_compared" not in self.without:
            return Step(True, f"taker {k} is late", s._replace(takers=put(s.takers, k, None)))
        payload, record = place
        after = (payload, record + 1) if record + 1 < self.records else (payload + 1, 0)
        goes_on = after if after[0] == payload else None
        written = s._replace(
            checkpoint=max(s.checkpoint, after), applied=(*s.applied, place), takers=put(s.takers, k, goes_on)
        )
        return Step(True, f"taker {k} writes {place}", written)

    def check(self, s: State) -> None:
        """Raise what does not hold in a state."""
        if list(s.applied) != sorted(set(s.applied)):
            raise Broken(f"records are taken twice or out of order: {s.applied}")

    def is_goal(self, s: State) -> bool:
        """Tell whether everything is taken."""
        return s.answered == self.payloads and s.checkpoint == (s.stored, 0) and not any(s.takers)
