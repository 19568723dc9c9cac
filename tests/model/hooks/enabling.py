"""A new endpoint, and what each process remembers of it (rules H1.3, H1.5 and H2.9).

Folders remember whether a namespace has endpoints, and send no hint if it has none. What ends a job marks its end as
unheard by the same memory, which is the same step here. Gatherers remember the endpoints, and make no delivery for one
that has not proven itself. Both notes are forgotten after some time, so enough time makes each of them fresh. Once the
endpoint counts as enabled, something happens: it must be delivered.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tests.model.state import Broken
from tests.model.world import Step, put

NOTHING, ABSENT, THERE = "nothing", "absent", "there"
"""What a process remembers."""
CHANGED, HINTED, DELIVERED, MISSED = "changed", "hinted", "delivered", "missed"


class EnablingState(NamedTuple):
    """Everything. `folders` and `gatherers`: what each remembers; `event`: what became of what happened, or empty."""

    listed: bool
    proven: bool
    enabled: bool
    folders: tuple[str, ...]
    gatherers: tuple[str, ...]
    event: str


@dataclass(frozen=True)
class Enabling:
    """A configuration.

    Attributes:
        processes: folders, and gatherers.
    """

    processes: int = 2
    without: frozenset[str] = frozenset()

    def start(self) -> EnablingState:
        """Return the first state."""
        none = (NOTHING,) * self.processes
        return EnablingState(listed=False, proven=False, enabled=False, folders=none, gatherers=none, event="")

    def steps(self, s: EnablingState) -> Iterator[Step[EnablingState]]:
        """Yield all that can happen next."""
        if not s.listed:
            yield Step(True, "the endpoint is made and listed", s._replace(listed=True))
        elif not s.proven:
            yield Step(True, "the endpoint proves itself", s._replace(proven=True))
        elif not s.enabled and self._enabled(s):
            yield Step(True, "the endpoint is enabled", s._replace(enabled=True))
        elif s.enabled and not s.event:
            yield Step(True, "something happens", s._replace(event=CHANGED))
        for n, remembers in enumerate(s.folders):
            yield from self._folder(s, n, remembers)
        for n, remembers in enumerate(s.gatherers):
            yield from self._gatherer(s, n, remembers)

    def _enabled(self, s: EnablingState) -> bool:
        """Tell whether the time has passed after which no process remembers what was before."""
        listed = ABSENT not in s.folders or "an_endpoint_is_enabled_when_its_listing_is_known" in self.without
        known = ABSENT not in s.gatherers or "an_endpoint_is_enabled_when_its_proof_is_known" in self.without
        return listed and known

    def _folder(self, s: EnablingState, n: int, remembers: str) -> Iterator[Step[EnablingState]]:
        if remembers == NOTHING:
            found = put(s.folders, n, THERE if s.listed else ABSENT)
            yield Step(True, f"folder {n} reads whether there are endpoints", s._replace(folders=found))
            return
        yield Step(True, f"folder {n} forgets", s._replace(folders=put(s.folders, n, NOTHING)))
        if s.event == CHANGED:
            after = HINTED if remembers == THERE else MISSED
            yield Step(True, f"folder {n} folds, and knows of endpoints: {remembers}", s._replace(event=after))

    def _gatherer(self, s: EnablingState, n: int, remembers: str) -> Iterator[Step[EnablingState]]:
        if remembers == NOTHING:
            found = put(s.gatherers, n, THERE if s.proven else ABSENT)
            yield Step(True, f"gatherer {n} reads the endpoints", s._replace(gatherers=found))
            return
        yield Step(True, f"gatherer {n} forgets", s._replace(gatherers=put(s.gatherers, n, NOTHING)))
        if s.event == HINTED:
            after = DELIVERED if remembers == THERE else MISSED
            yield Step(True, f"gatherer {n} notes the change; its endpoint: {remembers}", s._replace(event=after))

    def check(self, s: EnablingState) -> None:
        """Raise what does not hold in a state."""
        if s.event == MISSED:
            raise Broken("an enabled endpoint misses an event")

    def is_goal(self, s: EnablingState) -> bool:
        """Tell whether what happened was delivered."""
        return s.event == DELIVERED
