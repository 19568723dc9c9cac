"""Which open jobs are stuck: work waits, and nothing has happened to it for too long.

A job behind others in a slow lane is not stuck as long as the lane moves. Nor is one whose account or lane is paused.
Nor is one that is tried again and again: the breaker reports that.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Final

from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.states import ACTIVE
from shared.domain.lanes.switches import Hold
from shared.domain.times import Millis
from shared.ports import OpenJob, Records

STUCK_AFTER_MS: Final = 2 * 3_600_000
"""A pointer that was lost is sent again after an hour at the most. Work that has not moved an hour later is stuck."""
AT_ONCE: Final = 100
"""Jobs read at once."""


class StuckJobs:
    """The open jobs of one round of the sweeper; safe for threads.

    Args:
        holds: returns the pauses of a job: of its account, of the lane that it waits for, and of everything.
    """

    def __init__(self, records: Records, holds: Callable[[str, str], Hold], now: Millis) -> None:
        self._records = records
        self._holds = holds
        self._now = now
        self._lock = threading.Lock()
        self._moved: dict[str, int] = {}
        """Lane → Unix milliseconds of the last thing that happened in it."""
        self._still: dict[str, frozenset[str]] = {}
        """Jobs that have not moved → the lanes that they wait for; none if they wait for no lane."""

    def note(self, ledgers: Sequence[Ledger]) -> tuple[int, frozenset[str]]:
        """Take in ledgers of a job; returns when something last happened to one, and the lanes that they wait for."""
        last = 0
        waits: set[str] = set()
        moved: dict[str, int] = {}
        for x in ledgers:
            busy = x.status is LedgerStatus.BUSY and x.until >= self._now
            at = self._now if busy or x.not_before > self._now else x.released_at
            last = max(last, at)
            moved[x.lane] = max(moved.get(x.lane, 0), at)
            if x.status is LedgerStatus.IDLE:
                waits.add(x.lane)
        with self._lock:
            for lane, at in moved.items():
                self._moved[lane] = max(self._moved.get(lane, 0), at)
        return last, frozenset(waits)

    def see(self, job: Job, last: int, waits: frozenset[str]) -> None:
        """Take in a running job, after `note` has seen all of its ledgers.

        Args:
            last: when something last happened to a ledger, Unix milliseconds, as `note` returned it.
            waits: the lanes that the ledgers wait for, as `note` returned them.
        """
        at = max(last, job.created_at, job.not_before, job.planned_at, job.stopped_at)
        if at < self._now - STUCK_AFTER_MS:
            self._still[job.id] = waits if job.state in ACTIVE else frozenset()

    def wait(self, entry: OpenJob) -> None:
        """Take in a job that is READY; one that reserves its credential may have to wait for others'."""
        if max(entry.created_at, entry.not_before) < self._now - STUCK_AFTER_MS:
            self._still[entry.job] = frozenset({entry.credential} - {""})

    def stuck(self) -> list[str]:
        """Return the jobs that are stuck, once all were seen."""
        still = {name: lanes for name, lanes in self._still.items() if not self._moves(lanes)}
        found = []
        for start in range(0, len(still), AT_ONCE):
            names = list(still)[start : start + AT_ONCE]
            jobs = self._records.read_jobs(names)
            found += [name for name in names if name in jobs and not self._pauses(jobs[name], still[name])]
        return found

    def _moves(self, lanes: frozenset[str]) -> bool:
        return any(self._moved.get(lane, 0) >= self._now - STUCK_AFTER_MS for lane in lanes)

    def _pauses(self, job: Job, lanes: frozenset[str]) -> bool:
        return any(self._holds(job.account, lane).paused for lane in lanes or {""})
