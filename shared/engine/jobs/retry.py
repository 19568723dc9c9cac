"""An owner's retry of a job with many chunks: recorded on the job and carried out slice by slice (J4).

Any number of functions may carry out the same retry, and each may die at any point. Ledgers and job record what is
done, and it is not done again. Until the retry ends, the job stays LOGGED, so that none of its messages are sent.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from shared.domain.jobs import retries
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import Cell, Change
from shared.domain.times import Seconds
from shared.engine.lane.recovery import Recovery
from shared.ports import Clock, Records

SLICE: Final = 100
"""Chunks between two records of how far a retry is: about half a second's work."""


class RetryStep(Enum):
    """The result of a step."""

    MORE = "more"
    """There is more to do now."""
    WAIT = "wait"
    """A worker still holds one of the ledgers."""
    OVER = "over"
    """There is no retry on its way, any more or at all."""


class Retrier:
    """Carries out recorded retries."""

    def __init__(self, *, records: Records, ledgers: LedgerQueue, recovery: Recovery, clock: Clock) -> None:
        self._records = records
        self._ledgers = ledgers
        self._recovery = recovery
        self._clock = clock

    def carry_on(self, job_id: str, deadline: Seconds) -> bool:
        """Carry out a job's retry until it is over or `deadline` (Unix seconds) has come; tell whether it is over."""
        while self._clock.now() < deadline:
            step = self.step(job_id)
            if step is not RetryStep.MORE:
                return step is RetryStep.OVER
        return False

    def step(self, job_id: str) -> RetryStep:
        """Queue the cells of the next slice of chunks, or, if there is none, make the job READY."""
        job = self._records.job(job_id)
        if job is None or job.retry is None:
            return RetryStep.OVER
        if job.retry.next >= job.chunks:
            ended = self._records.change(job, Change.RESUME, int(self._clock.now() * 1000), charge=job.retry.charge)
            return RetryStep.OVER if ended.won else RetryStep.MORE
        some = self._ledgers.read_some(job.id, job.retry.next, SLICE)
        for x in some:
            interrupted = self._queue(job, job.retry.states, x)
            if interrupted is not None:
                return interrupted
        reached = some[-1].chunk + 1 if some else job.chunks
        self._records.set_retry(job, replace(job.retry, next=reached))
        return RetryStep.MORE

    def _queue(self, job: Job, states: Sequence[Cell], x: Ledger) -> RetryStep | None:
        """Queue the cells of one chunk that are in some states; return what ends the step before the next chunk."""
        if x.status is LedgerStatus.BUSY:  # by a pointer that came too late to see that the job had ended
            return RetryStep.WAIT if self._recovery.take_over(job, x) is None else RetryStep.MORE
        new = retries.reopen(x, tuple(states), job.policy.max_attempts)
        # Only as it was read, and only while this retry is at this place: so one who comes late queues nothing
        # that became unknown since, and nothing under a job that runs.
        if new is not None and not self._records.requeue(x, new, job):
            return RetryStep.MORE
        return None
