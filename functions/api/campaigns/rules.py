"""What routes of campaigns share: whose campaign it is, what a template says, why something is not done."""

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol

from functions.api.batches.rules import address_of, check_sender, mailbox
from functions.api.call import Call
from functions.api.campaigns.requests import Saying
from shared.contracts import TEST_CREDENTIAL
from shared.domain.campaigns.campaign import MAX_PACKED, Campaign, Message, StoredTemplate
from shared.domain.content.plain_text import text_template
from shared.domain.content.templates import InvalidTemplateError, Kind, Template
from shared.domain.ids import is_id
from shared.domain.jobs.job import Job
from shared.domain.lists.csv_rows import column_name
from shared.engine.campaigns.campaigns import Reason, Refused, state_of
from shared.engine.lists.uploading import Refusal
from shared.web.http import answerable
from shared.web.problems import FieldError, Problem, invalid

AVAILABLE: Final = frozenset({"email", "sms"})
"""Channels that there are providers for."""


def owned(call: Call[Any, Any]) -> Campaign:
    """Return the campaign that the path names; Problem not_found unless it is the caller's, of its kind of key."""
    name = call.path["id"]
    found = call.services.campaigns().campaigns.get(name) if is_id(name) else None
    if found is None or (found.account, found.test) != (call.key.account, call.key.test):
        raise Problem("not_found")
    return found


def owned_template(call: Call[Any, Any], name: str, version: int | None = None) -> StoredTemplate:
    """Return a stored template, by default its latest version; Problem not_found unless it is of the caller's kind."""
    store = call.services.campaigns().templates
    found = store.get(name) if is_id(name) else None
    if found is not None and version is not None and version != found.version:
        found = store.get(name, version) if found.namespace == call.key.namespace else None
    if found is None or found.namespace != call.key.namespace:
        raise Problem("not_found")
    return found


def region_of(call: Call[Any, Any], campaign: Campaign) -> str:
    """Return the country of numbers without a country code: the account's, empty if it has none or for e-mail."""
    account = call.services.accounts.get(campaign.account) if campaign.channel != "email" else None
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
        return invalid("scheduled_at", "A list is sent within 30 days of its upload.")
    return Problem(found.reason.value, errors=found.errors)


def channel_of(given: str) -> str:
    """Return a channel; Problem channel_unavailable if there is no provider for it."""
    if given not in AVAILABLE:
        raise Problem("channel_unavailable", errors=[("channel", "There is no provider for it.")])
    return given


def credential_of(call: Call[Any, Any], channel: str, wanted: str | None) -> str:
    """Return the credential of a campaign, by default the channel's first that is open to the account.

    A test key's campaign takes the built-in one, but names only what a live one may.
    """
    settings = call.services.settings
    mine = {c.id: c for c in settings.credentials if c.open_to(call.key.account) and c.channel == channel}
    if wanted is not None and wanted not in mine:
        if any(c.id == wanted and c.open_to(call.key.account) for c in settings.credentials):
            raise invalid("credential_id", f"The credential is not one for {channel}.")
        raise Problem("credential_not_found", errors=[("credential_id", "Not a credential open to the account.")])
    if call.key.test:
        return TEST_CREDENTIAL
    first = next((c for c in (*settings.routes.get(channel, ()), *mine) if c in mine), None)
    found = wanted or first
    if found is None:
        raise Problem("no_route", errors=[("credential_id", "No credential for the channel is open to the account.")])
    return found


def message_of(call: Call[Any, Any], channel: str, given: Saying, prefix: str = "") -> Message:
    """Return what a template says, checked in all that does not depend on a list.

    Args:
        call: whose senders count.
        channel: `email` or `sms`.
        given: as the client wrote it.
        prefix: of the fields' names in errors, e.g. `template.`.
    """
    if channel != "email":
        message = _short(given, prefix)
    else:
        if given.subject is None or not given.subject.strip():
            raise invalid(f"{prefix}subject", "An e-mail needs a subject.")
        sender = address_of(f"{prefix}from", given.from_) if given.from_ is not None else None
        if sender is not None:
            check_sender(call, sender, f"{prefix}from")
        reply_to = address_of(f"{prefix}reply_to", given.reply_to) if given.reply_to is not None else None
        message = Message(
            subject=given.subject,
            body=given.body,
            text=given.text or "",
            sender=mailbox(sender) if sender else None,
            reply_to=mailbox(reply_to) if reply_to else None,
        )
    _check_templates(message, channel, prefix)
    if len(message.pack()) > MAX_PACKED:
        raise invalid(f"{prefix}body", "The template is too large: compressed it may have 300,000 bytes.")
    if not answerable(json.dumps([message.subject, message.body, message.text], ensure_ascii=False)):
        raise invalid(f"{prefix}body", "The template is too large: written as JSON it may have some 2,000,000 bytes.")
    return message


def _short(given: Saying, prefix: str) -> Message:
    for name, value in (("subject", given.subject), ("text", given.text), ("reply_to", given.reply_to)):
        if value is not None:
            raise invalid(prefix + name, "An SMS has only a body.")
    if given.from_ is not None:
        raise invalid(f"{prefix}from", "An SMS comes from its credential's own sender.")
    return Message(body=given.body)


def _check_templates(message: Message, channel: str, prefix: str) -> None:
    kinds: Mapping[str, Kind] = {"body": Kind.SMS}
    if channel == "email":
        kinds = {"subject": Kind.SUBJECT, "body": Kind.HTML, "text": Kind.TEXT}
    errors: list[FieldError] = []
    for name, kind in kinds.items():
        try:
            template = Template.parse(getattr(message, name), kind)
            if kind is Kind.HTML and not message.text:
                text_template(template)  # what is derived may be too large, too
        except InvalidTemplateError as error:
            errors += [
                FieldError(
                    field=prefix + name,
                    message=f.message,
                    code=f.code.value,
                    offset=f.offset,
                    line=f.line,
                    column=f.column,
                )
                for f in error.faults
            ]
    if errors:
        raise Problem("invalid_template", errors=errors)


def by_name(field: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return a recipient's values by the names of their columns, trimmed and in lower case; Problem if two are one."""
    found = {column_name(name): value for name, value in values.items()}
    if len(found) < len(values):
        raise invalid(field, "Two of its names differ by blanks or case alone.")
    return found


class _Chosen(Protocol):
    """Names a stored template, or None."""

    template_id: str | None
    template_version: int | None


def chosen(call: Call[Any, Any], channel: str, given: _Chosen) -> StoredTemplate | None:
    """Return the stored template that a request names; Problem not_found, or that it is of another channel."""
    if given.template_id is None:
        return None
    found = owned_template(call, given.template_id, given.template_version)
    if found.channel != channel:
        raise invalid("template_id", f"The template is not one for {channel}.")
    if found.message.sender is not None:
        check_sender(call, address_of("template_id", found.message.sender.address), "template_id")
    return found
