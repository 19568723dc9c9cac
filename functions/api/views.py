"""Answers as clients read them. They do not show how an item is stored."""

from datetime import date
from typing import Any

from pydantic import Field

from functions.api.jobs.hours import SendingHoursView, hours_view
from functions.api.requests import SCOPES
from shared.contracts import Settings
from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.jobs.job import Job, OnAmbiguous
from shared.domain.jobs.states import JobState
from shared.domain.namespaces import KeyKind, kind_of
from shared.domain.recipients.suppressions import AnyReach, Reach, Suppression, SuppressionCause
from shared.domain.stats import Day
from shared.domain.times import Millis
from shared.engine.jobs.progress import FREE, Headway, JobSurroundings, WaitingFor, progress
from shared.engine.reports.message_log import LiveCounts
from shared.web.views import Stamp, Time, View, at, moment


class AcceptedBatch(View):
    """The outcome of a new batch."""

    batch_id: str
    job_id: str = Field(description="The same as `batch_id`.")
    state: JobState
    recipients: int = Field(description="Messages created, those skipped included.")
    duplicates: int = Field(description="Recipients left out because an earlier one has the same address.")
    skipped: int = Field(
        description="Messages that are not sent: their recipient is invalid, suppressed or has unsubscribed."
    )


class Counts(View):
    """Messages by state; they add up to the job's total at every instant."""

    queued: int
    sending: int
    sent: int = Field(description="Accepted by a provider.")
    delivered: int
    failed: int
    skipped: int = Field(description="Invalid, suppressed, unsubscribed, expired or cancelled.")
    unknown: int = Field(description="The provider may or may not have it.")


class Tally(View):
    """The figures of one credential."""

    credential_id: str
    provider: str
    tried: int
    accepted: int
    delivered: int
    failed: int


class JobView(View):
    """A job of any kind."""

    job_id: str
    batch_id: str | None = Field(description="The batch's id, if it is one.")
    kind: str
    channel: str
    state: JobState
    name: str | None
    from_: str | None = Field(serialization_alias="from")
    subject: str | None = Field(description="Its first 100 characters.")
    test: bool = Field(description="Made with a test key: no provider gets it, and the stats leave it out.")
    key_kind: KeyKind = Field(description="The kind of key that made it. `team`: it reaches only the account's guests.")
    total: int = Field(description="Messages.")
    duplicates: int
    counts: Counts
    exact: bool = Field(description="False: the counts are those of `as_of`, some seconds old.")
    unacknowledged: int | None = Field(
        description="Sent messages whose provider event is overdue (`feedback_timeout`, three days by default); "
        "null where the counts are not exact."
    )
    as_of: Time
    route: list[Tally] = Field(description="The credentials of the route, in its order.")
    max_attempts: int
    retry_on: list[str] = Field(description="Feedback after which a provider that has not tried it is tried.")
    deferred_after: int | None = Field(description="Seconds; null if `retry_on` does not name `deferred`.")
    on_ambiguous: OnAmbiguous
    rate: float | None = Field(description="Messages per second that the route allows.")
    eta: Time | None = Field(description="When the last message goes out, not before; null while none can.")
    waiting_for: WaitingFor | None = Field(
        description="`credential`: another campaign holds it. `hours`: the hours in which it may be sent. `quota`: a "
        "quota of its credentials is used up."
    )
    until: Time | None = Field(description="When what it waits for ends; null if that is not known.")
    hours: SendingHoursView | None = Field(description="When its messages are sent; null: at any time.")
    created_at: Time
    scheduled_at: Time | None
    stopped_at: Time | None = Field(description="When it was last stopped. A resume keeps it.")
    stop_reason: str | None = Field(
        description="`user`, `operator`, `bounce_guard`, `expired` (it waited for a year), "
        "`restored` (it came back from a copy and waits for operators), `key_revoked` or `sender_removed`: before it "
        "started its API key was revoked, or its account lost the sender."
    )
    finished_at: Time | None = Field(
        description="When it ended; null while it is open, also after a resume or a retry."
    )
    created_by: str | None = Field(description="Id of the API key that made it; null if that is not known.")
    reference: str | None = Field(description="The batch's name in its owner's own system.")
    tags: list[str] = Field(description="The owner's words for it.")
    metadata: dict[str, str] = Field(description="The owner's own data.")
    template_id: str | None = Field(description="The stored template that a batch was made of.")
    template_version: int | None


class JobPage(View):
    """A page of jobs, in the order of their list."""

    items: list[JobView]
    next_cursor: str | None


class Restarted(View):
    """The effect of a retry or resume."""

    job_id: str
    state: JobState
    messages: int = Field(description="Messages that are sent again; 0: there was nothing to do.")


class Amounts(View):
    """Messages by the narrow words."""

    success: int = Field(description="Delivered, or sent where the provider gives no feedback.")
    failure: int
    queued: int = Field(description="Sent and unknown included.")
    skipped: int


class DayView(Amounts):
    """A UTC day on which messages were accepted; the amounts add up to them."""

    date: date
    channels: dict[str, Amounts] | None = Field(description="With `by=channel`.")
    providers: dict[str, dict[str, int]] | None = Field(
        description="With `by=provider`: attempts begun, accepted, delivered and failed there."
    )


class DayPage(View):
    """Days, newest first."""

    items: list[DayView]
    next_cursor: str | None = Field(description="Always null: a range of days is one page.")


class SuppressionView(View):
    """An address that is not sent to."""

    address: str
    scope: Reach = Field(description=SCOPES)
    reason: str = Field(
        description="`one_click` and `page`: unsubscribed by the mailbox provider's button, or on the page of the link."
    )
    cause: SuppressionCause = Field(description="The reason in a word. `manual`: somebody added it.")
    job_id: str | None = Field(description="The job whose message was the cause; null if unknown.")
    policy: str | None = Field(description="With `scope=digests`: the prefix of the policy; else null.")
    created_at: Time


class AuditEntry(View):
    """Something that somebody did."""

    at: Stamp
    action: str = Field(
        validation_alias="kind",
        description="The kind, for example `job.stopped`, `key.rotated` or `account.suspended`.",
    )
    subject: str = Field(validation_alias="id", description="Id of what it was done to.")
    actor: str = Field(description="The id of an API key, `operator:` with an AWS identity, or `system`.")
    data: dict[str, str | int] = Field(description="More about it.")


class AuditPage(View):
    """A page of the audit log, newest first."""

    items: list[AuditEntry]
    next_cursor: str | None


class SuppressionPage(View):
    """A page of suppressions, newest first."""

    items: list[SuppressionView]
    next_cursor: str | None


class Removed(View):
    """The address may be sent to again."""

    address: str
    removed: bool = Field(description="False: it was not suppressed.")


def job_view(
    job: Job, settings: Settings, now_ms: Millis, live: LiveCounts | None = None, around: JobSurroundings = FREE
) -> JobView:
    """Return a job as clients see it.

    Args:
        settings: for the rates of its route.
        live: counts computed from the ledgers; those folded into the job otherwise.
        around: what keeps it from going on.
    """
    return progress_view(job, progress(job, settings, now_ms, live, around))


def progress_view(job: Job, how_far: Headway) -> JobView:
    """Return a job, and how far it is, as clients see it."""
    found = how_far.live
    counts = found.counts
    return JobView(
        job_id=job.id,
        batch_id=job.id if job.kind == "batch" else None,
        kind=job.kind,
        channel=job.channel,
        state=job.state,
        name=job.name or None,
        from_=job.sender or None,
        subject=job.subject or None,
        test=job.test,
        key_kind=kind_of(job.account, test=job.test),
        total=job.total,
        duplicates=job.duplicates,
        counts=Counts(**counts),
        exact=found.exact,
        unacknowledged=found.unacknowledged,
        as_of=moment(found.as_of),
        route=[
            Tally(credential_id=c, provider=p, **found.by[c]) for c, p in zip(job.route, job.providers, strict=True)
        ],
        max_attempts=job.policy.max_attempts,
        retry_on=list(job.policy.retry_on),
        deferred_after=job.policy.deferred_after if ProviderEventKind.DEFERRED in job.policy.retry_on else None,
        on_ambiguous=job.policy.on_ambiguous,
        rate=how_far.rate,
        eta=at(how_far.eta),
        waiting_for=how_far.waiting_for,
        until=at(how_far.until),
        hours=hours_view(job.hours),
        created_at=moment(job.created_at),
        scheduled_at=at(0 if job.closed else job.not_before),
        stopped_at=at(job.stopped_at),
        stop_reason=job.stop_reason or None,
        finished_at=at(job.ended_at),
        created_by=job.created_by or None,
        **_labels(job),
    )


def _labels(job: Job) -> dict[str, Any]:
    given = job.labels
    named = {"reference": given.reference or None, "tags": list(given.tags), "metadata": dict(given.metadata)}
    return {**named, "template_id": job.template or None, "template_version": job.template_version or None}


def day_view(day: Day, by: frozenset[str]) -> DayView:
    """Return a day's stats as clients see them."""
    return DayView(
        date=day.day,
        **day.amounts,
        channels={k: Amounts(**v) for k, v in day.channels.items()} if "channel" in by else None,
        providers={k: dict(v) for k, v in day.providers.items()} if "provider" in by else None,
    )


def suppression_view(found: Suppression, reach: AnyReach) -> SuppressionView:
    """Return a suppression as clients see it; `reach`: the list that it is in."""
    return SuppressionView(
        address=found.address,
        scope=reach.kind,
        policy=found.policy or None,
        reason=found.reason,
        cause=found.cause,
        job_id=found.job or None,
        created_at=moment(found.at),
    )
