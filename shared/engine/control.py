"""Stop, resume and retry of jobs of every kind (J4)."""

from dataclasses import dataclass
from typing import Final

from shared.domain.jobs import Job, StopReason
from shared.domain.states import Cell, Change, JobState
from shared.engine.plan import Planner
from shared.ports import Clock, LedgerStore, Records

MIN_LIFE_MS: Final = 15 * 86_400_000
"""Retention that must be left for a resume or a retry: its feedback needs the items."""
RETRY_AFTER: Final = 5
"""Seconds a client is asked to wait while a job is on its way to LOGGED."""
INCLUDES: Final = {"unsent": (), "failed": (Cell.DROPPED,), "unknown": (Cell.UNKNOWN,)}
"""What a retry may name, and the cells it reopens; unsent ones are QUEUED already."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The job goes on with `messages` messages; 0: there was nothing to do and nothing changed."""

    job: Job
    messages: int


@dataclass(frozen=True, slots=True)
class NotNow:
    """It cannot be done in the job's present state; `code` is stable, `retry_after` in seconds or None for never."""

    code: str
    retry_after: int | None


class JobControl:
    """What owners do with jobs."""

    def __init__(self, *, records: Records, ledgers: LedgerStore, planner: Planner, clock: Clock) -> None:
        self._records = records
        self._ledgers = ledgers
        self._planner = planner
        self._clock = clock

    def stop(self, job_id: str, account: str, reason: StopReason = StopReason.USER) -> Job | None:
        """Stop a job; unchanged if it is SENT, STOPPED or LOGGED. None: the account has no such job.

        From here at most the windows already claimed go out.
        """
        job = self._mine(job_id, account)
        if job is None:
            return None
        return self._records.change(job, Change.STOP, self._now(), reason=reason.value).job

    def resume(self, job_id: str, account: str) -> Resumed | NotNow | None:
        """Send what was never claimed. None: the account has no such job."""
        return self.retry(job_id, account, frozenset({"unsent"}))

    def retry(self, job_id: str, account: str, include: frozenset[str]) -> Resumed | NotNow | None:
        """Send again what may be sent again, keeping the job's age. None: the account has no such job.

        Args:
            job_id: the job.
            account: who asks.
            include: some of INCLUDES. "unknown" may send a message twice; its log then says `may_duplicate`.
        """
        job = self._mine(job_id, account)
        if job is None:
            return None
        if job.state is not JobState.LOGGED:
            stopping = job.state is JobState.STOPPED
            return NotNow("stopping" if stopping else "job_in_progress", RETRY_AFTER)
        if job.ttl * 1000 - self._now() < MIN_LIFE_MS:
            return NotNow("expired", None)
        states = tuple(s for name in include for s in INCLUDES[name])
        messages = 0
        for x in self._ledgers.read_all(job.id):
            current = self._ledgers.reopen(job.id, x.chunk, states, job.policy.max_attempts) if states else x
            if current is not None:
                messages += len(current.having(Cell.QUEUED, Cell.RETRY))
        if messages == 0:
            return Resumed(job, 0)
        changed = self._records.change(job, Change.RESUME, self._now())
        if changed.job is None:
            return None
        if changed.job.state is not JobState.READY:
            # Somebody else's retry was faster, and the job may end without what was reopened just now: ask again.
            return NotNow("job_in_progress", RETRY_AFTER)
        planned = self._planner.plan(job.id)
        return Resumed(planned or changed.job, messages)

    def _mine(self, job_id: str, account: str) -> Job | None:
        job = self._records.job(job_id)
        return job if job is not None and job.account == account else None

    def _now(self) -> int:
        return int(self._clock.now() * 1000)
