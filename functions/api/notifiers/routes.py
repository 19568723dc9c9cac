"""Notifiers, for their owners: create, change, give a new password, list."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from functions.api.call import Call, now_of
from functions.api.campaigns.views import Deleted
from functions.api.declined import accepted
from functions.api.notifiers.requests import NewNotifier, NotifierChange, NotifierSettings, Rotation, StatsDays
from functions.api.notifiers.views import (
    NotifierLogin,
    NotifierPage,
    NotifierStats,
    NotifierView,
    login_view,
    notifier_day_view,
    notifier_view,
)
from shared.domain.accounts import Scope
from shared.domain.notices.notifier import Contact, Notifier, is_name
from shared.engine.notices.notifiers import NotifierDraft
from shared.web import cursors
from shared.web.http import Answer
from shared.web.inputs import Paging
from shared.web.problems import missing
from shared.web.routing import Nothing, Route, section

HOUR_MS: Final = 3_600_000
MAX_WAITING: Final = 10_000
"""Notices that wait, as far as they are counted."""


def create(call: Call[Nothing, NewNotifier]) -> Answer:
    """Create a notifier; its password is in this answer only, so no Idempotency-Key repeats it."""
    body, key = call.body, call.key
    service = call.services.notices().service
    made = accepted(service.create(body.name, key.account, _draft(body, body.timezone), test=key.test, by=key.id))
    where = {"Location": f"/notifiers/{made.notifier.name}"}
    return login_view(made.notifier, Contact(), made.password).answer(201, where)


def pages(call: Call[Paging, Nothing]) -> Answer:
    """Return a page of notifiers, newest first."""
    store = call.services.notices().notifiers
    found, after = store.page(call.key.namespace, after=cursors.notifiers(call), limit=call.query.limit)
    contacts = store.contacts([x.name for x in found])
    items = [notifier_view(x, contacts.get(x.name, Contact())) for x in found]
    return NotifierPage(items=items, next_cursor=cursors.seal(call, after)).answer()


def read(call: Call[Nothing, Nothing]) -> Answer:
    """Return a notifier."""
    found = owned(call)
    return notifier_view(found, _contact(call, found)).answer()


def change(call: Call[Nothing, NotifierChange]) -> Answer:
    """Change a notifier's settings, or disable or enable it."""
    found, body = owned(call), call.body
    service = call.services.notices().service
    changed = accepted(service.change(found, _draft(body, body.timezone), by=call.key.id))
    if body.disabled is not None:
        changed = accepted(service.switch(changed, disabled=body.disabled, by=call.key.id))
    return notifier_view(changed, _contact(call, changed)).answer()


def rotate(call: Call[Nothing, Rotation]) -> Answer:
    """Give a notifier a second password, and the present one an end."""
    found = owned(call)
    until = now_of(call) + call.body.overlap_hours * HOUR_MS
    made = accepted(call.services.notices().service.rotate(found, until=until, by=call.key.id))
    return login_view(made.notifier, _contact(call, found), made.password).answer()


def stats(call: Call[StatsDays, Nothing]) -> Answer:
    """Return what the updates of the last days count, newest first."""
    found, services = owned(call), call.services.notices()
    today = datetime.fromtimestamp(call.services.clock.now(), UTC).date()
    days = [today - timedelta(days=i) for i in range(call.query.days)]
    items = [notifier_day_view(day, x) for day, x in zip(days, services.days.of(found, days), strict=True)]
    count = services.waiting.count(found.name, MAX_WAITING)
    waiting = count > 0 or services.waiting.any(found.name)
    return NotifierStats(waiting=waiting, waiting_notices=count, items=items).answer()


def delete(call: Call[Nothing, Nothing]) -> Answer:
    """Delete a notifier for which nothing waits."""
    services = call.services.notices()
    accepted(services.service.delete(owned(call), services.waiting, by=call.key.id))
    return Deleted(deleted=True).answer()


def owned(call: Call[Any, Any]) -> Notifier:
    """Return the notifier that the path names; Problem not_found unless it is the caller's, of its kind of key."""
    name = call.path["name"]
    found = call.services.notices().notifiers.get(name) if is_name(name) else None
    if found is None or found.deleted or found.namespace != call.key.namespace:
        raise missing("notifier", name)
    return found


def _contact(call: Call[Any, Any], found: Notifier) -> Contact:
    return call.services.notices().notifiers.contacts([found.name]).get(found.name, Contact())


def _draft(body: NotifierSettings, timezone: str | None) -> NotifierDraft:
    hours, routes = body.reasonable_hours, body.route
    return NotifierDraft(
        timezone=timezone,
        hours=(hours.from_, hours.to) if hours is not None else None,
        routes=None if routes is None else {c: route or () for c, route in routes.model_dump().items()},
        expiry_days=body.days_until_expiry,
        conflict_tries=body.conflict_tries,
        country=body.country,
    )


ROUTES: Final = section(
    "Notifiers",
    Route(
        method="POST",
        path="/notifiers",
        name="createNotifier",
        summary="Create a notifier and its password",
        description="The answer holds the password, which is shown once. If the answer is lost, ask for another one: "
        "POST /notifiers/{name}/rotate.",
        scope=Scope.ADMIN,
        handler=create,
        answers={201: NotifierLogin},
        problems=("channel_not_open", "credential_not_found", "notifier_exists", "too_many_notifiers"),
    ),
    Route(
        method="GET",
        path="/notifiers",
        name="listNotifiers",
        summary="Notifiers, newest first",
        scope=Scope.READ,
        handler=pages,
        answers={200: NotifierPage},
        problems=("bad_cursor",),
    ),
    Route(
        method="GET",
        path="/notifiers/{name}",
        name="getNotifier",
        summary="A notifier",
        scope=Scope.READ,
        handler=read,
        answers={200: NotifierView},
        problems=("not_found",),
    ),
    Route(
        method="PATCH",
        path="/notifiers/{name}",
        name="changeNotifier",
        summary="Change a notifier's settings, or disable or enable it",
        description="Within 30 seconds a disabled notifier is refused. Its stored notices are still delivered.",
        scope=Scope.ADMIN,
        handler=change,
        answers={200: NotifierView},
        problems=("not_found", "credential_not_found"),
        body_required=True,
    ),
    Route(
        method="POST",
        path="/notifiers/{name}/rotate",
        name="rotateNotifier",
        summary="Give a notifier a second password",
        description="The present password stays valid for the overlap. An earlier one ends at once. The answer holds "
        "the new password, which is shown once.",
        scope=Scope.ADMIN,
        handler=rotate,
        answers={200: NotifierLogin},
        problems=("not_found",),
    ),
    Route(
        method="GET",
        path="/notifiers/{name}/stats",
        name="getNotifierStats",
        summary="Updates of a notifier by day",
        scope=Scope.READ,
        handler=stats,
        answers={200: NotifierStats},
        problems=("not_found",),
    ),
    Route(
        method="DELETE",
        path="/notifiers/{name}",
        name="deleteNotifier",
        summary="Delete a notifier",
        description="Disable it first, so that it uploads nothing more. Its name is not given again.",
        scope=Scope.ADMIN,
        handler=delete,
        answers={200: Deleted},
        problems=("not_found", "notices_waiting"),
    ),
)
