"""Another time for a job that waits for its time, or now (J5). Source: docs/adr/0262."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.campaigns.approval import Decision
from shared.domain.campaigns.campaign import Campaign
from shared.domain.hours.hours import begin_of
from shared.domain.ids import made_at
from shared.domain.jobs.job import Job
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.times import DAY_MS, FUTURE, USE_WITHIN_DAYS, Millis
from shared.engine.intake.schedules import Schedules, waits
from shared.engine.jobs.control import NOT_FOR_NOTICES, NotNow
from shared.engine.jobs.plan import Planner
from shared.ports import Clock, Records, Retriable

STARTED: Final = NotNow("already_started", None)
"""The job no longer waits: it is being sent, waits for its turn, or was stopped."""
CHANGED: Final = NotNow("schedule_changed", None)
"""Somebody else has given it another time since the caller looked."""
APPROVED: Final = NotNow("time_approved", None)
"""Another person has approved the list with its time."""
TOO_LATE: Final = NotNow("too_late", None)
"""The job's recipients are not kept for as long."""
_LOG: Final = logging.getLogger(__name__)


def can_move(job: Job, now: Millis) -> bool:
    """Tell whether a job can get another time: it waits for its time, and holds no credential."""
    return waits(job, now) and not (job.closed and job.planned_at) and not job.owned


def latest(job: Job) -> Millis:
    """Return the latest time that a job can wait for: a list counts from its upload, anything else from acceptance."""
    if job.campaign:
        return made_at(job.id) + USE_WITHIN_DAYS * DAY_MS
    return job.created_at + int(FUTURE * 1000)


class Rescheduler:
    """Gives jobs that wait another time."""

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerQueue,
        planner: Planner,
        schedules: Schedules,
        clock: Clock,
        campaign_of: Callable[[str], Campaign | None],
        kept_days: int,
    ) -> None:
        """Make what owners use.

        Args:
            campaign_of: None for an id without a campaign.
            kept_days: days that a job is kept from its time on.
        """
        self._records = records
        self._ledgers = ledgers
        self._planner = planner
        self._schedules = schedules
        self._clock = clock
        self._kept_days = kept_days
        self._campaign_of = campaign_of

    def refusal(self, job: Job, wanted: Millis, seen: Millis | None = None) -> NotNow | None:
        """Return why a job, as just read, does not get another time; None: it may.

        Args:
            wanted: Unix milliseconds; 0: now.
            seen: the time that the caller believes the job waits for; None: any.
        """
        if job.owned:
            return NOT_FOR_NOTICES
        if not can_move(job, self._now()):
            return STARTED
        if seen not in (None, job.not_before) and self._moved(job, wanted).not_before != job.not_before:
            return CHANGED  # but not to a call that is repeated because its answer was lost
        if self._is_approved(job):
            return APPROVED
        return TOO_LATE if wanted > latest(job) else None

    def move(self, job: Job, wanted: Millis, *, by: str = SYSTEM, seen: Millis | None = None) -> Job | NotNow | None:
        """Give a job another time, and start it if that is now. None: it no longer exists.

        Items of a job that is put off are kept longer first. So a crash at any point loses nothing.

        Args:
            wanted: Unix milliseconds; 0 or a time of the past: now. Its hours may let it begin later.
            by: the actor, for the audit log.
            seen: the time that the caller believes it waits for; None: any.
        """
        refused = self.refusal(job, wanted, seen)
        if refused is not None:
            return refused
        moved = self._moved(job, wanted)
        if (moved.not_before, moved.rests_until) == (job.not_before, job.rests_until):
            return job
        self._keep(job, moved.not_before)
        self._schedules.announce(moved)
        told = {"campaign": job.campaign} if job.campaign else {}
        times: dict[str, str | int] = {"not_before": moved.not_before, "before": job.not_before}
        event = audited(job.namespace, self._now(), job.id, Act.JOB_RESCHEDULED, by, {**told, **times})
        changed = self._records.reschedule(job, moved, event=event)
        if changed.job is None or not changed.won:
            self._schedules.renounce(moved)
            return None if changed.job is None else self._overtaken(changed.job)
        return self._arrange(job, changed.job)

    def move_all(
        self, jobs: Sequence[Job], wanted: Millis, *, by: str = SYSTEM, seen: Millis | None = None
    ) -> list[Job] | NotNow:
        """Give those of a campaign's jobs that wait another time; returns them. If one must not, none does.

        Args:
            wanted: as in `move`, like `by` and `seen`.
        """
        waiting = [job for job in jobs if can_move(job, self._now())]
        for job in waiting:
            refused = self.refusal(job, wanted, seen)
            if refused is not None:
                return refused
        return _moved_of([self.move(job, wanted, by=by, seen=seen) for job in waiting])

    def _is_approved(self, job: Job) -> bool:
        """Tell whether another person has approved a job's list. A job of an earlier version does not say so itself."""
        campaign = self._campaign_of(job.campaign) if job.campaign and not job.approved else None
        decided = campaign.decided if campaign is not None else None
        last = decided is not None and (decided.upload, decided.decision) == (job.id, Decision.APPROVED)
        return job.approved or last

    def _moved(self, job: Job, wanted: Millis) -> Job:
        """Return a job with another time, which its hours may put off."""
        now = self._now()
        asked = max(now, wanted)
        begin = begin_of(job.hours, asked)
        return replace(job, not_before=begin if begin > now else 0, rests_until=begin if begin > asked else 0)

    def _keep(self, job: Job, begin: Millis) -> None:
        """Have what belongs to a job deleted later, if it is to begin later than it was accepted for."""
        until = (begin + self._kept_days * DAY_MS) // 1000
        if not begin or job.ttl >= until:
            return
        for x in self._ledgers.read_all(job.id):
            if x.ttl < until:
                self._records.keep_chunk(job.id, x.chunk, until)
        self._records.keep_job(job, until)

    def _overtaken(self, stored: Job) -> NotNow:
        return CHANGED if can_move(stored, self._now()) else STARTED

    def _arrange(self, before: Job, job: Job) -> Job | None:
        """Start a job that has another time now, or have it looked at then."""
        self._schedules.replace(before, job)
        if waits(job, self._now()):
            return job
        try:
            self._planner.plan(job.id)
        except Retriable:
            # It is due: an error would have its client ask again. The stream also plans the job.
            _LOG.warning("start left to the stream", extra={"job": job.id})
        return self._records.job(job.id)

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


def _moved_of(found: Sequence[Job | NotNow | None]) -> list[Job] | NotNow:
    """Return the jobs that have another time, or why none has."""
    moved = [x for x in found if isinstance(x, Job)]
    return moved or next((x for x in found if isinstance(x, NotNow)), STARTED)
