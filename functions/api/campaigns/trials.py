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
from shared.engine.campaigns.trials import TrialOrder, Trials
from shared.engine.intake.declined import credential_words
from shared.ports import Mismatch, Replay
from shared.web.http import Answer, answerable
from shared.web.idempotency import earlier, fingerprint_of, idempotency_key, repeated
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing, Route, section


def preview(call: Call[PreviewQuery, Nothing]) -> Answer:
    """Return the message of a recipient, or one with example values."""
    campaign = owned(call)
    services = call.services.campaigns()
    try:
        found = services.previews.of(campaign, services.control.content(campaign), _row(call, campaign))
    except KeyError:
        raise Problem("credential_not_found", credential_words(campaign.credential)) from None
    if found is None:
        raise invalid("row", "The campaign's list has no such recipient.")
    view = preview_view(found, campaign.channel)
    answer = view.answer()
    if not answerable(answer.body):
        return view.model_copy(update={"html": "", "text": "", "error": "too_large_to_show"}).answer()
    return answer


def _row(call: Call[PreviewQuery, Nothing], campaign: Campaign) -> int | None:
    """Return which recipient is asked for; None: the first."""
    if call.query.sheet_row is None:
        return call.query.row
    if call.query.row is not None:
        raise invalid("sheet_row", "Give either `row` or `sheet_row`.")
    found = call.services.campaigns().previews.at_row(campaign, call.query.sheet_row)
    if found is None:
        raise invalid("sheet_row", "No row of the list from there on has a recipient.")
    return found


def try_out(call: Call[Nothing, TestMessage]) -> Answer:
    """Send one real message, apart from the campaign."""
    campaign = owned(call)
    before = earlier(call, 202)
    if before is not None:
        return before
    services = call.services.campaigns()
    order = TrialOrder(
        to=call.body.recipient,
        values=by_name("params", call.body.params),
        region=region_of(call, campaign),
        idempotency_key=idempotency_key(call),
        fingerprint=fingerprint_of(call),
        by=call.key.id,
    )
    trials = Trials(intake=call.services.intake, previews=services.previews)
    request = accepted(trials.request(campaign, services.control.content(campaign), order))
    wait = services.trials.take(call.key.namespace)
    if wait is not None:
        raise Problem("too_many_tests", headers={"Retry-After": str(max(1, math.ceil(wait)))})
    found = call.services.acceptor.accept(request)
    if isinstance(found, Replay | Mismatch):
        return repeated(found, 202)
    stored = accepted(found)
    return Answer(202, stored.answer, {"Location": f"/jobs/{stored.job.id}"})


ROUTES: Final = section(
    "Campaigns",
    Route(
        method="GET",
        path="/campaigns/{id}/preview",
        name="previewCampaign",
        summary="A message as it would be sent",
        description="To a recipient of the list, or with example values if there is no list. Its unsubscribe "
        "link has no effect.",
        scope=Scope.READ,
        handler=preview,
        answers={200: PreviewView},
        problems=("not_found", "credential_not_found"),
    ),
    Route(
        method="POST",
        path="/campaigns/{id}/test",
        name="testCampaign",
        summary="Send one message to try it out",
        description="A real message through the campaign's credential, as a job of its own: never to the list, and "
        "to nobody who is suppressed or has unsubscribed. An account has 20 at once, then one a minute.",
        scope=Scope.SEND,
        handler=try_out,
        answers={202: AcceptedBatch},
        problems=(
            *("not_found", "account_suspended", "channel_not_open", "credential_not_found", "from_missing"),
            *("from_not_allowed", "no_valid_recipient", "too_many_tests", "country_not_allowed", "quota_exceeded"),
        ),
        idempotent=True,
    ),
)
