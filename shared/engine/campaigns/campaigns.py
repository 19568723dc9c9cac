"""Owners' actions on campaigns: edit them, send their lists, stop and restart what was sent.

Sending turns a list that is read into one job, in one transaction; from there the job is like any other. Every write is
a compare-and-swap on the campaign, so that nothing else is done to it meanwhile. Source: docs/campaigns.md.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from shared.contracts import Settings
from shared.domain.audit import SYSTEM, Act, Event, audited
from shared.domain.campaigns import bounce_guard
from shared.domain.campaigns.approval import ApprovalPolicy, Decided, Decision, PendingApproval
from shared.domain.campaigns.campaign import MAX_JOBS, Campaign, Upload, UploadState
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Content
from shared.domain.hours.hours import OpenHours
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.domain.lanes.estimates import Capacity, finished
from shared.domain.lists import gaps
from shared.domain.lists.header import why_absent
from shared.domain.spending.limits import Charge, Exceeded
from shared.domain.spending.reserved import Reserved, unpack
from shared.domain.times import DAY_MS, KEY_LIFE_MS, USE_WITHIN_DAYS, Millis
from shared.engine.intake.declined import credential_words
from shared.engine.intake.schedules import Schedules
from shared.engine.jobs.control import RETRY_AFTER, JobControl, NotNow, Resumed
from shared.engine.jobs.plan import Planner
from shared.engine.lists.list_jobs import Order, answer_of, content_of, job_of, waiting_answer
from shared.engine.spender import Spender
from shared.frozen import dataclass
from shared.ports import Campaigns, Clock, Idempotency, Mismatch, Records, Replay, Retriable, Stored

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
    COUNTRY_NOT_ALLOWED = "country_not_allowed"
    """The list has numbers of countries to which its account does not send."""
    QUOTA_EXCEEDED = "quota_exceeded"
    """It exceeds a limit of the day of its account or key."""
    TOO_MANY_SCHEDULES = "too_many_schedules"
    """As many jobs of its account wait for their time as may."""
    TOO_LATE = "too_late"
    """The list would expire before sending begins."""
    NOT_WAITING = "not_waiting"
    """Nothing of the campaign waits for approval."""
    APPROVAL_CHANGED = "approval_changed"
    """The approver was shown something else than what waits."""
    APPROVAL_LAPSED = "approval_lapsed"
    """The time to send came before the approval."""
    ASKER_GONE = "asker_gone"
    """The key that asked was revoked."""
    OWN_REQUEST = "own_request"
    """The one who asked, or somebody whom they made, approves."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was done. `errors`: field and sentence of each obstacle; `excess`: the limit that it exceeds."""

    reason: Reason
    errors: tuple[tuple[str, str], ...] = ()
    excess: Exceeded | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """The list has become a job; `answer`: the JSON of the 202's body."""

    job: Job
    answer: str


@dataclass(frozen=True, slots=True)
class WaitsForApproval:
    """The list waits for approval; `answer`: the JSON of the 202's body."""

    campaign: Campaign
    asked: PendingApproval
    answer: str


@dataclass(frozen=True, slots=True)
class Grant:
    """An approval. `id`: of the request that was shown; `by`: the approver, as the audit log names them."""

    id: str
    by: str


class CampaignControl:
    """What owners do with campaigns."""

    def __init__(
        self,
        *,
        campaigns: Campaigns,
        records: Records,
        control: JobControl,
        planner: Planner,
        schedules: Schedules,
        settings: Settings,
        clock: Clock,
        unsubscribe: str,
        spender: Spender | None = None,
    ) -> None:
        """Make what owners use.

        Args:
            unsubscribe: the address that recipients' tokens are appended to.
            spender: counts what accounts spend; None: no account has limits.
        """
        self._campaigns = campaigns
        self._records = records
        self._control = control
        self._planner = planner
        self._schedules = schedules
        self._settings = settings
        self._clock = clock
        self._unsubscribe = unsubscribe
        self._spender = spender

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
        for current in self.tries(campaign):
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
        for current in self.tries(campaign):
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
        for current in self.tries(campaign):
            now = self._now()
            changed = current if current.guard_off else current.changed(now, guard_off=True)
            event = audited(current.namespace, now, current.id, Act.GUARD_OVERRIDDEN, by)
            if current.guard_off or self._campaigns.save(current, changed, event=event):
                for job in changed.jobs:
                    self._records.override_guard(job)
                return changed
        return None

    def save(self, old: Campaign, new: Campaign, event: Event) -> bool:
        """Write a campaign if it is unchanged, with an event."""
        return self._campaigns.save(old, new, event=event)

    def tries(self, campaign: Campaign) -> Iterator[Campaign]:
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

    def send(
        self, campaign: Campaign, order: Order, grant: Grant | None = None
    ) -> Sent | WaitsForApproval | Replay | Mismatch | Refused | None:
        """Turn the list that is read into a job, and have it started; None: the campaign no longer exists.

        A list that its account wants approved only waits, until it is sent with a grant. Of two calls for one list one
        wins; the other finds no list, or with the same key gets the same answer.

        Args:
            grant: approves what waits; the order is then that of the request.

        Raises:
            Retriable: nothing has happened, or all of it; the call may be repeated under its key.
        """
        for current in self.tries(campaign):
            upload, policy = self._campaigns.to_send(current)
            refused = grant and _ungranted(current, upload, grant, self._now())
            refused = refused or self._unfit(current, upload, order)
            if refused is not None or upload is None:
                return refused or Refused(Reason.NO_LIST)
            made = self._send_or_ask(current, upload, order, policy, grant)
            if made is not None:
                return made
        return None

    def _send_or_ask(
        self, campaign: Campaign, upload: Upload, order: Order, policy: ApprovalPolicy, grant: Grant | None
    ) -> Sent | WaitsForApproval | Replay | Mismatch | Refused | None:
        now, rows = self._now(), _rows(upload)
        if grant is not None or not policy.limit.on:
            return self._send(campaign, upload, order, grant)
        if policy.holds(rows, now):
            return self._ask(campaign, upload, order)
        return self._send(campaign, upload, order, spent=(policy, policy.spent(rows, now)))

    def _ask(self, campaign: Campaign, upload: Upload, order: Order) -> WaitsForApproval | Replay | Mismatch | None:
        """Have a list wait for approval, in place of its earlier request."""
        now, rows, skipped = self._now(), _rows(upload), sum((upload.skipped or {}).values())
        not_before = order.not_before if order.not_before > now else 0
        version, rate = campaign.version + 1, order.rate or 0
        draft = PendingApproval("", version, order.by, now, rows, skipped, order.person, rate, not_before)
        unnamed = campaign.changed(now)
        asked = replace(draft, id=unnamed.shown(upload, draft))
        answer = waiting_answer(campaign, upload, asked)
        told: dict[str, str | int] = {"approval": asked.id, "list": upload.id, "messages": rows}
        told |= {"not_before": not_before}
        event = audited(campaign.namespace, now, campaign.id, Act.APPROVAL_ASKED, order.by, told)
        after = replace(unnamed, asked=asked)
        made = self._campaigns.ask(campaign, after, _record(campaign, order, answer, now), event=event)
        return WaitsForApproval(after, asked, answer) if isinstance(made, Stored) else made

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
        begin = max(self._now(), order.not_before)
        rate = order.rate or credential.rate
        ends = 1000 * finished(waiting * slots, [Capacity(rate, credential.quotas)], begin / 1000)
        if campaign.hours is not None:
            ends = max(ends, campaign.hours.after(begin, round(1000 * waiting * slots / rate)))
        days = (ends - begin) / DAY_MS
        left = (upload.ttl * 1000 - begin) / DAY_MS
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

    def _send(
        self,
        campaign: Campaign,
        upload: Upload,
        order: Order,
        grant: Grant | None = None,
        spent: tuple[ApprovalPolicy, ApprovalPolicy] | None = None,
    ) -> Sent | Replay | Mismatch | Refused | None:
        """Make the job, and have it started. `spent`: the policy, and with this list's rows counted."""
        now = self._now()
        searched = self._spender is None or self._spender.searched(campaign.account)
        made_of = replace(job_of(campaign, upload, self._settings, now, order), unsearched=not searched)
        full = self._schedules.admit(made_of)
        if full is not None:
            return Refused(Reason.TOO_MANY_SCHEDULES, excess=full)
        job = self._charged(campaign, upload, replace(made_of, approved=grant is not None))
        if isinstance(job, Refused):
            return job
        not_before = job.not_before
        answer = answer_of(job)
        key = _record(campaign, order, answer, max(now, not_before))
        self._schedules.announce(job)
        approved = _approved(campaign, upload, grant, now) if grant is not None else None
        after = campaign.changed(now, ready="", columns=(), jobs=(*campaign.jobs, job.id), decided=approved)
        told: dict[str, str | int] = {"campaign": campaign.id, "messages": job.total, "not_before": not_before}
        told |= {"approved_by": grant.by} if grant is not None else {}
        event = audited(campaign.namespace, now, job.id, Act.JOB_CREATED, order.by, told)
        content, beside = self.content(campaign), decided_event(campaign, approved) if approved else None
        made = self._campaigns.send(campaign, after, upload, job, content, key, event=event, beside=beside, spent=spent)
        if made is None or isinstance(made, Replay | Mismatch):
            if self._spender is not None and job.charge:
                self._spender.give_back(unpack(job.charge).charge)
            self._schedules.renounce(job)
            return made
        self._start(job, not_before)
        return Sent(job, answer)

    def _start(self, job: Job, not_before: Millis) -> None:
        """Have a job started now, or when it is due; 0: it is due now."""
        if not_before:
            self._schedules.hint(job)
            return
        try:
            self._planner.plan(job.id)
        except Retriable:
            # The list is sent: an error would have its client send it again. The stream also plans the job.
            _LOG.warning("start left to the stream", extra={"job": job.id})

    def _charged(self, campaign: Campaign, upload: Upload, job: Job) -> Job | Refused:
        """Return the job of a list with what it holds of its account's limits, or why it cannot be sent."""
        countries = gaps.countries_of(upload.counted or ())
        refused = self._barred(campaign, countries)
        if refused is not None:
            return refused
        charge = self._charge(campaign, job, countries)
        if isinstance(charge, Exceeded):
            return Refused(Reason.QUOTA_EXCEEDED, excess=charge)
        if charge is None:
            return job
        return replace(job, charge=Reserved(charge, job.counts["queued"], job.counts["skipped"]).pack())

    def _barred(self, campaign: Campaign, countries: Mapping[str, int]) -> Refused | None:
        """Return why a list cannot be sent to some of its countries. `countries`: country → numbers."""
        if self._spender is None or campaign.test or not channel_of(campaign.channel).numbers:
            return None
        found = self._spender.barred(campaign.account, countries or [""])
        if not found:
            return None
        named = [f"{country or 'no country'}: {countries.get(country, 0):,}" for country in found]
        text = f"Operators have not allowed this account to send there. Numbers by country: {'; '.join(named)}."
        if not countries:
            text = "An earlier version has read the list and did not count its countries. Upload it again."
        return Refused(Reason.COUNTRY_NOT_ALLOWED, (("recipient", text),))

    def _charge(self, campaign: Campaign, job: Job, countries: Mapping[str, int]) -> Charge | Exceeded | None:
        """Count all messages of a job that is about to be made; what it does not send is given back when it ends."""
        if self._spender is None or job.test:
            return None
        slots = channel_of(campaign.channel).slots(campaign.message.body)
        segments = {country: numbers * slots for country, numbers in countries.items()}
        return self._spender.take(job.account, job.channel, job.counts["queued"] * slots, job.created_by, segments)

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


def _rows(upload: Upload) -> int:
    """Return the rows of a list that become messages, or would if their recipients were not left out."""
    return upload.checkpoint.counts.accepted if upload.checkpoint else 0


def _record(campaign: Campaign, order: Order, answer: str, at: Millis) -> Idempotency | None:
    """Return the idempotency record of an order; None without a key. `at`: its key counts for a while from then on."""
    if not order.idempotency_key:
        return None
    return Idempotency(campaign.account, order.idempotency_key, order.fingerprint, answer, at + KEY_LIFE_MS)


def _ungranted(campaign: Campaign, upload: Upload | None, grant: Grant, now: Millis) -> Refused | None:
    """Return why a grant does not hold: it is of exactly what waits."""
    asked = campaign.waiting
    if asked is None:
        return Refused(Reason.NOT_WAITING)
    if asked.id != grant.id or (upload is not None and campaign.shown(upload, asked) != grant.id):
        return Refused(Reason.APPROVAL_CHANGED)
    return Refused(Reason.APPROVAL_LAPSED) if asked.lapsed_at(now) else None


def _approved(campaign: Campaign, upload: Upload, grant: Grant, now: Millis) -> Decided:
    asked_by = campaign.asked.by if campaign.asked is not None else ""
    return Decided(grant.id, Decision.APPROVED, grant.by, asked_by, upload.id, now)


_ACTS: Final = {
    Decision.APPROVED: Act.APPROVED,
    Decision.REFUSED: Act.APPROVAL_REFUSED,
    Decision.WITHDRAWN: Act.APPROVAL_WITHDRAWN,
}


def decided_event(campaign: Campaign, decided: Decided) -> Event:
    """Return the entry of the audit log of a decision."""
    told: dict[str, str | int] = {"approval": decided.id, "list": decided.upload, "asked_by": decided.asked_by}
    told |= {"reason": decided.reason} if decided.reason else {}
    return audited(campaign.namespace, decided.at, campaign.id, _ACTS[decided.decision], decided.by, told)


def _closed(current: Campaign, changes: Mapping[str, Any]) -> Refused | None:
    """Return why a campaign is not changed. `changes`: new values by the names of the fields."""
    if current.uploading:
        return Refused(Reason.UPLOAD_IN_PROGRESS)
    if changes.get("credential", current.credential) != current.credential and (current.ready or current.jobs):
        return Refused(Reason.CAMPAIGN_HAS_LIST)
    return Refused(Reason.CAMPAIGN_HAS_LIST) if current.ready and _reads_anew(current, changes) else None


def _reads_anew(current: Campaign, changes: Mapping[str, Any]) -> bool:
    """Tell whether a list would have to be read again: for its zones, or for who has unsubscribed."""
    zones = _by_recipient(changes.get("hours")) and not _by_recipient(current.hours)
    return zones or (bool(changes.get("unsubscribe")) and not current.unsubscribe)


def _by_recipient(hours: OpenHours | None) -> bool:
    return hours is not None and hours.by_recipient


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
