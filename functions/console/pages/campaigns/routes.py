"""Campaigns: the list, one with its steps, and the forms of its message."""

from dataclasses import replace
from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import Asked, Filters, ListFilter, ListRows, listed, states
from functions.console.pages import hours
from functions.console.pages.campaigns import again as kept
from functions.console.pages.campaigns import recipients, samples, sending, uploads
from functions.console.pages.campaigns.drafting import (
    CHANNEL_NAMES,
    MARKDOWN,
    MAX_NAME,
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
    can_repeat,
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
from shared.domain.content.content import Speech
from shared.domain.ids import new_id, parse_message_id
from shared.domain.jobs.job import public_counts
from shared.engine.campaigns.campaigns import Refused
from shared.engine.campaigns.preview import MAX_ROW
from shared.engine.intake.declined import Declined
from shared.engine.jobs.rescheduling import can_move
from shared.ports import Mismatch, Replay
from shared.web.http import Answer

FILTERS: Final[Filters[CampaignRow]] = (
    states(tuple(dict.fromkeys(WORDS.values())), lambda x: x.state),
    ListFilter("channel", "Channel", CHANNEL_NAMES, "every channel", lambda x: x.campaign.channel),
)
SHOWN_DIGITS: Final = 5
"""Of the number of a recipient whose message is shown."""
SHEET_DIGITS: Final = 9
"""Of the number of a row in a sheet."""


def _campaigns(at: Asked) -> ListRows[CampaignRow]:
    """Return a page of the account's campaigns, newest first."""
    return ListRows(*rows(at.call, at.place, lists.PAGE))


def campaign(call: ConsoleCall) -> Answer:
    """Show a campaign and its next step; with `part=list` only the list that is being read."""
    found = owned(call)
    view = current(call, found)
    if call.request.query.get("part") == "list":
        done = {} if found.uploading else {"HX-Refresh": "true"}
        return call.services.pages.page(call, "campaigns/reading.html", {"list": view}, headers=done)
    jobs = call.services.listing.jobs(found.jobs[-lists.PAGE :])
    sent = [jobs[name] for name in reversed(found.jobs) if name in jobs]
    context = {
        "campaign": found,
        "state": word(found, jobs, fits=not found.missing),
        "sender": shown_mailbox(found.message.sender),
        "hours": hours.words(found.hours),
        "label": label(channel_of(found.channel)),
        "rich": channel_of(found.channel).rich,
        "list": view,
        "obstacles": in_the_way(call, found, view),
        "jobs": sent,
        "job_word": job_word,
        "can_repeat": can_repeat,
        "can_move": lambda job: can_move(job, call.services.now) and not job.approved,
        "figures": {x.id: public_counts(x.counts) for x in sent},
        "most": lists.PAGE,
        "row": _row_of_message(call, found) or _row_of_sheet(call, found) or row_of(call),
        "sheet": call.request.query.get("sheet", "")[:SHEET_DIGITS],
        "samples": call.services.campaigns().samples,
        "kept": kept.kept_lists(call, found) if "others" in call.request.query else None,
        "once": once(call),
        **uploads.shown_problems(call, view),
    }
    return call.services.pages.page(call, "campaigns/campaign.html", context, headers=uploads.policy(call))


def row_of(call: ConsoleCall) -> int:
    """Return which recipient's message is shown, from 1."""
    typed = call.form.get("row", "") or call.request.query.get("row", "")
    return lists.number(typed, SHOWN_DIGITS) or 1


def _row_of_message(call: ConsoleCall, found: Campaign) -> int:
    """Return the number of the recipient whose message the address names by its place; 0: it names none."""
    place = parse_message_id(call.request.query.get("message", ""))
    if place is None or not found.ready:
        return 0
    number = call.services.campaigns().campaigns.previews.number(found.ready, *place)
    if number is None:
        raise conflict("", f"Messages of the first {MAX_ROW:,} recipients of a list can be shown here.")
    return number


def _row_of_sheet(call: ConsoleCall, found: Campaign) -> int:
    """Return the number of the recipient who has the row of the sheet that the address names, or the next; 0: none."""
    sheet_row = lists.number(call.request.query.get("sheet", ""), SHEET_DIGITS)
    if not sheet_row or not found.ready:
        return 0
    number = call.services.campaigns().campaigns.previews.at_row(found, sheet_row)
    if number is None or number > MAX_ROW:
        raise conflict("", f"No row from {sheet_row:,} on has one of the first {MAX_ROW:,} recipients of the list.")
    return number


def _row_shown(call: ConsoleCall, found: Campaign) -> int | None:
    return row_of(call) if found.ready or found.jobs else None


def preview(call: ConsoleCall) -> Answer:
    """Show a recipient's message in its frame, or one with example values if there is no list."""
    found = owned(call)
    return frame(call, shown(call, found, _row_shown(call, found)) or _no_recipient(call, found))


def _no_recipient(call: ConsoleCall, found: Campaign) -> ShownMessage:
    """Return why no recipient of a list has the number that was asked for."""
    view = shown_list(call, found)
    many = f"The list has {view.accepted:,} recipient{'' if view.accepted == 1 else 's'}. " if view else ""
    return ShownMessage(
        fault=f"There is no recipient {row_of(call):,}. {many}"
        "Recipients are counted in the order of the list. Rows that are not sent are not counted, "
        "and have no message: “Rows to check” has the reason of each."
    )


def preview_form(call: ConsoleCall) -> Answer:
    """Show in its frame what a form says that is not saved yet."""
    return _unsaved(call, example(call, written(call.form)), None)


def preview_change(call: ConsoleCall) -> Answer:
    """Show in its frame what the form of a stored campaign says: as a recipient of its list gets it, if it has one."""
    found = owned(call)
    said = replace(written(call.form, found.message.speech), channel=found.channel)
    return _unsaved(call, example(call, said, found), _row_shown(call, found))


def _unsaved(call: ConsoleCall, made: Campaign | Wrong, row: int | None) -> Answer:
    if isinstance(made, Wrong):
        return frame(call, made)
    return frame(call, shown(call, made, row, call.form.get("from", "")) or _no_recipient(call, made))


def write(call: ConsoleCall) -> Answer:
    """Show the form of a new campaign: empty, from a stored template, from another campaign, or from the sample."""
    query = call.request.query
    if "sample" in query:
        return _form(call, samples.sample(query["sample"], call.services.campaigns().senders(call.account)))
    if "template" in query:
        stored = stored_template(call, query["template"])
        return _form(call, again(stored.name, stored.channel, stored.message))
    if "campaign" in query:
        return _form(call, _copy(_copied(call, query["campaign"])))
    return _form(call, written({"channel": query.get("channel", ""), "unsubscribe": "1", "format": MARKDOWN}))


def _form(call: ConsoleCall, found: Written, wrong: Wrong | None = None, of: Campaign | None = None) -> Answer:
    store = call.services.campaigns().campaigns.templates
    stored, older = ([], "") if of else store.page(call.account, after="", limit=lists.PAGE)
    context = {
        "campaign": of,
        "credentials": usable(call, found.channel),
        "row": _row_shown(call, of) if of else None,
        "templates": stored,
        "days": hours.NAMES,
        "samples": samples.SAMPLES,
        "sample": call.request.query.get("sample"),
        "older": older,
    }
    return form_page(call, "campaigns/form.html", found, wrong, context, of.columns if of else ())


def create(call: ConsoleCall) -> Answer:
    """Make a campaign; a form that is sent twice makes one."""
    said = written(call.form, _speech(call))
    made = _made(call, said)
    if isinstance(made, Wrong):
        return _form(call, said, made)
    control = call.services.campaigns().campaigns.control
    stored = control.create(made, record(call, made.id), by=call.who.person.user.actor)
    if isinstance(stored, Mismatch):
        raise conflict("idempotency_mismatch")
    name = stored.answer if isinstance(stored, Replay) else made.id
    return leave_for(call, f"campaigns/{name}")


def _speech(call: ConsoleCall) -> Speech | None:
    """Return how a call says its message: as what the form began with, which its address names; the form has it not."""
    query, channel = call.request.query, call.form.get("channel", "")
    if "campaign" in query:
        found = _copied(call, query["campaign"])
        return found.message.speech if found.channel == channel else None
    if "template" in query:
        stored = stored_template(call, query["template"])
        return stored.message.speech if stored.channel == channel else None
    return None


def _copied(call: ConsoleCall, name: str) -> Campaign:
    return owned(replace(call, path={**call.path, "campaign": name}))


def _copy(found: Campaign) -> Written:
    return replace(_again(found), name=f"Copy of {found.name}"[:MAX_NAME])


def _made(call: ConsoleCall, found: Written) -> Campaign | Wrong:
    """Return the campaign that a form asks for, or all that is wrong with it."""
    intake = call.services.campaigns().intake
    message = checked(call, found)
    credential = intake.credential(call.account, found.channel, found.credential or None, test=False)
    if isinstance(credential, Declined):
        wrong = faults_of(credential, found)
        return Wrong({**(message.fields if isinstance(message, Wrong) else {}), **wrong.fields}, wrong.all)
    if isinstance(message, Wrong):
        return message
    now = call.services.now
    return Campaign(
        id=new_id(now),
        account=call.account,
        test=False,
        name=found.name,
        channel=found.channel,
        credential=credential,
        message=message,
        created_at=now,
        unsubscribe=found.unsubscribe and found.by.offers_links,
        hours=found.hours.hours,
        updated_at=now,
    )


def edit(call: ConsoleCall) -> Answer:
    """Show the form of a campaign's message."""
    found = owned(call)
    return _form(call, _again(found), of=found)


def _again(found: Campaign) -> Written:
    said = again(found.name, found.channel, found.message)
    return replace(said, credential=found.credential, unsubscribe=found.unsubscribe, hours=hours.again(found.hours))


def save(call: ConsoleCall) -> Answer:
    """Change what a campaign says."""
    found = owned(call)
    said = replace(written(call.form, found.message.speech), channel=found.channel)
    made = _made(call, said)
    if isinstance(made, Wrong):
        return _form(call, said, made, found)
    if call.form.get("version") != str(found.version):
        raise conflict("", "Somebody has changed it meanwhile. Open it again, and repeat what you did.")
    changes = {name: getattr(made, name) for name in ("name", "message", "credential", "unsubscribe", "hours")}
    control, by = call.services.campaigns().campaigns.control, call.who.person.user.actor
    told = control.edit(found, by=by, **changes, template="", template_version=0)
    if told is None:
        raise absent("campaign")
    if isinstance(told, Refused):
        raise conflict(told.reason.value)
    return leave_for(call, f"campaigns/{found.id}")


def ask(call: ConsoleCall) -> Answer:
    """Ask whether a draft is to be deleted."""
    return call.services.pages.page(call, "campaigns/delete.html", {"campaign": owned(call)})


def delete(call: ConsoleCall) -> Answer:
    """Delete a draft."""
    found = call.services.campaigns().campaigns.control.delete(owned(call), by=call.who.person.user.actor)
    if found is not None:
        raise conflict(found.reason.value)
    return leave_for(call, "campaigns")


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
    *kept.ROUTES,
    *sending.ROUTES,
)
