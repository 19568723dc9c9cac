"""Stop, resume and retry of jobs of every kind (J4)."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from shared.domain.audit import SYSTEM, Act, Event, audited
from shared.domain.channels.lookup import channel_of
from shared.domain.jobs import retries
from shared.domain.jobs.job import Job, RetryRequest, StopReason
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import Cell, Change, JobState
from shared.domain.spending.limits import CODE, Exceeded
from shared.domain.spending.reserved import Reserved, unpack
from shared.domain.times import DAY_MS
from shared.engine.intake.schedules import Schedules
from shared.engine.jobs.plan import Planner
from shared.engine.jobs.retry import Retrier
from shared.engine.jobs.stop import Stopper
from shared.engine.spender import Spender
from shared.frozen import dataclass
from shared.ports import Clock, Records, Retriable

MIN_LIFE_MS: Final = 15 * DAY_MS
"""Retention that must be left for a resume or a retry: its feedback needs the items."""
RETRY_AFTER: Final = 5
"""Seconds a client is asked to wait while a job is on its way to LOGGED."""
AT_ONCE: Final = 200
"""Chunks up to which a retry is carried out while its caller waits; that of a larger job is recorded on it."""
INCLUDES: Final = {"unsent": (), "failed": (Cell.DROPPED,), "unknown": (Cell.UNKNOWN,)}
"""The words that a retry may include, and the cells that each reopens; unsent ones are QUEUED already."""
UNSENT: Final = frozenset({"unsent"})
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Resumed:
    """The job continues with `messages` messages; 0: there was nothing to do and nothing changed.

    `recorded`: the job is LOGGED now, and continues as soon as all its chunks have been made ready.
    """

    job: Job
    messages: int
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class NotNow:
    """It cannot be done in the job's present state; `code` is stable, `retry_after` in seconds or None for never.

    `excess`: of `quota_exceeded` or `too_many_schedules`, the limit.
    """

    code: str
    retry_after: int | None
    excess: Exceeded | None = None


NOT_FOR_NOTICES: Final = NotNow("not_for_notices", None)
"""A run that was stopped would never end its notices, and a message sent again would compete with their next run."""


class JobControl:
    """What owners do with jobs."""

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerQueue,
        planner: Planner,
        retrier: Retrier,
        clock: Clock,
        schedules: Schedules | None = None,
        spender: Spender | None = None,
    ) -> None:
        """Make what owners use.

        Args:
            schedules: None leaves jobs that begin later to the sweeper.
            spender: counts what accounts spend; None: no account has limits.
        """
        self._stopper = Stopper(records=records, clock=clock)
        self._records = records
        self._ledgers = ledgers
        self._planner = planner
        self._retrier = retrier
        self._clock = clock
        self._schedules = schedules
        self._spender = spender

    def stop(
        self, job_id: str, account: str, reason: StopReason = StopReason.USER, *, by: str = SYSTEM
    ) -> Job | NotNow | None:
        """Stop a job. A job that is SENT, STOPPED or LOGGED stays as it is. None: the account has no such job.

        At most the windows already claimed still go out. A pending retry is withdrawn. The audit log has an entry in
        the same transaction.
        """
        job = self._mine(job_id, account)
        if job is not None and job.owned:
            return NOT_FOR_NOTICES
        stopped, changed = self._stopper.stop(job, reason, by=by)
        if changed and stopped is not None and self._schedules is not None:
            self._schedules.cancel(stopped)
        return stopped

    def resume(self, job_id: str, account: str, *, by: str = SYSTEM) -> Resumed | NotNow | None:
        """Send the messages that were never claimed. None: the account has no such job."""
        return self.retry(job_id, account, UNSENT, by=by)

    def override_guard(self, job: Job, *, by: str = SYSTEM) -> None:
        """Take the bounce guard off a batch, for good. The audit log gets one entry."""
        if not job.guard_off:
            self._records.override_guard(
                job.id, audited(job.namespace, self._now(), job.id, Act.BATCH_GUARD_OVERRIDDEN, by)
            )

    def _not_now(self, job: Job) -> NotNow | None:
        """Return why a job cannot be retried at the moment."""
        if job.state is JobState.STOPPED:
            return NotNow("stopping", RETRY_AFTER)
        if job.state is not JobState.LOGGED or job.retry is not None:
            return NotNow("job_in_progress", RETRY_AFTER)
        if job.ttl * 1000 - self._now() < MIN_LIFE_MS:
            return NotNow("expired", None)
        return NotNow("sender_removed", None) if self._planner.standing_check.sender_removed(job) else None

    def retry(self, job_id: str, account: str, include: frozenset[str], *, by: str = SYSTEM) -> Resumed | NotNow | None:
        """Send again what may be sent again, keeping the job's age. None: the account has no such job.

        Args:
            include: some of INCLUDES. "unknown" may send a message twice; its log then says `may_duplicate`.
        """
        job = self._mine(job_id, account)
        if job is None:
            return None
        if job.owned:
            return NOT_FOR_NOTICES
        job = self.at_rest(job)
        not_now = self._not_now(job)
        if not_now is not None:
            return not_now
        states = tuple(s for name in sorted(include) for s in INCLUDES[name])
        event = self._resumed(job, include, by)
        full = self._schedules.readmit(job) if self._schedules is not None else None
        if full is not None:
            return NotNow(full.code, full.wait, full)
        charge = self._charge(job, states, by)
        return charge if isinstance(charge, NotNow) else self._restart(job, states, event, charge)

    def _restart(self, job: Job, states: Sequence[Cell], event: Event, charge: str) -> Resumed | NotNow | None:
        """Queue cells in some states again, and start the job. If nothing starts, it gives the charge back."""
        restart = self._record if states and job.chunks > AT_ONCE else self._requeued
        found = restart(job, states, event, charge)
        if charge and not (isinstance(found, Resumed) and found.messages):
            self._give_back(charge)
        return found

    def _charge(self, job: Job, states: Sequence[Cell], by: str) -> str | NotNow:
        """Count the messages that a campaign's job sends again, which its end gave back or which had an end.

        Returns:
            The charge that the job holds from now on; empty: none. Messages of other jobs stay counted.
        """
        if self._spender is None or not job.campaign or job.test or not self._spender.holds(job.account, by):
            return ""
        messages = 0
        for x in self._ledgers.read_all(job.id):
            new = retries.reopen(x, tuple(states), job.policy.max_attempts)
            messages += len((new or x).having(Cell.QUEUED, Cell.RETRY))
        taken = self._spender.take(job.account, job.channel, messages * self._slots(job), by)
        if isinstance(taken, Exceeded):
            return NotNow(CODE, taken.wait, taken)
        return Reserved(taken, messages, job.counts["skipped"]).pack() if taken is not None else ""

    def _slots(self, job: Job) -> int:
        """Return as how many a message of a job counts: an SMS as its segments, as its template has them."""
        channel = channel_of(job.channel)
        content = self._records.content(job.id) if channel.most_slots > 1 else None
        return channel.slots(content.text) if content is not None else 1

    def _give_back(self, charge: str) -> None:
        if self._spender is not None:
            self._spender.give_back(unpack(charge).charge)

    def _requeued(self, job: Job, states: Sequence[Cell], event: Event, charge: str) -> Resumed | NotNow | None:
        """Queue cells in some states again, and start the job."""
        messages = 0
        for x in self._ledgers.read_all(job.id):
            current = self._requeue(job, x, states)
            if current is None:
                return NotNow("job_in_progress", RETRY_AFTER)
            messages += len(current.having(Cell.QUEUED, Cell.RETRY))
        return self._resume(job, messages, event, charge)

    def repeatable(self, job: Job) -> dict[str, int]:
        """Return how many messages a retry would send now, by each word of INCLUDES.

        Every retry sends the unsent ones. As the retry does, this reads all ledgers of a job, also of a large one.
        """
        counts = dict.fromkeys(INCLUDES, 0)
        for x in self._ledgers.read_all(job.id):
            counts["unsent"] += len(x.having(Cell.QUEUED, Cell.RETRY))
            for name, states in INCLUDES.items():
                counts[name] += len(retries.repeatable(x, states))
        return counts

    def at_rest(self, job: Job) -> Job:
        """Return a job as just read, LOGGED if it was stopped before it ever began: no finaliser need come (J3)."""
        if job.state is not JobState.STOPPED or job.planned_at:
            return job
        if any(x.status is LedgerStatus.BUSY for x in self._ledgers.read_all(job.id)):
            return job
        return self._records.change(job, Change.LOG, self._now(), strict=True).job or job

    def _requeue(self, job: Job, read: Ledger, states: Sequence[Cell]) -> Ledger | None:
        """Queue a ledger's cells again while the job is LOGGED; None if it runs again already.

        Under a running job the finaliser may have read this ledger as done, and the job would end with it at work.
        """
        current: Ledger | None = read
        while current is not None:
            new = retries.reopen(current, tuple(states), job.policy.max_attempts)
            if new is None:
                return current
            if self._records.requeue(current, new, job):
                return new
            seen = self._records.job(job.id)
            if seen is None or seen.state is not JobState.LOGGED:
                return None
            current = self._ledgers.read(job.id, read.chunk)
        return None

    def _record(self, job: Job, states: Sequence[Cell], event: Event, charge: str) -> Resumed | NotNow | None:
        """Record a retry on its job and carry out its first slice; the log function carries out the next ones."""
        first = None
        messages = 0
        for x in self._ledgers.read_all(job.id):
            new = retries.reopen(x, states, job.policy.max_attempts)
            if new is not None and first is None:
                first = x.chunk
            messages += len((new or x).having(Cell.QUEUED, Cell.RETRY))
        if first is None:
            return self._resume(job, messages, event, charge)
        asked = self._records.set_retry(job, RetryRequest(tuple(states), self._now(), first, charge), event=event)
        if asked.job is None:
            return None
        if not asked.won:
            return NotNow("job_in_progress", RETRY_AFTER)
        try:
            self._retrier.step(job.id)  # the stream of its ledgers calls the log function
        except Retriable:
            _LOG.warning("retry left to the sweeper", extra={"job": job.id})  # it is recorded, so nothing is lost
        return Resumed(asked.job, messages, recorded=True)

    def _resume(self, job: Job, messages: int, event: Event, charge: str) -> Resumed | NotNow | None:
        """Start a job whose ledgers are ready, if they hold anything to send."""
        if messages == 0:
            return Resumed(job, 0)
        changed = self._records.change(job, Change.RESUME, self._now(), event=event, charge=charge)
        if changed.job is None:
            return None
        if changed.job.state is not JobState.READY:
            # Somebody else's retry was faster, and the job may end without what was reopened just now: ask again.
            return NotNow("job_in_progress", RETRY_AFTER)
        planned = self._planner.plan(job.id)
        if planned is None and self._schedules is not None:
            self._schedules.hint(changed.job)
        return Resumed(planned or self._records.job(job.id) or changed.job, messages)

    def _event(self, job: Job, act: Act, by: str, data: Mapping[str, str | int] | None = None) -> Event:
        campaign = {"campaign": job.campaign} if job.campaign else {}
        return audited(job.namespace, self._now(), job.id, act, by, {**campaign, **(data or {})})

    def _resumed(self, job: Job, include: frozenset[str], by: str) -> Event:
        """Return the audit entry of a resume, or of a retry with what it includes."""
        if include == UNSENT:
            return self._event(job, Act.JOB_RESUMED, by)
        return self._event(job, Act.JOB_RETRIED, by, {"include": " ".join(sorted(include))})

    def _mine(self, job_id: str, account: str) -> Job | None:
        job = self._records.job(job_id)
        return job if job is not None and job.account == account else None

    def _now(self) -> int:
        return int(self._clock.now() * 1000)
