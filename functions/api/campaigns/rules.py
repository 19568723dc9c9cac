"""Rules that routes of campaigns share: whose campaign it is, what a template says, why something is not done."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from functions.api.call import Call
from functions.api.campaigns.requests import NoticeSaying, Saying
from functions.api.declined import accepted, overspent
from shared.domain.campaigns.campaign import Campaign, Message, StoredTemplate
from shared.domain.campaigns.variants import Variants
from shared.domain.channels.lookup import channel_of
from shared.domain.ids import is_id
from shared.domain.jobs.job import Job
from shared.domain.lists.header import column_name
from shared.engine.campaigns.campaigns import Reason, Refused, state_of
from shared.engine.intake.message import Draft
from shared.engine.lists.uploading import Refusal
from shared.web.http import answerable
from shared.web.problems import Problem, invalid, missing


def owned(call: Call[Any, Any], name: str = "") -> Campaign:
    """Return a campaign; Problem not_found unless it is the caller's, of its kind of key.

    Args:
        name: its id, as the client gave it; empty: the path names it.
    """
    name = name or call.path["id"]
    found = call.services.campaigns().campaigns.get(name) if is_id(name) else None
    if found is None or (found.account, found.test) != (call.key.account, call.key.test):
        raise missing("campaign", name)
    return found


def owned_template(call: Call[Any, Any], name: str, version: int | None = None) -> StoredTemplate:
    """Return a stored template. Raises the problem `not_found` unless it belongs to the caller's kind of key.

    Args:
        name: the template's id, as the client gave it.
        version: the version, from 1; None for the latest.
    """
    store = call.services.campaigns().templates
    found = store.get(name) if is_id(name) else None
    if found is not None and version is not None and version != found.version:
        found = store.get(name, version) if found.namespace == call.key.namespace else None
    if found is None or found.namespace != call.key.namespace:
        raise missing("template", name)
    return found


def region_of(call: Call[Any, Any], campaign: Campaign) -> str:
    """Return the country of numbers without a country code: the account's, empty if it has none or for e-mail."""
    account = call.services.accounts.get(campaign.account) if channel_of(campaign.channel).numbers else None
    return account.region if account else ""


def jobs_of(call: Call[Any, Any], campaign: Campaign) -> dict[str, Job]:
    """Return those of a campaign's jobs that are still there, by id."""
    return call.services.listing.jobs(campaign.jobs) if campaign.jobs else {}


def state(call: Call[Any, Any], campaign: Campaign) -> str:
    """Return a campaign's state; reads its newest job only if that decides."""
    if campaign.uploading or not campaign.jobs or (campaign.ready and not campaign.missing):
        return state_of(campaign, {}, fits=not campaign.missing)
    newest = call.services.records.job(campaign.jobs[-1])
    return state_of(campaign, {newest.id: newest} if newest else {}, fits=not campaign.missing)


def refused(found: Refused | Refusal) -> Problem:
    """Return why something was not done to a campaign as its Problem."""
    if isinstance(found, Refusal):
        return Problem(found.value)
    if found.reason is Reason.TOO_LATE:
        return invalid("scheduled_at", "Choose a time within 30 days of the upload.")
    if found.excess is not None:
        return overspent(found.excess)
    detail = found.errors[0][1] if found.reason is Reason.CREDENTIAL_NOT_FOUND else ""
    return Problem(found.reason.value, detail, found.errors)


def message_of(call: Call[Any, Any], channel: str, given: Saying, prefix: str = "") -> Message:
    """Return what a template says; Problem if it is not accepted, or cannot be shown again.

    Args:
        given: as the client wrote it.
        prefix: of the fields' names in errors, as in `template.`.
    """
    speech = given.speech.speech() if given.speech else None
    draft = Draft(given.body, given.subject, given.text, given.from_, given.reply_to, speech)
    message = accepted(call.services.intake.message(call.key.namespace, channel, draft, prefix))
    if not answerable(json.dumps([message.subject, message.body, message.text], ensure_ascii=False)):
        raise invalid(f"{prefix}body", "The template is too large: written as JSON it may have some 2,000,000 bytes.")
    return message


def variants_of(call: Call[Any, Any], channel: str, given: NoticeSaying) -> Variants:
    """Return what a stored template says by other channels; Problem if it is not accepted.

    Args:
        given: the request's fields with texts for other channels.
    """
    voice = given.voice
    asked = Variants(given.sms.text if given.sms else "", voice.say if voice else "", voice.speech() if voice else None)
    return accepted(call.services.intake.variants(channel, asked))


def by_name(field: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return a recipient's values by the names of their columns, trimmed and in lower case; Problem if two are one."""
    found = {column_name(name): value for name, value in values.items()}
    if len(found) < len(values):
        raise invalid(field, "Two names differ only by spaces or case.")
    return found


class _Chosen(Protocol):
    """Names a stored template, or None."""

    template_id: str | None
    template_version: int | None


def chosen(call: Call[Any, Any], channel: str, given: _Chosen) -> StoredTemplate | None:
    """Return the stored template that a request names, None if it names none.

    Raises the problem `not_found`, or `invalid` if the template is of another channel.

    Args:
        channel: the channel of the campaign, as in `email`.
        given: the part of the body with `template_id` and `template_version`.
    """
    if given.template_id is None:
        return None
    found = owned_template(call, given.template_id, given.template_version)
    if found.channel != channel:
        raise invalid("template_id", f"The template is for another channel than {channel}.")
    if found.message.sender is not None:
        accepted(call.services.intake.sender(call.key.namespace, found.message.sender.address, "template_id"))
    return found
