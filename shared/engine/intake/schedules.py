"""Jobs that begin later. `not_before` on the job decides, the sweeper guarantees it; all here is for punctuality."""

import logging
from typing import Final

from shared.contracts import due
from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.jobs.job import Job, StopReason
from shared.domain.jobs.states import Change, JobState
from shared.domain.spending import limits
from shared.domain.spending.limits import SCHEDULES, Exceeded
from shared.domain.times import Millis
from shared.ports import After, Agenda, Clock, Limit, Queue, Records, Retriable, Scheduler

QUEUED_S: Final = 900
"""Seconds that a message can wait in a queue: what is due sooner needs no schedule."""
EARLY_S: Final = 60
"""Seconds that a schedule comes early: EventBridge Scheduler keeps to the minute, the queue waits for the second."""
LEAST: Final = 100
"""Places of the agenda that are read first, however few are wanted: others may be in between."""
MORE: Final = 1000
"""Places that are read at once after these."""
PAGES: Final = 10
"""Pages of the agenda that one page of waiting jobs reads at the most. Stopped jobs keep their places there, since a
job that is resumed waits for its time again."""
_LOG: Final = logging.getLogger(__name__)


def waits(job: Job, now: Millis) -> bool:
    """Tell whether a job waits for its time. `now`: Unix milliseconds."""
    return job.state is JobState.READY and job.not_before > now


def _never_began(job: Job) -> bool:
    """Tell whether a job that was to wait for its time was stopped before it was ever planned."""
    ended = job.state in (JobState.STOPPED, JobState.LOGGED)
    return ended and job.stopped and job.not_before > 0 and job.planned_at == 0


class Schedules:
    """Keeps the agenda and the hints of jobs that begin, or cease, to wait for their time."""

    def __init__(
        self, *, records: Records, agenda: Agenda, scheduler: Scheduler, due_queue: Queue, clock: Clock
    ) -> None:
        self._records = records
        self._agenda = agenda
        self._scheduler = scheduler
        self._queue = due_queue
        self._clock = clock

    def admit(self, job: Job) -> Exceeded | None:
        """Count a job that is about to be stored and waits for its time; return the limit if its account has no room.

        If the job is not stored after all, it is counted until its account seems to have no room.
        """
        return self._full(job, self._now())

    def readmit(self, job: Job) -> Exceeded | None:
        """Do the same for a stopped job that is about to be resumed, which is on its account's agenda."""
        now = self._now()
        full = self._full(job, now)
        if full is None and job.not_before > now:
            self._agenda.note(job.account, job.id, job.not_before, test=job.test)
        return full

    def _full(self, job: Job, now: Millis) -> Exceeded | None:
        if job.not_before <= now:
            return None
        used = self._agenda.take(job.account, now, test=job.test)
        return Exceeded(SCHEDULES, limits.MAX_SCHEDULES, used, 1, now) if used else None

    def announce(self, job: Job) -> None:
        """Put a job that is about to be stored on its account's agenda, so that it is listed from the first moment."""
        if waits(job, self._now()):
            self._agenda.note(job.account, job.id, job.not_before, test=job.test)

    def renounce(self, job: Job) -> None:
        """Let a job that was announced, and was not stored, count no longer; a fault leaves it counted."""
        if not waits(job, self._now()):
            return
        try:
            self._agenda.drop(job.account, job.id, job.not_before, test=job.test)
        except Retriable:
            _LOG.warning("place not dropped", extra={"job": job.id})

    def hint(self, job: Job) -> None:
        """Have a stored job looked at when its time has come; a fault is logged, and the sweeper starts the job.

        A message waits in the queue for what is due within QUEUED_S; a schedule brings it for what is due later.
        """
        now = self._now()
        if not waits(job, now):
            return
        rest = (job.not_before - now) / 1000
        try:
            if not self._scheduled(job):
                self._queue.send([due(job.id)], delay=rest)
            else:
                self._scheduler.set(job.id, job.not_before // 1000 - EARLY_S)
        except Retriable:
            _LOG.warning("start left to the sweeper", extra={"job": job.id})

    def replace(self, before: Job, job: Job) -> None:
        """Have a stored job that got another time looked at then, and no more at the time that it had.

        A hint for the old time that comes all the same changes nothing: a message has left the queue, or is about to.
        """
        self.renounce(before)
        if self._scheduled(before) and not self._scheduled(job):
            self.cancel(before)
        self.hint(job)

    def _scheduled(self, job: Job) -> bool:
        """Tell whether a schedule brings the hint of a job, and not a message that waits in the queue."""
        return job.not_before - self._now() > QUEUED_S * 1000

    def cancel(self, job: Job) -> None:
        """Take back hint and place of a job that was stopped; a hint that comes all the same changes nothing."""
        if job.not_before <= self._now():
            return
        try:
            self._agenda.drop(job.account, job.id, job.not_before, test=job.test)
            self._scheduler.cancel(job.id)
        except Retriable:
            _LOG.warning("schedule not cancelled", extra={"job": job.id})

    def page(self, account: str, *, tests_only: bool = False, after: After, limit: Limit) -> tuple[list[Job], str]:
        """Return jobs of an account that wait for their time, soonest first, and the place of the next page.

        A page is full or the last one, unless thousands of stopped jobs lie between.

        Args:
            tests_only: whether only jobs of test keys are listed.
        """
        now = self._now()

        def listed(job: Job) -> bool:
            return job.account == account and waits(job, now) and (job.test or not tests_only)

        found: list[Job] = []
        for turn in range(PAGES):
            size = max(limit, MORE if turn else LEAST)
            jobs, after = self._agenda.page(account, tests_only=tests_only, since=now, after=after, limit=size)
            mine = [job for job in jobs if listed(job)]
            room = limit - len(found)
            found += mine[:room]
            if len(found) == limit and (after or len(mine) > room):
                return found, f"{found[-1].not_before:015d}#{found[-1].id}"
            if not after:
                break
        return found, after

    def withdraw(self, job_id: str, account: str, *, by: str = SYSTEM) -> tuple[Job | None, bool]:
        """Stop a job that still waits for its time.

        Returns:
            The job as it is stored, None if the account has no such job. Then, whether it was stopped before its time,
            by this call or another.
        """
        job = self._records.job(job_id)
        while job is not None and job.account == account:
            if not waits(job, self._now()):
                return job, _never_began(job)
            reason = StopReason.USER.value
            event = audited(job.namespace, self._now(), job.id, Act.JOB_STOPPED, by)
            changed = self._records.change(job, Change.STOP, self._now(), reason=reason, strict=True, event=event)
            if changed.won and changed.job is not None:
                self.cancel(changed.job)
                return changed.job, True
            job = changed.job
        return None, False

    def _now(self) -> int:
        return int(self._clock.now() * 1000)
