"""Which open jobs are stuck: work waits, and nothing has happened to it for too long.

A job behind others in a slow lane is not stuck as long as the lane moves, nor is one whose account or lane is paused,
nor one that is tried again and again: that is for the breaker to tell.
"""

from collections.abc import Callable, Sequence
from typing import Final

from shared.domain.jobs import Job
from shared.domain.ledger import Ledger, LedgerStatus
from shared.domain.states import ACTIVE
from shared.domain.switches import Hold
from shared.ports import OpenJob, Records

STUCK_AFTER_MS: Final = 2 * 3_600_000
"""A pointer that was lost is sent again after an hour at the most; what has not moved an hour later will not."""


class Census:
    """The open jobs of one run of the sweeper.

    Args:
        records: the jobs.
        holds: tells whether somebody has paused a job: its account, the lane that it waits for, or everything.
        now: Unix milliseconds.
    """

    def __init__(self, records: Records, holds: Callable[[str, str], Hold], now: int) -> None:
        self._records = records
        self._holds = holds
        self._now = now
        self._moved: dict[str, int] = {}
        """Lane → Unix milliseconds of the last thing that happened in it."""
        self._still: dict[str, frozenset[str]] = {}
        """Jobs that have not moved → the lanes that they wait for; none if they wait for nobody."""

    def see(self, job: Job, ledgers: Sequence[Ledger]) -> None:
        """Take in a job that is under way, and all its ledgers."""
        last = max(job.created_at, job.not_before, job.planned_at, job.stopped_at)
        waits: set[str] = set()
        for x in ledgers:
            busy = x.status is LedgerStatus.BUSY and x.until >= self._now
            at = self._now if busy or x.not_before > self._now else x.released_at
            last = max(last, at)
            self._moved[x.lane] = max(self._moved.get(x.lane, 0), at)
            if x.status is LedgerStatus.IDLE:
                waits.add(x.lane)
        if last < self._now - STUCK_AFTER_MS:
            self._still[job.id] = frozenset(waits) if job.state in ACTIVE else frozenset()

    def wait(self, entry: OpenJob) -> None:
        """Take in a job that is READY; one that reserves its credential may have to wait for others'."""
        if max(entry.created_at, entry.not_before) < self._now - STUCK_AFTER_MS:
            self._still[entry.job] = frozenset({entry.credential} - {""})

    def stuck(self) -> list[str]:
        """Return the jobs that are stuck, once all were seen."""
        return [name for name, lanes in self._still.items() if self._is_stuck(name, lanes)]

    def _is_stuck(self, name: str, lanes: frozenset[str]) -> bool:
        if any(self._moved.get(lane, 0) >= self._now - STUCK_AFTER_MS for lane in lanes):
            return False
        return not any(self._pauses(name, lane) for lane in lanes or {""})

    def _pauses(self, name: str, lane: str) -> bool:
        job = self._records.job(name)
        return job is None or self._holds(job.account, lane).paused  # None: it has gone meanwhile
