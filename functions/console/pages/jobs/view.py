"""Jobs as people read them."""

from typing import Final

from functions.console import charts
from functions.console.charts import Bar
from functions.console.pages.hours import words
from shared.domain.jobs.job import MAIL, Job
from shared.domain.jobs.states import ACTIVE, JobState
from shared.domain.times import Millis
from shared.engine.jobs.progress import Headway
from shared.engine.jobs.rescheduling import can_move
from shared.engine.jobs.stop import can_stop
from shared.frozen import dataclass

WAITS: Final = {
    "scheduled": "its time",
    "hours": "its hours",
    "paused": "the end of a pause",
    "credential": "its turn: another campaign has the credential",
    "breaker": "its providers, which fail at present",
    "quota": "a quota of its provider, which is used up",
    "rate": "its turn within the rate",
    "retry": "its retry, which is being prepared",
}
AWAITED_MS: Final = 3_600_000
"""Milliseconds for which the figures of an ended job renew themselves if some of its messages are unconfirmed."""
STOPPED_BY: Final = {
    "user": "by hand",
    "operator": "by an operator",
    "bounce_guard": "by the bounce guard: too many messages bounced",
    "expired": "because it waited for a year",
    "key_revoked": "because its API key was revoked before it started",
    "sender_removed": "because its account lost the sender before it started",
    "restored": "because it came back from a copy: operators release it",
}


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job, and how far it is.

    Attributes:
        title: its name, subject or kind: what people know it by.
        condition: in a word, which is also its badge.
        waits: for what; empty: for nothing.
        live: it changes by itself.
        can_stop: it can be stopped, like `can_resume` and `can_retry`. A job that had not begun is resumed at once.
        stopping: it is stopped, and what had begun has not ended.
        can_move: it can be sent at another time, or now.
    """

    job: Job
    how_far: Headway
    bar: Bar
    title: str
    condition: str
    waits: str
    stopped_by: str
    live: bool
    can_stop: bool
    can_resume: bool
    stopping: bool
    can_retry: bool
    can_move: bool

    @property
    def route(self) -> list[tuple[str, str]]:
        """Credentials and their providers, in the job's order."""
        return list(zip(self.job.route, self.job.providers, strict=True))

    @property
    def hours(self) -> str:
        """When it is sent; empty for any time."""
        return words(self.job.hours)

    @property
    def counts(self) -> dict[str, int]:
        """Messages by state; they add up to the total."""
        return self.how_far.live.counts


def row(job: Job, how_far: Headway) -> JobRow:
    """Return a job as people read it."""
    counts = how_far.live.counts
    at_rest = not _moves(job) and not job.owned
    return JobRow(
        job=job,
        how_far=how_far,
        bar=charts.bar(counts),
        title=title_of(job),
        condition=_condition(job, how_far),
        waits=WAITS.get(how_far.waiting_for or "", ""),
        stopped_by=STOPPED_BY.get(job.stop_reason, job.stop_reason) if is_stopped(job) else "",
        live=_moves(job) or _awaited(job, how_far.live.as_of),
        can_stop=can_stop(job),
        can_resume=(at_rest or _not_begun(job)) and counts["queued"] > 0,
        stopping=job.state is JobState.STOPPED and not _not_begun(job),
        can_retry=at_rest and _repeatable(job, how_far) > 0,
        can_move=can_move(job, how_far.live.as_of) and not job.approved,
    )


def title_of(job: Job) -> str:
    """Return what people know a job by. The job of a mail has the mail's id for a name, which is for programs."""
    if job.kind == MAIL:
        return job.subject or (f"Mail from {job.sender}" if job.sender else "A notification")
    return job.name or job.subject or f"{job.kind} of {job.total:,}"


def _moves(job: Job) -> bool:
    """Tell whether a job has not ended, or begins again."""
    return job.state is not JobState.LOGGED or job.retry is not None


def _awaited(job: Job, now: Millis) -> bool:
    """Tell whether events of providers about an ended job may still come any moment. `now`: Unix milliseconds."""
    return job.counts["sent"] + job.counts["unknown"] > 0 and now - job.finished_at < AWAITED_MS


def _repeatable(job: Job, how_far: Headway) -> int:
    """Return how many messages a retry may send again; of a large job at most how many: bounces are left out."""
    exact = how_far.live.repeatable
    return job.counts["failed"] + job.counts["unknown"] if exact is None else exact


def _not_begun(job: Job) -> bool:
    """Tell whether a job was stopped before its first message: it is resumed at once."""
    return job.state is JobState.STOPPED and not job.owned and not job.planned_at


def is_stopped(job: Job) -> bool:
    """Tell whether a job is stopped; one that was resumed and waits to start is not, though it has the mark still."""
    return job.stopped and job.state is not JobState.READY


def _condition(job: Job, how_far: Headway) -> str:
    """Return what a job is doing, in a word."""
    if is_stopped(job):
        return "stopped"
    if how_far.waiting_for in {"scheduled", "paused"}:
        return how_far.waiting_for
    if job.state is JobState.READY:
        return "waiting"
    if job.state in ACTIVE:
        return "sending"
    return "sent"
