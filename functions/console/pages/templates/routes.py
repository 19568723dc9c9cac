"""Stored templates: a list, one with its preview and versions, what differs, and the forms that change them."""

from dataclasses import replace
from typing import Final

from functions.console import lists
from functions.console.call import Look
from functions.console.listing import Asked, Filters, ListFilter, ListRows, listed
from functions.console.pages.campaigns.drafting import (
    CHANNEL_NAMES,
    Written,
    Wrong,
    again,
    checked,
    example,
    record,
    written,
)
from functions.console.pages.campaigns.previewing import SHOWING, ShownMessage, form_page, frame, shown
from functions.console.pages.campaigns.samples import letter
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
    store = at.look.services.campaigns().campaigns.templates
    return ListRows(*store.page(at.look.account, after=at.place, limit=lists.PAGE))


def template(look: Look) -> Answer:
    """Show a version of a template, by default the latest, and the versions that there are."""
    latest = owned(look)
    found = _version(look, latest, "version") or latest
    store = look.services.campaigns().campaigns.templates
    before = _number(look, "before")
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
    return look.services.pages.page(look, "stored/template.html", context, headers=SHOWING)


def compare(look: Look) -> Answer:
    """Show what differs between a version and an earlier one."""
    latest = owned(look)
    new = _version(look, latest, "version") or latest
    old = _version(look, latest, "with") or _get(look, latest.id, max(1, new.version - 1))
    context = {"latest": latest, "old": old, "new": new, "differences": differences(old, new)}
    return look.services.pages.page(look, "stored/compare.html", context)


def preview(look: Look) -> Answer:
    """Show a stored template's message in its frame, with example values."""
    latest = owned(look)
    found = _version(look, latest, "version") or latest
    made = example(look, again(found.name, found.channel, found.message))
    return frame(look, made if isinstance(made, Wrong) else shown(look, made) or ShownMessage())


def write(look: Look) -> Answer:
    """Show an empty form, or one with the sample."""
    query = look.request.query
    if "sample" in query:
        return _form(look, letter(look.services.campaigns().senders(look.account)))
    return _form(look, written({"channel": query.get("channel", ""), "unsubscribe": "1"}))


def _form(look: Look, found: Written, wrong: Wrong | None = None, latest: StoredTemplate | None = None) -> Answer:
    return form_page(look, "stored/form.html", found, wrong, {"latest": latest})


def create(look: Look) -> Answer:
    """Store a template."""
    found = written(look.form)
    message = checked(look, found)
    if isinstance(message, Wrong):
        return _form(look, found, message)
    now = look.services.now
    made = StoredTemplate(new_id(now), look.account, found.name, found.channel, message, now, now)
    store = look.services.campaigns().campaigns.templates
    stored = store.create(made, record(look, made.id), event=_event(look, made, Act.TEMPLATE_CREATED))
    name = stored.answer if isinstance(stored, Replay) else made.id
    return leave_for(look, f"templates/{name}")


def edit(look: Look) -> Answer:
    """Show the form of the next version."""
    latest = owned(look)
    return _form(look, again(latest.name, latest.channel, latest.message), latest=latest)


def save(look: Look) -> Answer:
    """Store the next version, unless another was stored since the form was opened."""
    latest = owned(look)
    found = replace(written(look.form, latest.message.speech), channel=latest.channel)
    message = checked(look, found)
    if isinstance(message, Wrong):
        return _form(look, found, message, latest)
    if (found.name, message) == (latest.name, latest.message):
        return leave_for(look, f"templates/{latest.id}")
    if look.form.get("version") != str(latest.version):
        raise CHANGED
    if latest.version >= MAX_VERSIONS:
        raise FULL
    if not _stored(look, latest, found.name, message):
        raise CHANGED
    return leave_for(look, f"templates/{latest.id}")


def _stored(look: Look, old: StoredTemplate, name: str, message: Message) -> bool:
    """Store the next version; False: another one was stored meanwhile."""
    new = replace(old, name=name, message=message, saved_at=look.services.now, version=old.version + 1)
    store = look.services.campaigns().campaigns.templates
    found = store.put(old, new, record(look, old.id), event=_event(look, new, Act.TEMPLATE_CHANGED))
    return found is not None and not isinstance(found, Mismatch)


def ask(look: Look) -> Answer:
    """Ask whether a template is to be deleted."""
    return look.services.pages.page(look, "stored/delete.html", {"latest": owned(look)})


def delete(look: Look) -> Answer:
    """Delete a template with its versions, if it is as the page that asked has shown it."""
    found = owned(look)
    if look.form.get("version") != str(found.version):
        raise CHANGED
    event = _event(look, replace(found, saved_at=look.services.now), Act.TEMPLATE_DELETED)
    if not look.services.campaigns().campaigns.templates.delete(found, event=event):
        raise Retriable("template: busy")
    return leave_for(look, "templates")


def owned(look: Look) -> StoredTemplate:
    """Return the latest version of the template that the path names. Raises Denial if it is not the account's."""
    return stored_template(look, look.path["template"])


def _version(look: Look, latest: StoredTemplate, name: str) -> StoredTemplate | None:
    """Return the version that a parameter names; None: it names none."""
    number = _number(look, name)
    return _get(look, latest.id, number) if number else None


def _get(look: Look, name: str, version: int) -> StoredTemplate:
    found = look.services.campaigns().campaigns.templates.get(name, version)
    if found is None:
        raise absent("version")
    return found


def _number(look: Look, name: str) -> int:
    return lists.number(look.request.query.get(name, ""), VERSION_DIGITS) or 0


def _event(look: Look, x: StoredTemplate, act: Act) -> Event:
    data: dict[str, str | int] = {"channel": x.channel, "version": x.version}
    return audited(x.namespace, x.saved_at, x.id, act, look.actor, data)


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
