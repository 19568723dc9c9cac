"""Campaigns: drafts, and what they say."""

from typing import Any, Final

from functions.api.call import Call, now_of
from functions.api.campaigns.requests import CampaignChange, NewCampaign, NewSaying, Saying
from functions.api.campaigns.rules import chosen, message_of, owned, refused, state
from functions.api.campaigns.views import CampaignPage, CampaignView, Deleted, campaign_item, campaign_view
from functions.api.declined import accepted
from functions.api.jobs.hours import SendingHours, hours_of
from shared.domain.accounts import Scope
from shared.domain.campaigns.campaign import Campaign
from shared.domain.channels.lookup import channel_of
from shared.domain.ids import new_id
from shared.engine.campaigns.campaigns import Reason, Refused, state_of
from shared.ports import Mismatch, Replay
from shared.web import cursors
from shared.web.http import Answer
from shared.web.idempotency import record_of, repeat_or_raise, repeated
from shared.web.inputs import Paging
from shared.web.problems import Problem, invalid, missing
from shared.web.routing import Nothing, Route, section


def create(call: Call[Nothing, NewCampaign]) -> Answer:
    """Make a campaign."""
    try:
        made = _campaign(call)
    except Problem as problem:
        return repeat_or_raise(call, 201, problem)
    answer = campaign_view(made, "draft", now_of(call)).model_dump_json()
    found = call.services.campaigns().control.create(made, record_of(call, answer), by=call.key.id)
    if isinstance(found, Replay | Mismatch):
        return repeated(found, 201)
    return Answer(201, answer, {"Location": f"/campaigns/{made.id}"})


def _campaign(call: Call[Nothing, NewCampaign]) -> Campaign:
    body = call.body
    intake = call.services.intake
    channel = body.channel
    if "unsubscribe" in body.model_fields_set:
        _may_offer(channel, body.unsubscribe)
    credential = accepted(intake.credential(call.key.account, channel, body.credential_id, test=call.key.test))
    stored = chosen(call, channel, body)
    if stored is not None:
        message = stored.message
    elif body.template is not None:
        message = message_of(call, channel, body.template, "template.")
    else:
        raise invalid("template", "Give either `template` or `template_id`.")
    now = now_of(call)
    return Campaign(
        id=new_id(now),
        account=call.key.account,
        test=call.key.test,
        name=body.name,
        channel=channel,
        credential=credential,
        message=message,
        created_at=now,
        template=stored.id if stored else "",
        template_version=stored.version if stored else 0,
        unsubscribe=body.unsubscribe and channel_of(channel).offers_links,
        hours=hours_of(body.hours),
        updated_at=now,
    )


def _may_offer(channel: str, wanted: bool | None) -> None:  # noqa: FBT001 - the field's value
    """Problem if an offer to unsubscribe is asked for where none can be made."""
    if wanted and not channel_of(channel).offers_links:
        raise invalid("unsubscribe", "Only e-mail offers a link to unsubscribe; a short message cannot.")


def pages(call: Call[Paging, Nothing]) -> Answer:
    """Return a page of campaigns, newest first."""
    place = cursors.jobs(call)
    found, after = call.services.campaigns().campaigns.page(
        call.key.account, test=call.key.test, after=place, limit=call.query.limit
    )
    newest = [x.campaign.jobs[-1] for x in found if x.campaign.jobs]
    jobs = call.services.listing.jobs(newest)
    items = [campaign_item(x.campaign, state_of(x.campaign, jobs, fits=x.fits)) for x in found]
    return CampaignPage(items=items, next_cursor=cursors.seal(call, after)).answer()


def read(call: Call[Nothing, Nothing]) -> Answer:
    """Return a campaign."""
    return _shown(call, owned(call))


def change(call: Call[Nothing, CampaignChange]) -> Answer:
    """Change a campaign's settings."""
    campaign = owned(call)
    body = call.body
    changes: dict[str, Any] = {}
    if body.name is not None:
        changes["name"] = body.name
    if body.credential_id is not None:
        found = call.services.intake.credential(
            call.key.account, campaign.channel, body.credential_id, test=call.key.test
        )
        changes["credential"] = accepted(found)
    if body.unsubscribe is not None:
        _may_offer(campaign.channel, body.unsubscribe)
        changes["unsubscribe"] = body.unsubscribe and channel_of(campaign.channel).offers_links
    if body.hours is not None:
        changes["hours"] = body.hours.hours() if isinstance(body.hours, SendingHours) else None
    return _changed(call, campaign, **changes)


def say(call: Call[Nothing, NewSaying]) -> Answer:
    """Change what a campaign says; a list that lacks one of its variables stays, but is not sent."""
    campaign = owned(call)
    body = call.body
    stored = chosen(call, campaign.channel, body)
    if stored is not None:
        message = stored.message
    else:
        given = Saying.model_validate(body.model_dump(by_alias=True, exclude={"template_id", "template_version"}))
        message = message_of(call, campaign.channel, given)
    of = {"template": stored.id if stored else "", "template_version": stored.version if stored else 0}
    return _changed(call, campaign, message=message, **of)


def _changed(call: Call[Any, Any], campaign: Campaign, **changes: Any) -> Answer:
    found = call.services.campaigns().control.edit(campaign, by=call.key.id, **changes) if changes else campaign
    if found is None:
        raise missing("campaign", campaign.id)
    if isinstance(found, Refused):
        raise refused(found)
    return _shown(call, found)


def _shown(call: Call[Any, Any], campaign: Campaign) -> Answer:
    return campaign_view(campaign, state(call, campaign), now_of(call)).answer()


def delete(call: Call[Nothing, Nothing]) -> Answer:
    """Delete a draft."""
    found = call.services.campaigns().control.delete(owned(call), by=call.key.id)
    if found is not None and found.reason is Reason.CAMPAIGN_HAS_LIST:
        raise Problem(found.reason.value, "The campaign has a list that is not sent. Delete the list first.")
    if found is not None:
        raise refused(found)
    return Deleted(deleted=True).answer()


_SAID: Final = ("account_suspended", "from_not_allowed", "invalid_template")

ROUTES: Final = section(
    "Campaigns",
    Route(
        method="POST",
        path="/campaigns",
        name="createCampaign",
        summary="Make a campaign",
        scope=Scope.SEND,
        handler=create,
        answers={201: CampaignView},
        problems=(*_SAID, "credential_not_found", "no_route", "not_found"),
        idempotent=True,
    ),
    Route(
        method="GET",
        path="/campaigns",
        name="listCampaigns",
        summary="Campaigns, newest first",
        description="A test key sees those made with test keys, a live key the others.",
        scope=Scope.READ,
        handler=pages,
        answers={200: CampaignPage},
        problems=("bad_cursor",),
    ),
    Route(
        method="GET",
        path="/campaigns/{id}",
        name="getCampaign",
        summary="A campaign's content and state",
        scope=Scope.READ,
        handler=read,
        answers={200: CampaignView},
        problems=("not_found",),
    ),
    Route(
        method="PATCH",
        path="/campaigns/{id}",
        name="changeCampaign",
        summary="Change a campaign's settings",
        scope=Scope.SEND,
        handler=change,
        answers={200: CampaignView},
        problems=("not_found", "upload_in_progress", "campaign_has_list", "credential_not_found", "no_route"),
    ),
    Route(
        method="PUT",
        path="/campaigns/{id}/template",
        name="putCampaignTemplate",
        summary="Change what a campaign says",
        description="A list that is read stays; the answer's `missing` says which columns it lacks, and it is not sent "
        "until it fits. What was sent already is not changed.",
        scope=Scope.SEND,
        handler=say,
        answers={200: CampaignView},
        problems=("not_found", *_SAID, "upload_in_progress"),
        body_required=True,
    ),
    Route(
        method="DELETE",
        path="/campaigns/{id}",
        name="deleteCampaign",
        summary="Delete a draft",
        scope=Scope.SEND,
        handler=delete,
        answers={200: Deleted},
        problems=("not_found", "upload_in_progress", "campaign_has_list", "campaign_sent"),
    ),
)
