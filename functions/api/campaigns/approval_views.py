"""Requests for approval, their ends and the limit, as clients read them."""

from typing import Literal

from pydantic import Field

from functions.api.requests import Channel
from shared.domain.campaigns.approval import ApprovalLimit, ApprovalPolicy, Decision, PendingApproval
from shared.domain.campaigns.campaign import Campaign
from shared.domain.times import Millis
from shared.web.views import TextOrNull, Time, View, at, moment

LAPSED = "The time to send came before the approval. Nothing is sent. Send the list again, with another time."


class ApprovalView(View):
    """A list that waits for approval."""

    approval_id: str = Field(description="Names exactly this content. Any change of the campaign makes it void.")
    state: Literal["waiting", "lapsed"] = Field(description="`lapsed`: its time has passed, and it is not sent.")
    reason: TextOrNull = Field(description="Why it is no longer sent; null while it waits.")
    asked_by: str = Field(description="As in the audit log: a key's id, or a person.")
    asked_at: Time
    upload_id: str = Field(description="The list.")
    recipients: int = Field(description="Accepted rows of the list.")
    skipped: int = Field(description="Those of them that get nothing.")
    rate: float | None = Field(description="Messages per second; null: the credential's.")
    scheduled_at: Time | None = Field(description="When sending begins; null: with the approval.")


class DecisionView(View):
    """The end of a campaign's last request, until the campaign changes again."""

    approval_id: str
    decision: Decision = Field(description="`withdrawn`: by the one who asked.")
    by: str
    asked_by: str
    at: Time
    reason: TextOrNull


class WaitingItem(ApprovalView):
    """A campaign that waits for approval. Read the campaign for the message itself."""

    campaign_id: str
    name: str
    channel: Channel
    credential_id: str
    subject: TextOrNull


class WaitingList(View):
    """All that waits in the account, the oldest request first."""

    items: list[WaitingItem]
    next_cursor: None = Field(None, description="Always null: all requests are in one answer.")


class ProposalView(View):
    """A looser limit that waits for the approval of another key or person."""

    approval_id: str
    above: int | None = Field(description="As of the limit; null: nothing would wait any more.")
    asked_by: str
    asked_at: Time


class LimitView(View):
    """From how many rows on lists wait for approval."""

    above: int | None = Field(
        description="Rows that the account sends in a day without approval. 0: every list waits. Null: none does."
    )
    sent_today: int = Field(description="Rows that were sent without approval in the day that runs.")
    proposal: ProposalView | None


def approval_view(campaign: Campaign, now: Millis) -> ApprovalView | None:
    """Return what waits of a campaign; None if nothing does."""
    asked = campaign.waiting
    return ApprovalView(**_fields(asked, campaign.ready, now)) if asked is not None else None


def decision_view(campaign: Campaign) -> DecisionView | None:
    """Return how the last request of a campaign ended, if nothing has changed since."""
    x = campaign.decided
    if x is None:
        return None
    reason = x.reason or None
    return DecisionView(
        approval_id=x.id, decision=x.decision, by=x.by, asked_by=x.asked_by, at=moment(x.at), reason=reason
    )


def waiting_item(campaign: Campaign, asked: PendingApproval, now: Millis) -> WaitingItem:
    """Return a campaign that waits, for a list."""
    return WaitingItem(
        **_fields(asked, campaign.ready, now),
        campaign_id=campaign.id,
        name=campaign.name,
        channel=campaign.channel,
        credential_id=campaign.credential,
        subject=campaign.message.subject or None,
    )


def limit_view(policy: ApprovalPolicy, now: Millis) -> LimitView:
    """Return what an account asks of its lists."""
    proposal = None
    if policy.proposed:
        proposal = ProposalView(
            approval_id=policy.proposal_id,
            above=_above(policy.proposal),
            asked_by=policy.proposed_by,
            asked_at=moment(policy.proposed_at),
        )
    return LimitView(above=_above(policy.limit), sent_today=policy.sent_at(now), proposal=proposal)


def _above(limit: ApprovalLimit) -> int | None:
    return limit.above if limit.on else None


def _fields(asked: PendingApproval, upload: str, now: Millis) -> dict[str, object]:
    lapsed = asked.lapsed_at(now)
    return {
        "approval_id": asked.id,
        "state": "lapsed" if lapsed else "waiting",
        "reason": LAPSED if lapsed else None,
        "asked_by": asked.by,
        "asked_at": moment(asked.at),
        "upload_id": upload,
        "recipients": asked.rows,
        "skipped": asked.skipped,
        "rate": asked.rate or None,
        "scheduled_at": at(asked.not_before),
    }
