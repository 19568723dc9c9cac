"""Announces changed messages to webhooks: a hint goes out before a ledger's figures are folded.

A change marks its ledger as dirty, and only a fold takes the mark away. So every change is announced at least once,
also one that the stream of ledgers has lost: the sweeper folds it, then. An account without webhooks costs nothing.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from shared.domain.hooks.kinds import HookPace
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.ports import HookHints, Listeners, Retriable


class Announcing(Protocol):
    """What a fold does before it begins."""

    def announce(self, jobs: Mapping[str, Job], ledgers: Iterable[Ledger]) -> Collection[str]:
        """Have webhooks hear of changes that are not folded yet.

        Args:
            jobs: by id, those of the ledgers.
            ledgers: as they are about to be folded.

        Returns:
            The ids of jobs whose changes could not be announced, so that they must not be folded.
        """
        ...


class Silent:
    """A deployment without webhooks."""

    def announce(self, jobs: Mapping[str, Job], ledgers: Iterable[Ledger]) -> Collection[str]:  # noqa: ARG002 - port
        """Do nothing."""
        return ()


@dataclass(frozen=True, slots=True)
class Announcer:
    """Sends hints for the namespaces that have endpoints: one for each pace, whatever the number of jobs.

    Attributes:
        listeners: which namespaces these are.
        hints: where hints go.
    """

    listeners: Listeners
    hints: HookHints
    paces: tuple[HookPace, ...] = field(default=tuple(HookPace))

    def announce(self, jobs: Mapping[str, Job], ledgers: Iterable[Ledger]) -> Collection[str]:
        """Have webhooks hear of changes that are not folded yet; return the jobs for which that failed.

        Args:
            jobs: by id, those of the ledgers.
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
                for pace in self.paces:
                    self.hints.gather(namespace, {job: tuple(chunks) for job, chunks in of_jobs.items()}, pace)
            except Retriable:
                failed |= of_jobs.keys()
        return failed
