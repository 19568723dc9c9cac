"""Announces changed messages to webhooks: a hint goes out before a ledger's figures are folded.

A change marks its ledger as dirty, and only a fold takes the mark away. So every change is announced at least once,
also one that the stream of ledgers has lost: the sweeper folds it, then. An account without webhooks costs nothing.

For endpoints with batches a hint waits for some seconds. Until it is delivered, it also announces later changes of its
chunks. A second hint would reach a second gatherer, and both would hand on the same changes.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from math import inf
from typing import Final, Protocol

from shared.domain.hooks.kinds import LATER_S, HookPace
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.times import Seconds
from shared.frozen import dataclass
from shared.ports import Clock, HookHints, Listeners, Retriable

SPARES_S: Final[Seconds] = LATER_S - 1
"""So long a hint that waits spares another: a second before it may be delivered."""
KNOWN: Final = 2_000
"""Chunks whose hints a process remembers."""
Places = dict[str, tuple[int, ...]]
"""Job's id → numbers of chunks."""


class Announcing(Protocol):
    """The step before a fold: announces the changes."""

    def announce(self, jobs: Mapping[str, Job], ledgers: Iterable[Ledger]) -> Collection[str]:
        """Announce to webhooks the changes that are not folded yet.

        Args:
            ledgers: as they are about to be folded.

        Returns:
            The ids of jobs whose changes could not be announced, so that they must not be folded.
        """


class Silent:
    """A deployment without webhooks."""

    def announce(self, jobs: Mapping[str, Job], ledgers: Iterable[Ledger]) -> Collection[str]:  # noqa: ARG002 - port
        """Do nothing."""
        return ()


@dataclass(frozen=True, slots=True)
class Announcer:
    """Sends hints for the namespaces that have endpoints: one for each pace, for any number of jobs.

    Attributes:
        listeners: which namespaces these are.
        hints: where hints go.
        clock: the time.
        waiting: when this process has last hinted at a chunk for endpoints with batches, Unix seconds.
    """

    listeners: Listeners
    hints: HookHints
    clock: Clock
    waiting: dict[tuple[str, int], Seconds] = field(default_factory=dict)

    def announce(self, jobs: Mapping[str, Job], ledgers: Iterable[Ledger]) -> Collection[str]:
        """Have webhooks hear of changes that are not folded yet; return the jobs for which that failed.

        Args:
            ledgers: as they are about to be folded.
        """
        places: dict[str, dict[str, dict[int, None]]] = {}
        for x in ledgers:
            job = jobs.get(x.job)
            if x.dirty and job is not None and self.listeners.has(job.namespace):
                places.setdefault(job.namespace, {}).setdefault(x.job, {})[x.chunk] = None
        failed: set[str] = set()
        for namespace, of_jobs in places.items():
            try:
                self._hint(namespace, {job: tuple(chunks) for job, chunks in of_jobs.items()})
            except Retriable:
                failed |= of_jobs.keys()
        return failed

    def _hint(self, namespace: str, places: Places) -> None:
        """Send the hints of a namespace: what was changed was written before."""
        self.hints.gather(namespace, places, HookPace.NOW)
        now = self.clock.now()
        if later := self._unspared(places, now):
            self.hints.gather(namespace, later, HookPace.LATER)
            self._remember(later, now)

    def _unspared(self, places: Places, now: Seconds) -> Places:
        """Return those chunks of which no hint waits, as far as this process knows."""
        left = {job: tuple(n for n in chunks if not self._spared((job, n), now)) for job, chunks in places.items()}
        return {job: chunks for job, chunks in left.items() if chunks}

    def _spared(self, place: tuple[str, int], now: Seconds) -> bool:
        return 0 <= now - self.waiting.get(place, -inf) < SPARES_S

    def _remember(self, places: Places, now: Seconds) -> None:
        if len(self.waiting) >= KNOWN:
            self.waiting.clear()
        self.waiting.update({(job, n): now for job, chunks in places.items() for n in chunks})
