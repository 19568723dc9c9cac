"""Stored templates: a list, one with its preview and versions, what differs, and the forms that change them."""

from dataclasses import replace
from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.listing import Asked, Filters, ListFilter, ListRows, listed
from functions.console.pages.campaigns.drafting import (
    CHANNEL_NAMES,
    MARKDOWN,
    Written,
    Wrong,
    again,
    checked,
    example,
    record,
    written,
)
from functions.console.pages.campaigns.previewing import SHOWING, ShownMessage, form_page, frame, shown
from functions.console.pages.campaigns.samples import SAMPLES, sample
from functions.console.pages.campaigns.view import stored_template
from functions.console.pages.templates.compare import differences
from functions.console.screen import Denial, PageRoute, absent, leave_for
from shared.domain.accounts import Scope
from shared.domain.audit import Act, Event, audited
from shared.domain.campaigns.campaign import MAX_VERSIONS, Message, StoredTemplate
from shared.domain.channels.lookup import channel_of
from shared.domain.ids import new_id
from shared.ports import Mismatch, Replay, Retriable
from shared.web.http import Answer

CHANGED: Final = Denial(
    409, "The template has changed", "Somebody has saved another version meanwhile. Open it again, and repeat yours."
)
VERSION_DIGITS: Final = len(str(MAX_VERSIONS))
FULL: Final = Denial(409, "The template has too many versions", f"It has {MAX_VERSIONS:,}. Make a new template.")


FILTERS: Final[Filters[StoredTemplate]] = (
    ListFilter("channel", "Channel", CHANNEL_NAMES, "every channel", lambda x: x.channel),
)


def _templates(at: Asked) -> ListRows[StoredTemplate]:
    """Return a page of the account's templates, newest first."""
    store = at.call.services.campaigns().campaigns.templates
    return ListRows(*store.page(at.call.account, after=at.place, limit=lists.PAGE))


def template(call: ConsoleCall) -> Answer:
    """Show a version of a template, by default the latest, and the versions that there are."""
    latest = owned(call)
    found = _version(call, latest, "version") or latest
    store = call.services.campaigns().campaigns.templates
    before = _number(call, "before")
    versions = store.versions(latest.id, before=before, limit=lists.PAGE)
    more = versions[-1].version if versions and versions[-1].version > 1 else 0
    context = {
        "latest": latest,
        "template": found,
        "versions": versions,
        "before": before,
        "next": more,
        "texts": found.variants.texts,
    }
    context["rich"] = channel_of(found.channel).rich
    return call.services.pages.page(call, "stored/template.html", context, headers=SHOWING)


def compare(call: ConsoleCall) -> Answer:
    """Show what differs between a version and an earlier one."""
    latest = owned(call)
    new = _version(call, latest, "version") or latest
    old = _version(call, latest, "with") or _get(call, latest.id, max(1, new.version - 1))
    context = {"latest": latest, "old": old, "new": new, "differences": differences(old, new)}
    return call.services.pages.page(call, "stored/compare.html", context)


def preview(call: ConsoleCall) -> Answer:
    """Show a stored template's message in its frame, with example values."""
    latest = owned(call)
    found = _version(call, latest, "version") or latest
    made = example(call, again(found.name, found.channel, found.message))
    return frame(call, made if isinstance(made, Wrong) else shown(call, made) or ShownMessage())


def write(call: ConsoleCall) -> Answer:
    """Show an empty form, or one with a sample."""
    query = call.request.query
    if "sample" in query:
        return _form(call, sample(query["sample"], call.services.campaigns().senders(call.account)))
    return _form(call, written({"channel": query.get("channel", ""), "unsubscribe": "1", "format": MARKDOWN}))


def _form(
    call: ConsoleCall, found: Written, wrong: Wrong | None = None, latest: StoredTemplate | None = None
) -> Answer:
    return form_page(
        call,
        "stored/form.html",
        found,
        wrong,
        {"latest": latest, "samples": SAMPLES, "sample": call.request.query.get("sample")},
    )


def create(call: ConsoleCall) -> Answer:
    """Store a template."""
    found = written(call.form)
    message = checked(call, found)
    if isinstance(message, Wrong):
        return _form(call, found, message)
    now = call.services.now
    made = StoredTemplate(new_id(now), call.account, found.name, found.channel, message, now, now)
    store = call.services.campaigns().campaigns.templates
    stored = store.create(made, record(call, made.id), event=_event(call, made, Act.TEMPLATE_CREATED))
    name = stored.answer if isinstance(stored, Replay) else made.id
    return leave_for(call, f"templates/{name}")


def edit(call: ConsoleCall) -> Answer:
    """Show the form of the next version."""
    latest = owned(call)
    return _form(call, again(latest.name, latest.channel, latest.message), latest=latest)


def save(call: ConsoleCall) -> Answer:
    """Store the next version, unless another was stored since the form was opened."""
    latest = owned(call)
    found = replace(written(call.form, latest.message.speech), channel=latest.channel)
    message = checked(call, found)
    if isinstance(message, Wrong):
        return _form(call, found, message, latest)
    if (found.name, message) == (latest.name, latest.message):
        return leave_for(call, f"templates/{latest.id}")
    if call.form.get("version") != str(latest.version):
        raise CHANGED
    if latest.version >= MAX_VERSIONS:
        raise FULL
    if not _stored(call, latest, found.name, message):
        raise CHANGED
    return leave_for(call, f"templates/{latest.id}")


def _stored(call: ConsoleCall, old: StoredTemplate, name: str, message: Message) -> bool:
    """Store the next version; False: another one was stored meanwhile."""
    new = replace(old, name=name, message=message, saved_at=call.services.now, version=old.version + 1)
    store = call.services.campaigns().campaigns.templates
    found = store.put(old, new, record(call, old.id), event=_event(call, new, Act.TEMPLATE_CHANGED))
    return found is not None and not isinstance(found, Mismatch)


def ask(call: ConsoleCall) -> Answer:
    """Ask whether a template is to be deleted."""
    return call.services.pages.page(call, "stored/delete.html", {"latest": owned(call)})


def delete(call: ConsoleCall) -> Answer:
    """Delete a template with its versions, if it is as the page that asked has shown it."""
    found = owned(call)
    if call.form.get("version") != str(found.version):
        raise CHANGED
    event = _event(call, replace(found, saved_at=call.services.now), Act.TEMPLATE_DELETED)
    if not call.services.campaigns().campaigns.templates.delete(found, event=event):
        raise Retriable("template: busy")
    return leave_for(call, "templates")


def owned(call: ConsoleCall) -> StoredTemplate:
    """Return the latest version of the template that the path names. Raises Denial if it is not the account's."""
    return stored_template(call, call.path["template"])


def _version(call: ConsoleCall, latest: StoredTemplate, name: str) -> StoredTemplate | None:
    """Return the version that a parameter names; None: it names none."""
    number = _number(call, name)
    return _get(call, latest.id, number) if number else None


def _get(call: ConsoleCall, name: str, version: int) -> StoredTemplate:
    found = call.services.campaigns().campaigns.templates.get(name, version)
    if found is None:
        raise absent("version")
    return found


def _number(call: ConsoleCall, name: str) -> int:
    return lists.number(call.request.query.get(name, ""), VERSION_DIGITS) or 0


def _event(call: ConsoleCall, x: StoredTemplate, act: Act) -> Event:
    data: dict[str, str | int] = {"channel": x.channel, "version": x.version}
    return audited(x.namespace, x.saved_at, x.id, act, call.actor, data)


_PATH: Final = "/console/{account}/templates"
_ONE: Final = f"{_PATH}/{{template}}"
ROUTES: Final = (
    listed(_PATH, "templates", "stored/templates.html", FILTERS, _templates),
    PageRoute("GET", f"{_PATH}/new", "write a template", write, Scope.ADMIN),
    PageRoute("POST", f"{_PATH}/new", "store a template", create, Scope.ADMIN),
    PageRoute("GET", _ONE, "template", template),
    PageRoute("GET", f"{_ONE}/preview", "preview of a template", preview),
    PageRoute("GET", f"{_ONE}/compare", "versions compared", compare),
    PageRoute("GET", f"{_ONE}/edit", "change a template", edit, Scope.ADMIN),
    PageRoute("POST", f"{_ONE}/edit", "store a version", save, Scope.ADMIN),
    PageRoute("GET", f"{_ONE}/delete", "ask to delete a template", ask, Scope.ADMIN),
    PageRoute("POST", f"{_ONE}/delete", "delete a template", delete, Scope.ADMIN, ends=True),
)
