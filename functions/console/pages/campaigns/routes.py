"""Campaigns: the list, one with its steps, and the forms of its message."""

from dataclasses import replace
from typing import Final

from functions.console import lists
from functions.console.call import Look
from functions.console.listing import Asked, Filters, ListFilter, ListRows, listed, states
from functions.console.pages.campaigns import recipients, samples, sending, uploads
from functions.console.pages.campaigns.drafting import (
    CHANNEL_NAMES,
    Written,
    Wrong,
    again,
    checked,
    example,
    faults_of,
    label,
    once,
    record,
    shown_mailbox,
    usable,
    written,
)
from functions.console.pages.campaigns.previewing import ShownMessage, form_page, frame, shown
from functions.console.pages.campaigns.view import (
    WORDS,
    CampaignRow,
    conflict,
    current,
    in_the_way,
    job_word,
    owned,
    rows,
    shown_list,
    stored_template,
    word,
)
from functions.console.screen import PageRoute, absent, leave_for
from shared.domain.accounts import Scope
from shared.domain.campaigns.campaign import Campaign
from shared.domain.channels.lookup import channel_of
from shared.domain.ids import new_id
from shared.engine.campaigns.campaigns import Refused
from shared.engine.intake.declined import Declined
from shared.ports import Mismatch, Replay
from shared.web.http import Answer

FILTERS: Final[Filters[CampaignRow]] = (
    states(tuple(dict.fromkeys(WORDS.values())), lambda x: x.state),
    ListFilter("channel", "Channel", CHANNEL_NAMES, "every channel", lambda x: x.campaign.channel),
)
SHOWN_DIGITS: Final = 5
"""Of the number of a recipient whose message is shown."""


def _campaigns(at: Asked) -> ListRows[CampaignRow]:
    """Return a page of the account's campaigns, newest first."""
    return ListRows(*rows(at.look, at.place, lists.PAGE))


def campaign(look: Look) -> Answer:
    """Show a campaign and its next step; with `part=list` only the list that is being read."""
    found = owned(look)
    view = current(look, found)
    if look.request.query.get("part") == "list":
        done = {} if found.uploading else {"HX-Refresh": "true"}
        return look.services.pages.page(look, "campaigns/reading.html", {"list": view}, headers=done)
    jobs = look.services.listing.jobs(found.jobs[-lists.PAGE :])
    sent = [jobs[name] for name in reversed(found.jobs) if name in jobs]
    context = {
        "campaign": found,
        "state": word(found, jobs, fits=not found.missing),
        "sender": shown_mailbox(found.message.sender),
        "label": label(channel_of(found.channel)),
        "rich": channel_of(found.channel).rich,
        "list": view,
        "obstacles": in_the_way(look, found, view),
        "jobs": sent,
        "job_word": job_word,
        "most": lists.PAGE,
        "row": row_of(look),
        "samples": look.services.campaigns().samples,
        "once": once(look),
        **uploads.shown_problems(look, view),
    }
    return look.services.pages.page(look, "campaigns/campaign.html", context, headers=uploads.policy(look))


def row_of(look: Look) -> int:
    """Return which recipient's message is shown, from 1."""
    typed = look.form.get("row", "") or look.request.query.get("row", "")
    return lists.number(typed, SHOWN_DIGITS) or 1


def _row_shown(look: Look, found: Campaign) -> int | None:
    return row_of(look) if found.ready or found.jobs else None


def preview(look: Look) -> Answer:
    """Show a recipient's message in its frame, or one with example values if there is no list."""
    found = owned(look)
    return frame(look, shown(look, found, _row_shown(look, found)) or _no_recipient(look, found))


def _no_recipient(look: Look, found: Campaign) -> ShownMessage:
    """Return why no recipient of a list has the number that was asked for."""
    view = shown_list(look, found)
    many = f"The list has {view.accepted:,} recipient{'' if view.accepted == 1 else 's'}. " if view else ""
    return ShownMessage(
        fault=f"There is no recipient {row_of(look):,}. {many}"
        "Recipients are counted in the order of the list. Rows that are not sent are not counted, "
        "and have no message: “Rows to check” has the reason of each."
    )


def preview_form(look: Look) -> Answer:
    """Show in its frame what a form says that is not saved yet."""
    return _unsaved(look, example(look, written(look.form)), None)


def preview_change(look: Look) -> Answer:
    """Show in its frame what the form of a stored campaign says: as a recipient of its list gets it, if it has one."""
    found = owned(look)
    said = replace(written(look.form, found.message.speech), channel=found.channel)
    return _unsaved(look, example(look, said, found), _row_shown(look, found))


def _unsaved(look: Look, made: Campaign | Wrong, row: int | None) -> Answer:
    if isinstance(made, Wrong):
        return frame(look, made)
    return frame(look, shown(look, made, row, look.form.get("from", "")) or _no_recipient(look, made))


def write(look: Look) -> Answer:
    """Show the form of a new campaign: empty, from a stored template, or from the sample."""
    query = look.request.query
    if "sample" in query:
        return _form(look, samples.letter(look.services.campaigns().senders(look.account)))
    if "template" in query:
        stored = stored_template(look, query["template"])
        return _form(look, again(stored.name, stored.channel, stored.message))
    return _form(look, written({"channel": query.get("channel", ""), "unsubscribe": "1"}))


def _form(look: Look, found: Written, wrong: Wrong | None = None, of: Campaign | None = None) -> Answer:
    store = look.services.campaigns().campaigns.templates
    stored, older = ([], "") if of else store.page(look.account, after="", limit=lists.PAGE)
    context = {
        "campaign": of,
        "credentials": usable(look, found.channel),
        "row": _row_shown(look, of) if of else None,
        "templates": stored,
        "older": older,
    }
    return form_page(look, "campaigns/form.html", found, wrong, context)


def create(look: Look) -> Answer:
    """Make a campaign; a form that is sent twice makes one."""
    made = _made(look, written(look.form))
    if isinstance(made, Wrong):
        return _form(look, written(look.form), made)
    control = look.services.campaigns().campaigns.control
    stored = control.create(made, record(look, made.id), by=look.who.person.user.actor)
    if isinstance(stored, Mismatch):
        raise conflict("idempotency_mismatch")
    name = stored.answer if isinstance(stored, Replay) else made.id
    return leave_for(look, f"campaigns/{name}")


def _made(look: Look, found: Written) -> Campaign | Wrong:
    """Return the campaign that a form asks for, or all that is wrong with it."""
    intake = look.services.campaigns().intake
    message = checked(look, found)
    credential = intake.credential(look.account, found.channel, found.credential or None, test=False)
    if isinstance(credential, Declined):
        wrong = faults_of(credential)
        return Wrong({**(message.fields if isinstance(message, Wrong) else {}), **wrong.fields}, wrong.all)
    if isinstance(message, Wrong):
        return message
    now = look.services.now
    return Campaign(
        id=new_id(now),
        account=look.account,
        test=False,
        name=found.name,
        channel=found.channel,
        credential=credential,
        message=message,
        created_at=now,
        unsubscribe=found.unsubscribe and found.by.offers_links,
        updated_at=now,
    )


def edit(look: Look) -> Answer:
    """Show the form of a campaign's message."""
    found = owned(look)
    return _form(look, _again(found), of=found)


def _again(found: Campaign) -> Written:
    said = again(found.name, found.channel, found.message)
    return replace(said, credential=found.credential, unsubscribe=found.unsubscribe)


def save(look: Look) -> Answer:
    """Change what a campaign says."""
    found = owned(look)
    said = replace(written(look.form, found.message.speech), channel=found.channel)
    made = _made(look, said)
    if isinstance(made, Wrong):
        return _form(look, said, made, found)
    if look.form.get("version") != str(found.version):
        raise conflict("", "Somebody has changed it meanwhile. Open it again, and repeat what you did.")
    changes = {name: getattr(made, name) for name in ("name", "message", "credential", "unsubscribe")}
    control, by = look.services.campaigns().campaigns.control, look.who.person.user.actor
    told = control.edit(found, by=by, **changes, template="", template_version=0)
    if told is None:
        raise absent("campaign")
    if isinstance(told, Refused):
        raise conflict(told.reason.value)
    return leave_for(look, f"campaigns/{found.id}")


def ask(look: Look) -> Answer:
    """Ask whether a draft is to be deleted."""
    return look.services.pages.page(look, "campaigns/delete.html", {"campaign": owned(look)})


def delete(look: Look) -> Answer:
    """Delete a draft."""
    found = look.services.campaigns().campaigns.control.delete(owned(look), by=look.who.person.user.actor)
    if found is not None:
        raise conflict(found.reason.value)
    return leave_for(look, "campaigns")


_PATH: Final = "/console/{account}/campaigns"
_ONE: Final = f"{_PATH}/{{campaign}}"
ROUTES: Final = (
    listed(_PATH, "campaigns", "campaigns/campaigns.html", FILTERS, _campaigns),
    PageRoute("GET", f"{_PATH}/new", "write a campaign", write, Scope.SEND),
    PageRoute("POST", f"{_PATH}/new", "make a campaign", create, Scope.SEND),
    PageRoute("POST", f"{_PATH}/preview", "preview of a form", preview_form, Scope.READ, ends=True),
    PageRoute("GET", _ONE, "campaign", campaign),
    PageRoute("GET", f"{_ONE}/preview", "preview of a campaign", preview),
    PageRoute("POST", f"{_ONE}/preview", "preview of a change", preview_change, Scope.SEND, ends=True),
    PageRoute("GET", f"{_ONE}/edit", "change a campaign", edit, Scope.SEND),
    PageRoute("POST", f"{_ONE}/edit", "store a campaign", save, Scope.SEND),
    PageRoute("GET", f"{_ONE}/delete", "ask to delete a campaign", ask, Scope.SEND),
    PageRoute("POST", f"{_ONE}/delete", "delete a campaign", delete, Scope.SEND, ends=True),
    *recipients.ROUTES,
    *uploads.ROUTES,
    *sending.ROUTES,
)
