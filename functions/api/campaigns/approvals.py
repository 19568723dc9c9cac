"""Approvals: what waits, its approval and its refusal by another key, and from how many rows on lists wait."""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from functions.api.call import Call, now_of
from functions.api.campaigns.approval_views import LimitView, WaitingList, limit_view, waiting_item
from functions.api.campaigns.rules import owned, refused, state
from functions.api.campaigns.sending import NOT_SENT, sent_answer
from functions.api.campaigns.sending_views import SentList
from functions.api.campaigns.views import CampaignView, campaign_view
from functions.api.declined import accepted
from shared.domain.accounts import Scope
from shared.domain.audit import checked_reason
from shared.domain.campaigns.approval import ID_DIGITS, MOST_ROWS, ApprovalLimit, Who
from shared.domain.namespaces import KeyKind, owner
from shared.engine.campaigns.campaigns import Refused
from shared.web.http import Answer
from shared.web.idempotency import fingerprint_of, idempotency_key, repeat_or_raise
from shared.web.inputs import Input
from shared.web.problems import Problem, missing
from shared.web.routing import Nothing, Route, section

ApprovalId = Annotated[str, Field(pattern=rf"^[0-9a-f]{{{ID_DIGITS}}}$", description="Of what you were shown.")]


class Approval(Input):
    """Approves exactly what was shown."""

    approval_id: ApprovalId


class ApprovalRefusal(Input):
    """Refuses what was shown; the one who asked withdraws it."""

    approval_id: ApprovalId
    reason: Annotated[str, AfterValidator(checked_reason)] | None = Field(
        None, max_length=1000, description="Up to 100 characters, for the audit log; without an address or number."
    )


class NewLimit(Input):
    """From how many rows on lists wait."""

    above: int | None = Field(
        ge=0,
        le=MOST_ROWS,
        description="Rows that the account sends in a day without approval. 0: every list waits. Null: none does.",
    )


def _who(call: Call[Any, Any]) -> Who:
    return Who(call.key.id)


def approve(call: Call[Nothing, Approval]) -> Answer:
    """Send what waits, as it was shown."""
    campaign = owned(call)
    key, fingerprint = idempotency_key(call), fingerprint_of(call)
    try:
        accepted(call.services.intake.sendable(campaign))
        found = call.services.campaigns().approvals.approve(
            campaign, call.body.approval_id, _who(call), key=key, fingerprint=fingerprint
        )
        return sent_answer(campaign, found)
    except Problem as problem:
        return repeat_or_raise(call, 202, problem)


def refuse(call: Call[Nothing, ApprovalRefusal]) -> Answer:
    """Refuse what waits, or withdraw it; the list stays, and may be sent again."""
    campaign, body = owned(call), call.body
    approvals = call.services.campaigns().approvals
    found = approvals.refuse(campaign, body.approval_id, _who(call), body.reason or "")
    if found is None:
        raise missing("campaign", campaign.id)
    if isinstance(found, Refused):
        raise refused(found)
    return campaign_view(found, state(call, found), now_of(call)).answer()


def waiting(call: Call[Nothing, Nothing]) -> Answer:
    """Return all that waits."""
    now = now_of(call)
    found = call.services.campaigns().approvals.waiting(call.key.namespace)
    return WaitingList(items=[waiting_item(x, x.waiting, now) for x in found if x.waiting], next_cursor=None).answer()


def _account(call: Call[Any, Any], *kinds: KeyKind) -> str:
    if call.key.kind not in kinds:
        raise Problem("live_key_needed")
    return owner(call.key.account)


def read_limit(call: Call[Nothing, Nothing]) -> Answer:
    """Return from how many rows on lists wait."""
    account = _account(call, KeyKind.LIVE, KeyKind.TEAM)
    return limit_view(call.services.campaigns().approvals.policy(account), now_of(call)).answer()


def put_limit(call: Call[Nothing, NewLimit]) -> Answer:
    """Set from how many rows on lists wait, or propose a looser limit."""
    account, above = _account(call, KeyKind.LIVE), call.body.above
    limit = ApprovalLimit() if above is None else ApprovalLimit(True, above)
    found = call.services.campaigns().approvals.limit(account, limit, _who(call))
    return limit_view(found, now_of(call)).answer(202 if found.proposed else 200)


def approve_limit(call: Call[Nothing, Approval]) -> Answer:
    """Set the looser limit that another one has proposed."""
    account = _account(call, KeyKind.LIVE)
    found = call.services.campaigns().approvals.approve_limit(account, call.body.approval_id, _who(call))
    if isinstance(found, Refused):
        raise refused(found)
    return limit_view(found, now_of(call)).answer()


def refuse_limit(call: Call[Nothing, Approval]) -> Answer:
    """Drop a looser limit that was proposed."""
    account = _account(call, KeyKind.LIVE)
    found = call.services.campaigns().approvals.refuse_limit(account, call.body.approval_id, _who(call))
    if isinstance(found, Refused):
        raise refused(found)
    return limit_view(found, now_of(call)).answer()


_DECIDED: Final = ("not_found", "not_waiting", "approval_changed")
_LIMIT: Final = ("live_key_needed", "not_waiting", "approval_changed")

ROUTES: Final = section(
    "Approvals",
    Route(
        method="GET",
        path="/approvals",
        name="listApprovals",
        summary="Campaigns that wait for approval, the oldest request first",
        scope=Scope.READ,
        handler=waiting,
        answers={200: WaitingList},
    ),
    Route(
        method="POST",
        path="/campaigns/{id}/approve",
        name="approveCampaign",
        summary="Approve a list that waits, and send it",
        description="By another key, or another person, than the one who asked. It is sent as it was shown: any "
        "change since makes the approval void.",
        scope=Scope.SEND,
        handler=approve,
        answers={202: SentList},
        problems=(*_DECIDED, "own_request", "asker_gone", "approval_lapsed", *NOT_SENT),
        idempotent=True,
    ),
    Route(
        method="POST",
        path="/campaigns/{id}/refuse",
        name="refuseCampaign",
        summary="Refuse a list that waits, or withdraw it",
        description="The one who asked withdraws it. The list stays: correct the campaign, and send it again.",
        scope=Scope.SEND,
        handler=refuse,
        answers={200: CampaignView},
        problems=_DECIDED,
        while_suspended=True,
    ),
    Route(
        method="GET",
        path="/approval-limit",
        name="getApprovalLimit",
        summary="From how many rows on lists wait for approval",
        scope=Scope.READ,
        handler=read_limit,
        answers={200: LimitView},
        problems=("live_key_needed",),
    ),
    Route(
        method="PUT",
        path="/approval-limit",
        name="putApprovalLimit",
        summary="Set from how many rows on lists wait for approval",
        description="A stricter limit counts at once. A looser one, or none, is only proposed (202) until another key "
        "or person approves it. Needs a live key.",
        scope=Scope.ADMIN,
        handler=put_limit,
        answers={200: LimitView, 202: LimitView},
        problems=("live_key_needed",),
        body_required=True,
    ),
    Route(
        method="POST",
        path="/approval-limit/approve",
        name="approveApprovalLimit",
        summary="Approve a looser limit",
        description="By another key, or another person, than the one who proposed it.",
        scope=Scope.ADMIN,
        handler=approve_limit,
        answers={200: LimitView},
        problems=(*_LIMIT, "own_request"),
    ),
    Route(
        method="POST",
        path="/approval-limit/refuse",
        name="refuseApprovalLimit",
        summary="Drop a looser limit that is proposed",
        scope=Scope.ADMIN,
        handler=refuse_limit,
        answers={200: LimitView},
        problems=_LIMIT,
    ),
)
