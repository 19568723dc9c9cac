"""Campaigns are tried out: a message as it would be sent, and one that is, apart from the list."""

import math
from typing import Final

from functions.api.call import Call
from functions.api.campaigns.preview_views import PreviewView, preview_view
from functions.api.campaigns.requests import PreviewQuery, TestMessage
from functions.api.campaigns.rules import by_name, owned, region_of
from functions.api.declined import accepted
from functions.api.views import AcceptedBatch
from shared.domain.accounts import Scope
from shared.domain.campaigns.campaign import Campaign
from shared.domain.channels.lookup import channel_of
from shared.domain.content.templates import RECIPIENT, variables
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Policy
from shared.domain.recipients import reader
from shared.engine.intake.accept import BatchRequest
from shared.engine.lane.compose import CannotCompose
from shared.ports import Mismatch, Replay
from shared.web.http import Answer, answerable
from shared.web.idempotency import earlier, fingerprint_of, idempotency_key, repeated
from shared.web.problems import Problem, invalid
from shared.web.routing import AnyRoute, Nothing, Route


def preview(call: Call[PreviewQuery, Nothing]) -> Answer:
    """Return the message of a recipient, or one with example values."""
    campaign = owned(call)
    services = call.services.campaigns()
    try:
        found = services.previews.of(campaign, services.control.content(campaign), call.query.row)
    except KeyError:
        raise Problem("credential_not_found") from None
    if found is None:
        raise invalid("row", "The campaign's list has no such recipient.")
    view = preview_view(found, campaign.channel)
    answer = view.answer()
    if not answerable(answer.body):
        return view.model_copy(update={"html": "", "text": "", "error": "too_large_to_show"}).answer()
    return answer


def try_out(call: Call[Nothing, TestMessage]) -> Answer:
    """Send one real message, apart from the campaign."""
    campaign = owned(call)
    before = earlier(call, 202)
    if before is not None:
        return before
    request = _single(call, campaign)
    wait = call.services.campaigns().trials.take(call.key.namespace)
    if wait is not None:
        raise Problem("too_many_tests", headers={"Retry-After": str(max(1, math.ceil(wait)))})
    stored = call.services.acceptor.accept(request)
    if isinstance(stored, Replay | Mismatch):
        return repeated(stored, 202)
    return Answer(202, stored.answer, {"Location": f"/jobs/{stored.job.id}"})


def _single(call: Call[Nothing, TestMessage], campaign: Campaign) -> BatchRequest:
    """Return the request of one message; Problem if it may not be sent, or cannot be made."""
    accepted(call.services.intake.sendable(campaign))
    content = call.services.campaigns().control.content(campaign)
    recipient = _recipient(call, campaign)
    made = call.services.campaigns().previews.made(campaign, content, recipient)
    if isinstance(made.content, CannotCompose):
        raise invalid("params", f"These values do not make a message: {made.content.code}.")
    return BatchRequest(
        account=campaign.account,
        test=campaign.test,
        channel=campaign.channel,
        route=(campaign.credential,),
        content=content,
        recipients=(recipient,),
        duplicates=0,
        policy=Policy(),
        name=f"Test: {campaign.name}"[:100],
        idempotency_key=idempotency_key(call),
        fingerprint=fingerprint_of(call),
        by=call.key.id,
    )


def _recipient(call: Call[Nothing, TestMessage], campaign: Campaign) -> Recipient:
    """Return who gets the test; Problem if that is no recipient, or one who does not want it."""
    found = channel_of(campaign.channel).reader(region_of(call, campaign))(call.body.recipient)
    if isinstance(found, reader.RecipientFault):
        raise invalid("recipient", found.detail)
    address, identity, display = found
    values = by_name("params", call.body.params)
    named = {*variables(campaign.message.templates(campaign.channel)), *campaign.columns, RECIPIENT}
    strange = [name for name in values if name not in named]
    if strange:
        said = "Neither the template nor the list has this name."
        raise Problem("validation_failed", errors=[(f"params.{name}", said) for name in strange])
    accepted(call.services.intake.wanted(campaign, identity))
    return Recipient(address, identity, display, values=values)


ROUTES: Final[tuple[AnyRoute, ...]] = (
    Route(
        method="GET",
        path="/campaigns/{id}/preview",
        name="previewCampaign",
        tag="Campaigns",
        summary="A message as it would be sent",
        description="To a recipient of the list, or with example values if there is no list. Its unsubscribe "
        "link has no effect.",
        scope=Scope.READ,
        handler=preview,
        query=PreviewQuery,
        body=Nothing,
        answers={200: PreviewView},
        problems=("not_found", "credential_not_found"),
    ),
    Route(
        method="POST",
        path="/campaigns/{id}/test",
        name="testCampaign",
        tag="Campaigns",
        summary="Send one message to try it out",
        description="A real message through the campaign's credential, as a job of its own: never to the list, and "
        "to nobody who is suppressed or has unsubscribed. An account has 20 at once, then one a minute.",
        scope=Scope.SEND,
        handler=try_out,
        query=Nothing,
        body=TestMessage,
        answers={202: AcceptedBatch},
        problems=(
            *("not_found", "account_suspended", "credential_not_found", "from_missing", "from_not_allowed"),
            *("no_valid_recipient", "too_many_tests"),
        ),
        body_required=True,
        idempotent=True,
    ),
)
