"""Counts of the outcomes of a worker's provider calls, for operators; no decision depends on them."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown


@dataclass(slots=True)
class Count:
    """Messages by outcome. `slots`: what their calls took of the rate."""

    accepted: int = 0
    refused: int = 0
    throttled: int = 0
    unknown: int = 0
    slots: int = 0

    @property
    def only_throttled(self) -> bool:
        """Whether the provider asked to wait, and took nothing."""
        return self.throttled > 0 and not (self.accepted or self.refused or self.unknown)

    def add(self, outcomes: Sequence[Outcome], slots: int) -> None:
        """Count one call. A call that was not begun took nothing of the rate."""
        begun = False
        for outcome in outcomes:
            if isinstance(outcome, NotStarted):
                continue
            begun = True
            if isinstance(outcome, Accepted):
                self.accepted += 1
            elif isinstance(outcome, Rejected):
                self.refused += 1
            elif isinstance(outcome, Unknown):
                self.unknown += 1
            elif isinstance(outcome, Throttled):
                self.throttled += 1
        self.slots += slots if begun else 0


class CallCounters:
    """The counts of all leases of a worker; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sum = Count()

    def include(self, count: Count) -> None:
        """Take in what a lease counted."""
        with self._lock:
            x = self._sum
            x.accepted += count.accepted
            x.refused += count.refused
            x.throttled += count.throttled
            x.unknown += count.unknown
            x.slots += count.slots

    def take(self) -> Count:
        """Return what was counted since the last time."""
        with self._lock:
            taken, self._sum = self._sum, Count()
        return taken
