"""The job that a sent list becomes, with its content and the answer to its client. Source: docs/adr/0037."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from shared.contracts import Settings
from shared.domain.audit import SYSTEM
from shared.domain.campaigns.approval import PendingApproval
from shared.domain.campaigns.campaign import Campaign, Upload
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Content, Mailbox
from shared.domain.hours.hours import begin_of
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import BY_KEYS
from shared.domain.jobs.states import COUNT_KEYS, JobState
from shared.domain.namespaces import is_team
from shared.domain.times import Millis
from shared.frozen import dataclass

KIND: Final = "campaign"
"""Kind of the jobs that lists become."""


@dataclass(frozen=True, slots=True)
class Order:
    """How a list is to be sent.

    Attributes:
        rate: messages per second, None for the credential's.
        not_before: Unix milliseconds, 0 for now. The campaign's hours may let it begin later.
        idempotency_key: the client's, or empty; `fingerprint`: hash of the request, for the key.
        by: the actor, for the audit log.
        person: the id of the person that the actor is; empty: it is a key.
    """

    rate: float | None = None
    not_before: int = 0
    idempotency_key: str = ""
    fingerprint: str = ""
    by: str = SYSTEM
    person: str = ""


def job_of(campaign: Campaign, upload: Upload, settings: Settings, now: Millis, order: Order) -> Job:
    """Return the job that a list becomes.

    Args:
        settings: for its credential; KeyError if it is no longer declared.
        order: how it is sent; a `not_before` of the past is 0.
    """
    checkpoint, skipped = upload.checkpoint, sum((upload.skipped or {}).values())
    if checkpoint is None:
        raise ValueError("a list that was not read is no job")
    accepted, asked = checkpoint.counts.accepted, max(now, order.not_before)
    hours = campaign.hours.among(checkpoint.zones) if campaign.hours is not None else None
    begin = begin_of(hours, asked)
    return replace(
        stand_in(campaign, settings, upload.id, now),
        total=accepted,
        chunks=checkpoint.chunk,
        ttl=upload.ttl,
        counts=dict.fromkeys(COUNT_KEYS, 0) | {"queued": accepted - skipped, "skipped": skipped},
        duplicates=checkpoint.counts.duplicates,
        rate=order.rate,
        not_before=begin if begin > now else 0,
        rests_until=begin if begin > asked else 0,
        hours=hours,
        created_by=order.by,
    )


def stand_in(campaign: Campaign, settings: Settings, job_id: str, now: Millis) -> Job:
    """Return a job of one message as a campaign would have it.

    Args:
        settings: for its credential; KeyError if it is no longer declared.
    """
    route = (campaign.credential,)
    return Job(
        id=job_id,
        account=campaign.account,
        kind=KIND,
        channel=campaign.channel,
        test=campaign.test,
        route=route,
        providers=tuple(settings.credential(c).provider for c in route),
        total=1,
        chunks=1,
        created_at=now,
        ttl=0,
        state=JobState.READY,
        counts=dict.fromkeys(COUNT_KEYS, 0) | {"queued": 1},
        by={c: (0,) * len(BY_KEYS) for c in route},
        name=campaign.name,
        sender=campaign.message.sender.address if campaign.message.sender else "",
        subject=campaign.message.subject[:100],
        campaign=campaign.id,
        guard_off=campaign.guard_off,
        shared=settings.credential(campaign.credential).shared or is_team(campaign.account),
    )


def content_of(campaign: Campaign, unsubscribe: str) -> Content:
    """Return what a campaign's messages say, with placeholders.

    `unsubscribe`: the address that recipients' tokens are appended to, where the campaign offers it.
    """
    message, channel = campaign.message, channel_of(campaign.channel)
    html, text = (message.body, message.text) if channel.rich else ("", message.body)
    return Content(
        sender=message.sender or Mailbox(""),
        subject=message.subject,
        html=html,
        text=text,
        reply_to=message.reply_to,
        merge=True,
        unsubscribe=unsubscribe if campaign.unsubscribe and channel.offers_links else "",
        speech=message.speech,
    )


def waiting_answer(campaign: Campaign, upload: Upload, asked: PendingApproval) -> str:
    """Return the JSON that a send is answered with whose list waits for approval."""
    body: Mapping[str, object] = {
        "campaign_id": campaign.id,
        "job_id": upload.id,
        "state": "WAITING",
        "recipients": asked.rows,
        "skipped": asked.skipped,
        "waiting_for": "approval",
        "approval_id": asked.id,
    }
    return json.dumps(body, separators=(",", ":"))


def answer_of(job: Job) -> str:
    """Return the JSON that a send is answered with."""
    body: Mapping[str, object] = {
        "campaign_id": job.campaign,
        "job_id": job.id,
        "state": job.state.value,
        "recipients": job.total,
        "skipped": job.counts["skipped"],
    }
    return json.dumps(body, separators=(",", ":"))
