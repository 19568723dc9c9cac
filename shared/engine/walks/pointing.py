"""Which chunks are pointed to again. Source: docs/protocol.md, "Sweep".

A rule that counts in hours holds once for each hour that ended since the last look: so nothing is written for it, and
each hour counts once however often, or late, the sweeper comes.
"""

from typing import Final

from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.lanes.switches import Hold
from shared.domain.times import Millis
from shared.ports import Holds, Lanes

LOST_AFTER_MS: Final = 3_600_000
"""A pointer of a lane that is not empty counts as lost after an hour, and each hour again: sending pointers again every
minute would flood a slow lane, where a million recipients wait for days."""
UNLEASED_MS: Final = 120_000
"""A chunk that was never leased is pointed to once more if its job has had no lease for so long: whoever planned the
job may have died before the pointers, and those are missed by somebody who waits for a password."""
RESUMED_MS: Final = 10_000
"""So long after a resume what was paused is pointed to once, if it has not been worked on since: the pointers of a
paused lane are acknowledged, and others may keep that lane from ever being empty. By then every sender has seen it."""


class Pointing:
    """What a run has read of lanes and holds, and the rules; safe for threads, which may read a thing twice."""

    def __init__(self, *, holds: Holds, lanes: Lanes, now: Millis) -> None:
        """`now`: Unix milliseconds at which the run began."""
        self._holds = holds
        self._lanes = lanes
        self._now = now
        self._held: dict[tuple[str, str], Hold] = {}
        self._empty: dict[tuple[str, bool], bool] = {}

    def hold(self, account: str, lane: str) -> Hold:
        """Return whether an account's work on a lane is held back."""
        key = (account, lane)
        if key not in self._held:
            self._held[key] = self._holds.read(account, lane)
        return self._held[key]

    def lost(self, job: Job, x: Ledger, since: int) -> bool:
        """Return whether the pointer of an IDLE ledger seems lost.

        A paused ledger needs no pointer. After a resume, its pointer may be missing.

        Args:
            job: the ledger's job.
            x: the ledger.
            since: the last look at it, Unix milliseconds.
        """
        if x.not_before > self._now:
            return False
        hold = self.hold(job.account, x.lane)
        if hold.paused:
            return False
        last = max(job.planned_at, x.released_at, x.not_before)
        if last <= hold.resumed_at:
            if since < hold.resumed_at + RESUMED_MS <= self._now:
                return True
            last = hold.resumed_at
        hours = (self._now - last) // LOST_AFTER_MS
        if hours > 0 and since < last + hours * LOST_AFTER_MS:
            return True
        queue = (x.lane, job.express)
        if queue not in self._empty:
            self._empty[queue] = self._lanes[x.lane].is_empty(express=job.express)
        return self._empty[queue]

    def unserved(self, job: Job, x: Ledger, leased_at: int, since: int) -> bool:
        """Tell whether a due chunk was never leased, and its job has had no lease for two minutes: once for each plan.

        For a job of one chunk that is so in one look; for others it is noted on the job (`pointed_at`), of which
        another chunk may be leased in between.

        Args:
            job: as read.
            x: a ledger that is IDLE.
            leased_at: when the last lease of any chunk of the job ended, Unix milliseconds; `now` if one is held.
            since: the last look at it, Unix milliseconds.
        """
        if x.epoch or x.not_before > self._now or self.hold(job.account, x.lane).paused:
            return False
        silent = max(job.planned_at, x.not_before, leased_at) + UNLEASED_MS
        if silent > self._now:
            return False
        return since < silent if job.chunks == 1 else job.pointed_at < job.planned_at

    def is_left(self, job: Job, x: Ledger) -> bool:
        """Tell whether a chunk waits in the lane of a credential that is declared no more, for an hour by now.

        While a deployment is under way, others may know of a credential that is not declared here yet.
        """
        last = max(job.planned_at, x.released_at, x.not_before)
        return self._now - last > LOST_AFTER_MS and not self.hold(job.account, x.lane).paused
