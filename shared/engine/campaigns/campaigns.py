"""Owners' actions on campaigns: edit them, send their lists, stop and restart what was sent.

Sending turns a list that is read into one job, in one transaction; from there the job is like any other. Every write is
a compare-and-swap on the campaign, so that nothing else is done to it meanwhile. Source: docs/campaigns.md.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from shared.contracts import Settings
from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.campaigns import bounce_guard
from shared.domain.campaigns.campaign import MAX_JOBS, USE_WITHIN_DAYS, Campaign, Upload, UploadState
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Content
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.domain.lanes.estimates import Capacity, finished
from shared.domain.lists.header import why_absent
from shared.domain.times import DAY_MS, KEY_LIFE_MS
from shared.engine.intake.declined import credential_words
from shared.engine.intake.schedules import Schedules
from shared.engine.jobs.control import RETRY_AFTER, JobControl, NotNow, Resumed
from shared.engine.jobs.plan import Planner
from shared.engine.lists.list_jobs import Order, answer_of, content_of, job_of
from shared.ports import Campaigns, Clock, Idempotency, Mismatch, Records, Replay, Retriable, Stored, Uploads

DAY_SECONDS: Final = DAY_MS // 1000
TRIES: Final = 5
"""Compare-and-swaps of a campaign that others also change."""
_LOG: Final = logging.getLogger(__name__)


class Reason(StrEnum):
    """Why something is not done to a campaign; stable codes."""

    UPLOAD_IN_PROGRESS = "upload_in_progress"
    CAMPAIGN_HAS_LIST = "campaign_has_list"
    """The field to be changed is part of a list that is read already."""
    CAMPAIGN_SENT = "campaign_sent"
    NO_LIST = "no_list"
    MISSING_COLUMNS = "missing_columns"
    LIST_EXPIRED = "list_expired"
    TOO_MANY_LISTS = "too_many_lists"
    NO_VALID_RECIPIENT = "no_valid_recipient"
    FROM_MISSING = "from_missing"
    RATE_TOO_HIGH = "rate_too_high"
    CREDENTIAL_NOT_FOUND = "credential_not_found"
    TAKES_TOO_LONG = "takes_too_long"
    """At its rate the list takes longer than it is kept."""
    BOUNCE_GUARD = "bounce_guard"
    """Too much of what it has sent has bounced, and its owner has not overridden the guard."""
    TOO_LATE = "too_late"
    """The list would expire before sending begins."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was done. `errors`: field and sentence of each obstacle."""

    reason: Reason
    errors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """The list has become a job; `answer`: the JSON of the 202's body."""

    job: Job
    answer: str


class CampaignControl:
    """What owners do with campaigns."""

    def __init__(
        self,
        *,
        campaigns: Campaigns,
        uploads: Uploads,
        records: Records,
        control: JobControl,
        planner: Planner,
        schedules: Schedules,
        settings: Settings,
        clock: Clock,
        unsubscribe: str,
    ) -> None:
        """`unsubscribe`: the address that recipients' tokens are appended to."""
        self._campaigns = campaigns
        self._uploads = uploads
        self._records = records
        self._control = control
        self._planner = planner
        self._schedules = schedules
        self._settings = settings
        self._clock = clock
        self._unsubscribe = unsubscribe

    # Edits

    def create(self, campaign: Campaign, key: Idempotency | None, *, by: str = SYSTEM) -> Stored | Replay | Mismatch:
        """Store a new campaign."""
        data: dict[str, str | int] = {"channel": campaign.channel}
        event = audited(campaign.namespace, campaign.created_at, campaign.id, Act.CAMPAIGN_CREATED, by, data)
        return self._campaigns.create(campaign, key, event=event)

    def edit(self, campaign: Campaign, *, by: str = SYSTEM, **changes: Any) -> Campaign | Refused | None:
        """Change fields of a campaign; None: there is none. Fields that have their values already change nothing.

        A list that is being read closes it for edits; one that was read, or sent, keeps its credential. A list that was
        read without a check for unsubscribed recipients is not sent with an offer to unsubscribe.

        Args:
            **changes: new values by the names of the fields.

        Raises:
            Retriable: others kept changing it.
        """
        for current in self._tries(campaign):
            refused = _closed(current, changes)
            if refused is not None:
                return refused
            new = sorted(name for name, value in changes.items() if getattr(current, name) != value)
            if not new:
                return current
            now = self._now()
            changed = current.changed(now, **changes)
            event = audited(current.namespace, now, current.id, Act.CAMPAIGN_CHANGED, by, {"fields": " ".join(new)})
            if self._campaigns.save(current, changed, event=event):
                return changed
        return None

    def delete(self, campaign: Campaign, *, by: str = SYSTEM) -> Refused | None:
        """Remove a draft. `by`: the actor, for the audit log."""
        for current in self._tries(campaign):
            if current.uploading:
                return Refused(Reason.UPLOAD_IN_PROGRESS)
            if current.jobs:
                return Refused(Reason.CAMPAIGN_SENT)
            if current.ready and not current.missing:
                return Refused(Reason.CAMPAIGN_HAS_LIST)
            event = audited(current.namespace, self._now(), current.id, Act.CAMPAIGN_DELETED, by)
            if self._campaigns.delete(current, event=event):
                break
        return None

    def override_guard(self, campaign: Campaign, *, by: str = SYSTEM) -> Campaign | None:
        """Take the bounce guard off a campaign, for good, also if others change it meanwhile; None: there is none.

        A list that is sent from here on begins without it, so the jobs that there are then are all that had it. `by`:
        the actor, for the audit log, which gets one entry.
        """
        for current in self._tries(campaign):
            now = self._now()
            changed = current if current.guard_off else current.changed(now, guard_off=True)
            event = audited(current.namespace, now, current.id, Act.GUARD_OVERRIDDEN, by)
            if current.guard_off or self._campaigns.save(current, changed, event=event):
                for job in changed.jobs:
                    self._records.override_guard(job)
                return changed
        return None

    def _tries(self, campaign: Campaign) -> Iterator[Campaign]:
        """Yield a campaign, and again as others changed it, while its writes fail; end if it no longer exists.

        Raises:
            Retriable: others kept changing it.
        """
        current: Campaign | None = campaign
        for _ in range(TRIES):
            if current is None:
                return
            yield current
            current = self._campaigns.get(campaign.id)
        raise Retriable("campaign: busy")

    # Sending

    def send(self, campaign: Campaign, order: Order) -> Sent | Replay | Mismatch | Refused | None:
        """Turn the list that is read into a job, and have it started; None: the campaign no longer exists.

        Of two calls for one list one wins; the other finds no list, or with the same key gets the same answer.

        Raises:
            Retriable: nothing has happened, or all of it; the call may be repeated under its key.
        """
        for current in self._tries(campaign):
            upload = self._uploads.get(current.id, current.ready) if current.ready else None
            refused = self._unfit(current, upload, order)
            if refused is not None or upload is None:
                return refused or Refused(Reason.NO_LIST)
            made = self._send(current, upload, order)
            if made is not None:
                return made
        return None

    def _unusable(self, campaign: Campaign, upload: Upload, order: Order) -> Refused | None:
        """Return why a campaign's list cannot be sent."""
        if upload.state is not UploadState.READY or upload.checkpoint is None:
            return Refused(Reason.NO_LIST)
        if campaign.missing:
            return Refused(
                Reason.MISSING_COLUMNS, tuple((v, why_absent(v, campaign.columns)) for v in campaign.missing)
            )
        if upload.checkpoint.counts.accepted <= sum((upload.skipped or {}).values()):
            return Refused(Reason.NO_VALID_RECIPIENT)
        expires = upload.created_at + USE_WITHIN_DAYS * DAY_MS
        if max(self._now(), order.not_before) > expires:
            return Refused(Reason.LIST_EXPIRED if self._now() > expires else Reason.TOO_LATE)
        return None

    def _unfit(self, campaign: Campaign, upload: Upload | None, order: Order) -> Refused | None:
        """Return why a campaign cannot be sent as it is."""
        if campaign.uploading:
            return Refused(Reason.UPLOAD_IN_PROGRESS)
        if len(campaign.jobs) >= MAX_JOBS:
            return Refused(Reason.TOO_MANY_LISTS)
        if upload is None:
            return Refused(Reason.NO_LIST)
        unusable = self._unusable(campaign, upload, order)
        if unusable is not None:
            return unusable
        if channel_of(campaign.channel).names_sender and campaign.message.sender is None:
            return Refused(Reason.FROM_MISSING)
        if self._bounces(campaign):
            return Refused(Reason.BOUNCE_GUARD)
        return self._beyond(campaign, order.rate) or self._too_long(campaign, upload, order)

    def _too_long(self, campaign: Campaign, upload: Upload, order: Order) -> Refused | None:
        """Return why a list cannot be sent within the time that it is kept, at its rate and with no other before it."""
        checkpoint = upload.checkpoint
        waiting = checkpoint.counts.accepted - sum((upload.skipped or {}).values()) if checkpoint else 0
        slots = channel_of(campaign.channel).slots(campaign.message.body)
        credential = self._settings.credential(campaign.credential)
        begin = max(self._now(), order.not_before) / 1000
        capacity = Capacity(order.rate or credential.rate, credential.quotas)
        days = (finished(waiting * slots, [capacity], begin) - begin) / DAY_SECONDS
        left = (upload.ttl * 1000 - max(self._now(), order.not_before)) / DAY_MS
        if days <= left:
            return None
        within = "at this rate and within the quotas" if credential.quotas else "at this rate"
        sentence = f"Sending takes {days:.1f} days {within}, and the list is kept for {left:.1f} more days."
        return Refused(Reason.TAKES_TOO_LONG, (("rate", sentence),))

    def _bounces(self, campaign: Campaign) -> bool:
        """Tell whether the bounce guard would stop what a campaign sends now."""
        if campaign.guard_off or not campaign.jobs:
            return False
        jobs = self._records.read_jobs(campaign.jobs)
        return bounce_guard.trips(bounce_guard.together(job.counts for job in jobs.values()))

    def _beyond(self, campaign: Campaign, rate: float | None) -> Refused | None:
        """Return why a campaign's credential does not carry it, or not as fast."""
        gone = Refused(Reason.CREDENTIAL_NOT_FOUND, (("credential_id", credential_words(campaign.credential)),))
        try:
            credential = self._settings.credential(campaign.credential)
        except KeyError:
            return gone
        if not credential.open_to(campaign.account):
            return gone
        if rate is not None and rate > credential.rate:
            sentence = f"At most {credential.rate:g} messages per second, the credential's rate."
            return Refused(Reason.RATE_TOO_HIGH, (("rate", sentence),))
        return None

    def _send(self, campaign: Campaign, upload: Upload, order: Order) -> Sent | Replay | Mismatch | None:
        now = self._now()
        not_before = order.not_before if order.not_before > now else 0
        job = job_of(campaign, upload, self._settings, now, replace(order, not_before=not_before))
        answer = answer_of(job)
        key = None
        if order.idempotency_key:
            expires = max(now, not_before) + KEY_LIFE_MS
            key = Idempotency(campaign.account, order.idempotency_key, order.fingerprint, answer, expires)
        self._schedules.announce(job)
        after = campaign.changed(now, ready="", columns=(), jobs=(*campaign.jobs, job.id))
        told: dict[str, str | int] = {"campaign": campaign.id, "messages": job.total, "not_before": not_before}
        event = audited(campaign.namespace, now, job.id, Act.JOB_CREATED, order.by, told)
        made = self._campaigns.send(campaign, after, upload, job, self.content(campaign), key, event=event)
        if made is None or isinstance(made, Replay | Mismatch):
            return made
        if not_before:
            self._schedules.hint(job)
            return Sent(job, answer)
        try:
            self._planner.plan(job.id)
        except Retriable:
            # The list is sent: an error would have its client send it again. The stream also plans the job.
            _LOG.warning("start left to the stream", extra={"job": job.id})
        return Sent(job, answer)

    def content(self, campaign: Campaign) -> Content:
        """Return what a campaign's messages say, with placeholders."""
        return content_of(campaign, self._unsubscribe)

    # What was sent

    def stop(self, campaign: Campaign, *, by: str = SYSTEM) -> list[Job]:
        """Stop every job of a campaign that is open; returns all of its jobs that there still are, oldest first."""
        stopped = (self._control.stop(job, campaign.account, by=by) for job in campaign.jobs)
        return [job for job in stopped if isinstance(job, Job)]

    def retry(
        self, campaign: Campaign, include: frozenset[str], *, by: str = SYSTEM
    ) -> list[tuple[str, Resumed | NotNow]] | NotNow:
        """Retry every job of a campaign, oldest first, as `JobControl.retry` does. A running job answers NotNow.

        Nothing is done while a job is being stopped: a resume after a stop applies to all jobs.

        Args:
            include: the states to send again.
        """
        there = (self._records.job(name) for name in campaign.jobs)
        jobs = [self._control.at_rest(job) for job in there if job is not None]
        if any(job.state is JobState.STOPPED for job in jobs):
            return NotNow("stopping", RETRY_AFTER)
        made = ((job.id, self._control.retry(job.id, campaign.account, include, by=by)) for job in jobs)
        return [(job, found) for job, found in made if found is not None]

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def _closed(current: Campaign, changes: Mapping[str, Any]) -> Refused | None:
    """Return why a campaign is not changed. `changes`: new values by the names of the fields."""
    if current.uploading:
        return Refused(Reason.UPLOAD_IN_PROGRESS)
    if changes.get("credential", current.credential) != current.credential and (current.ready or current.jobs):
        return Refused(Reason.CAMPAIGN_HAS_LIST)
    if current.ready and changes.get("unsubscribe") and not current.unsubscribe:
        return Refused(Reason.CAMPAIGN_HAS_LIST)
    return None


def state_of(campaign: Campaign, jobs: Mapping[str, Job], *, fits: bool) -> str:
    """Return a campaign's state as its owner sees it.

    `draft`, `uploading` (a list is being read), or `ready` (a list is read, fits and is not sent). Otherwise the state
    of the newest job; LOGGED if the job's items no longer exist.

    Args:
        jobs: at least its newest job, if it is still there.
        fits: whether its unsent list has every column that its message names.
    """
    if campaign.uploading:
        return "uploading"
    if campaign.ready and fits:
        return "ready"
    if not campaign.jobs:
        return "draft"
    newest = jobs.get(campaign.jobs[-1])
    return newest.state.value if newest else JobState.LOGGED.value
