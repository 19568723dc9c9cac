"""Which chunks are pointed to again. Source: docs/protocol.md, "Sweep"; docs/adr/0202.

A rule that counts in hours holds once for each hour that ended since the last look. So nothing is written for it. Each
hour counts once, however often, or late, the sweeper comes.
"""

import threading
from collections.abc import Sequence
from typing import Final

from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.lanes.depth import QueueDepth
from shared.domain.lanes.switches import Hold
from shared.domain.times import Millis
from shared.ports import Holds, Lanes

LOST_AFTER_MS: Final = 3_600_000
"""A pointer of a lane that is not empty counts as lost after an hour, and each hour again. Sending pointers again every
minute would flood a slow lane, where a million recipients wait for days."""
UNLEASED_MS: Final = 120_000
"""A chunk that was never leased may be pointed to once more if its job has had no lease for so long. The planner may
have died before it sent the pointers, and a person may be waiting for a password."""
FEW: Final = 4
"""Messages that wait in a queue which is short: what two workers receive at once. In a longer one such a chunk most
likely waits for its turn. Then no more chunks of a job than this are pointed to again."""
RESUMED_MS: Final = 10_000
"""So long after a resume, paused chunks are pointed to once, unless they were worked on since. The pointers of a paused
lane are acknowledged, and others may keep that lane from ever being empty. By then every sender has read the resume."""


class Pointing:
    """A run's reads of lanes and holds, and the rules; safe for threads, which may read a thing twice."""

    def __init__(self, *, holds: Holds, lanes: Lanes, now: Millis) -> None:
        """`now`: Unix milliseconds at which the run began."""
        self._holds = holds
        self._lanes = lanes
        self._now = now
        self._held: dict[tuple[str, str], Hold] = {}
        self._depths: dict[tuple[str, bool], QueueDepth] = {}
        self._longest: dict[tuple[str, str, bool], tuple[Millis, Job, list[Ledger]]] = {}
        """Account and queue → the job that has waited the longest there, since when, and a few of its chunks."""
        self._lock = threading.Lock()

    def hold(self, account: str, lane: str) -> Hold:
        """Return whether an account's work on a lane is held back; a lane whose quota is used up is."""
        key = (account, lane)
        if key not in self._held:
            self._held[key] = self._holds.read(account, lane).at(self._now)
        return self._held[key]

    def due_since(self, job: Job, x: Ledger) -> Millis | None:
        """Return since when a worker may take an IDLE ledger; None if it is not due, or paused.

        The wait begins anew with each lease, delay and resume.
        """
        if x.not_before > self._now:
            return None
        hold = self.hold(job.account, x.lane)
        if hold.paused:
            return None
        return max(job.planned_at, x.released_at, x.not_before, hold.resumed_at)

    def lost(self, job: Job, x: Ledger, since: int) -> bool:
        """Return whether the pointer of an IDLE ledger seems lost.

        A paused ledger needs no pointer. After a resume, its pointer may be missing.

        Args:
            since: the last look at it, Unix milliseconds.
        """
        last = self.due_since(job, x)
        if last is None:
            return False
        resumed_at = self.hold(job.account, x.lane).resumed_at
        if last == resumed_at and since < resumed_at + RESUMED_MS <= self._now:
            return True
        hours = (self._now - last) // LOST_AFTER_MS
        if hours > 0 and since < last + hours * LOST_AFTER_MS:
            return True
        return self._depth(x.lane, express=job.express).total == 0

    def unserved(self, job: Job, ledgers: Sequence[Ledger], leased_at: Millis) -> list[Ledger]:
        """Return the chunks that were never leased and whose pointers seem lost; once for each plan, which is noted.

        Their job has had no lease for two minutes. That is also so of each job behind others in a slow lane. So the
        queue has to be short, or to hold fewer messages than the job has such chunks. Else the chunks are kept for
        `longest`.

        Args:
            ledgers: some of its ledgers, all of them IDLE.
            leased_at: when the last lease of any chunk of the job ended, Unix milliseconds; `now` if one is held.
        """
        if job.pointed_at >= job.planned_at:
            return []
        by_lane: dict[str, list[Ledger]] = {}
        for x in ledgers:
            silent = max(job.planned_at, x.not_before, leased_at) + UNLEASED_MS <= self._now
            if silent and not x.epoch and not self.hold(job.account, x.lane).paused:
                by_lane.setdefault(x.lane, []).append(x)
        found: list[Ledger] = []
        for lane, silent_ones in by_lane.items():
            depth = self._depth(lane, express=job.express)
            if depth.waiting <= FEW or depth.total < len(silent_ones):
                found += silent_ones
            else:
                self._keep(job, lane, silent_ones)
        return found

    def longest(self) -> list[tuple[Job, Sequence[Ledger]]]:
        """Return for each account and queue the job that has waited the longest, with a few chunks; then forget them.

        A queue serves the older messages of an account first. So a job that has lost its pointer becomes the one that
        has waited the longest, however long the queue is.
        """
        with self._lock:
            found, self._longest = self._longest, {}
        return [(job, chunks) for _, job, chunks in found.values()]

    def _keep(self, job: Job, lane: str, ledgers: Sequence[Ledger]) -> None:
        key, since = (job.account, lane, job.express), max(job.planned_at, job.not_before)
        with self._lock:
            kept = self._longest.get(key)
            if kept is None or (since, job.id) < (kept[0], kept[1].id):
                self._longest[key] = since, job, list(ledgers[:FEW])

    def _depth(self, lane: str, *, express: bool) -> QueueDepth:
        """Return what a queue holds. Each is asked once in a run; by a few looks if these ask at the same moment."""
        if (lane, express) not in self._depths:
            self._depths[lane, express] = self._lanes[lane].depth(express=express)
        return self._depths[lane, express]

    def is_left(self, job: Job, x: Ledger) -> bool:
        """Tell whether a chunk waits in the lane of a credential that is declared no more, for an hour by now.

        While a deployment is under way, others may know of a credential that is not declared here yet.
        """
        last = max(job.planned_at, x.released_at, x.not_before)
        return self._now - last > LOST_AFTER_MS and not self.hold(job.account, x.lane).paused
