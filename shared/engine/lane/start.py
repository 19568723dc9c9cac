"""The start of a lease: take the chunk's ledger, take over one whose worker died, or put the pointer off (L1)."""

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import Final

from shared.contracts import Credential, pointer
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.queue import Expired, LedgerQueue, NotDue
from shared.domain.jobs.states import ACTIVE
from shared.domain.lanes.backoff import MAX_QUEUE_DELAY
from shared.domain.lanes.pacing import pace
from shared.domain.times import Millis, Seconds
from shared.engine.lane.recovery import Recovery
from shared.engine.lane.slots import PATIENCE, patience
from shared.ports import Clock, Lanes, Records

UNSTORED: Final = -1
"""The version of a ledger that nothing has stored."""
KEPT_JOBS: Final = 64
"""Jobs kept in memory that were stopped a moment ago."""


class PointerResult(Enum):
    """The result of a pointer."""

    SENT = "sent"
    """The lease ended, also if some of the chunk is left."""
    POSTPONED = "postponed"
    NOTHING = "nothing"


class Starter:
    """Starts the leases of one credential's sender; safe for threads.

    Args:
        leases: how many leases the credential's workers hold at the most.
        lease_margin: seconds that a lease is longer than its work.
        waits: whether a job's messages wait for the lane's quota, so that no lease is needed.
    """

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerQueue,
        lanes: Lanes,
        credential: Credential,
        recovery: Recovery,
        clock: Clock,
        leases: int,
        lease_margin: Seconds,
        waits: Callable[[str], bool],
    ) -> None:
        self._waits = waits
        self._records = records
        self._ledgers = ledgers
        self._lanes = lanes
        self._credential = credential
        self._recovery = recovery
        self._clock = clock
        self._leases = leases
        self._lease_margin = lease_margin
        self._resting: dict[str, None] = {}

    def start(self, job: str, number: int, *, owner: str, deadline: Seconds) -> Ledger | PointerResult:
        """Start a lease on a chunk (L1).

        Args:
            owner: unique to this lease.
            deadline: Unix seconds when the process is frozen or killed.

        Returns:
            The ledger under the new lease, or the pointer's result if there is none.
        """
        if self._waits(job) or (job in self._resting and self._rests(job)):
            return PointerResult.NOTHING
        for _ in range(2):
            now = self._clock.now()
            got = self._ledgers.send_start(
                job,
                number,
                lane=self._credential.id,
                owner=owner,
                now=int(now * 1000),
                until=self._until(now, deadline),
            )
            if isinstance(got, Ledger):
                return got
            if got is None:
                return PointerResult.NOTHING
            if isinstance(got, NotDue):
                return self._postpone(job, number, got.not_before / 1000 - now)
            self._take_over(got)
        return PointerResult.NOTHING

    def foresee(self, read: Ledger, *, owner: str, deadline: Seconds) -> Ledger | PointerResult | None:
        """Return a small job's ledger as its lease is going to have it, once its first claim writes both.

        Its version is none that is ever stored, so that nothing can be written from it.

        Args:
            read: as it was just read.

        Returns:
            Or the pointer's result, if there is nothing to do; None if `start` is to decide.
        """
        now = self._clock.now()
        until = self._until(now, deadline)
        leased = rules.acquire(read, lane=self._credential.id, owner=owner, now=int(now * 1000), until=until)
        if leased is not None:
            return replace(leased, version=UNSTORED)
        held = read.status is LedgerStatus.BUSY and not read.ran_out(int(now * 1000))
        return PointerResult.NOTHING if held or read.status is LedgerStatus.DONE else None

    def _until(self, now: Seconds, deadline: Seconds) -> Millis:
        """Return when a lease that starts now runs out, unless a claim makes it last longer (L1.3)."""
        end = min(deadline, now + PATIENCE + patience(pace(self._credential.rate, 1), self._leases))
        return int((end + self._lease_margin) * 1000)

    def rest(self, job: str) -> None:
        """Remember a job that was stopped: hundreds of its pointers may still come."""
        if len(self._resting) >= KEPT_JOBS:
            self._resting.pop(next(iter(self._resting)), None)
        self._resting[job] = None

    def _rests(self, job_id: str) -> bool:
        """Look whether a job that was not active still is not; without a lease, which would keep it from its end."""
        job = self._records.job(job_id)
        if job is None or job.state not in ACTIVE:
            return True
        self._resting.pop(job_id, None)
        return False

    def _postpone(self, job_id: str, number: int, delay: Seconds) -> PointerResult:
        job = self._records.job(job_id)
        if job is None:
            return PointerResult.NOTHING
        self._lanes[self._credential.id].send(
            [pointer(job_id, number)],
            delay=min(max(0.0, delay), MAX_QUEUE_DELAY),
            group=job.account,
            express=job.express,
        )
        return PointerResult.POSTPONED

    def _take_over(self, expired: Expired) -> None:
        job = self._records.job(expired.ledger.job)
        if job is not None:
            self._recovery.take_over(job, expired.ledger)
