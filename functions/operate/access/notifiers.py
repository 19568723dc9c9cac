"""Notifiers, machines that upload notices: made, listed, changed, disabled, deleted, and given new passwords.

A password's text is in the answer that makes it, and nowhere else.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pydantic import Field

from functions.operate.accounts import resolve
from functions.operate.call import Call, OperateBody, OperateQuery, OperateView, route
from functions.operate.declined import accepted
from functions.operate.services import OperateServices
from shared.domain.namespaces import namespaces_of
from shared.domain.notices.notifier import Contact, Notifier, is_name
from shared.engine.notices.notifiers import NotifierDraft
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Nothing

PAGE: Final = 100
MAX_WAITING: Final = 10_000
"""Notices that wait, as far as they are counted."""
MAX_DAYS: Final = 31
GONE: Final = "The notifier has been deleted."


class NotifiersQuery(OperateQuery):
    """Whose notifiers. `account`: an id or a name; empty: all."""

    account: str = Field("", max_length=200)


class DaysQuery(OperateQuery):
    """How many UTC days up to today."""

    days: int = Field(7, ge=1, le=MAX_DAYS)


class SettingsOfNotifier(OperateBody):
    """Settings of a notifier; None is what was left out.

    `hours`: the first reasonable hour of a day and the end of the last one. `routes`: channel → ids of credentials.
    """

    timezone: str | None = None
    hours: tuple[int, int] | None = None
    routes: dict[str, list[str]] | None = None
    expiry_days: int | None = None
    conflict_tries: int | None = None
    country: str | None = None

    @property
    def draft(self) -> NotifierDraft:
        """The same, as the use case takes it."""
        return NotifierDraft(
            timezone=self.timezone,
            hours=self.hours,
            routes=self.routes,
            expiry_days=self.expiry_days,
            conflict_tries=self.conflict_tries,
            country=self.country,
        )


class OrderedNotifier(SettingsOfNotifier):
    """A notifier. `account`: an id or a name. `test`: its messages never reach a provider."""

    name: str = Field(max_length=200)
    account: str = Field(min_length=1, max_length=200)
    test: bool = False


class PasswordEnd(OperateBody):
    """When the present password ends, Unix milliseconds."""

    until: int = Field(ge=0)


class OperatedNotifier(OperateView):
    """A notifier. `last_seen_at`, `last_status_at`: its last calls, to the minute; 0: none."""

    name: str
    account_id: str
    timezone: str
    reasonable_hours: str
    route: dict[str, list[str]]
    days_until_expiry: int
    conflict_tries: int
    country: str | None
    test: bool
    disabled: bool
    created_at: int
    last_seen_at: int
    last_status_at: int


class OperatedNotifiers(OperateView):
    """Notifiers of an account, or of all."""

    items: list[OperatedNotifier]


class NotifierPassword(OperateView):
    """A notifier with a new password, whose text only this answer has."""

    notifier: OperatedNotifier
    password: str


class NotifierDayFigures(OperateView):
    """Counts of the updates of a UTC day, by status and by error."""

    date: str
    statuses: dict[str, int]
    rejected: int
    errors: dict[str, int]


class OperatedNotifierDays(OperateView):
    """Days, newest first, and how many messages wait."""

    waiting_notices: int
    items: list[NotifierDayFigures]


class NotifierDeleted(OperateView):
    """A notifier that is deleted. `disabled`: it was disabled before."""

    name: str
    disabled: bool


def list_notifiers(call: Call[NotifiersQuery, Nothing]) -> Answer:
    """Return notifiers, and when they were last there."""
    services, account = call.services, call.query.account
    owners = [resolve(services, account)] if account else [x.id for x in services.accounts.list_accounts()]
    found = [x for owner in owners for space in namespaces_of(owner) for x in notifiers_of(services, space)]
    contacts = services.notifiers.contacts([x.name for x in found])
    return OperatedNotifiers(items=[_row(x, contacts.get(x.name, Contact())) for x in found]).answer()


def read_notifier(call: Call[Nothing, Nothing]) -> Answer:
    """Return a notifier's settings, and when it called last."""
    found = _found(call)
    return _row(found, call.services.notifiers.contacts([found.name]).get(found.name, Contact())).answer()


def notifier_days(call: Call[DaysQuery, Nothing]) -> Answer:
    """Return a notifier's updates by day, newest first, and how many of its messages wait."""
    services, found = call.services, _found(call)
    today = datetime.fromtimestamp(services.clock.now(), UTC).date()
    wanted = [today - timedelta(days=i) for i in range(call.query.days)]
    rows = [
        NotifierDayFigures(date=day.isoformat(), statuses=dict(x.statuses), rejected=x.rejected, errors=dict(x.errors))
        for day, x in zip(wanted, services.notifier_days.of(found, wanted), strict=True)
    ]
    return OperatedNotifierDays(
        waiting_notices=services.noticing.waiting.count(found.name, MAX_WAITING), items=rows
    ).answer()


def create_notifier(call: Call[Nothing, OrderedNotifier]) -> Answer:
    """Create a notifier. Its name is given once, so a repeat is refused."""
    body, service = call.body, call.services.notifier_service
    whose = resolve(call.services, body.account)
    made = accepted(service.create(body.name, whose, body.draft, test=body.test, by=call.key.id))
    return NotifierPassword(notifier=_row(made.notifier, Contact()), password=made.password).answer()


def rotate_notifier(call: Call[Nothing, PasswordEnd]) -> Answer:
    """Give a notifier a second password. A repeat gives it another."""
    service = call.services.notifier_service
    made = accepted(service.rotate(_found(call), until=call.body.until, by=call.key.id), absent=GONE)
    return NotifierPassword(notifier=_row(made.notifier, Contact()), password=made.password).answer()


def change_notifier(call: Call[Nothing, SettingsOfNotifier]) -> Answer:
    """Change a notifier's settings. What is left out stays."""
    changed = call.services.notifier_service.change(_found(call), call.body.draft, by=call.key.id)
    return _row(accepted(changed, absent=GONE), Contact()).answer()


def disable_notifier(call: Call[Nothing, Nothing]) -> Answer:
    """Refuse a notifier's calls."""
    return _switched(call, disabled=True)


def enable_notifier(call: Call[Nothing, Nothing]) -> Answer:
    """Accept a notifier's calls again."""
    return _switched(call, disabled=False)


def delete_notifier(call: Call[Nothing, Nothing]) -> Answer:
    """Delete a notifier for which nothing waits."""
    found = _found(call)
    service, waiting = call.services.notifier_service, call.services.noticing.waiting
    accepted(service.delete(found, waiting, by=call.key.id), absent=GONE)
    return NotifierDeleted(name=found.name, disabled=found.disabled).answer()


def _switched(call: Call[Nothing, Nothing], *, disabled: bool) -> Answer:
    changed = call.services.notifier_service.switch(_found(call), disabled=disabled, by=call.key.id)
    return _row(accepted(changed, absent=GONE), Contact()).answer()


def _found(call: Call[Any, Any]) -> Notifier:
    """Return the notifier that the path names; Problem not_found if there is none."""
    name = call.path["notifier"]
    known = call.services.notifiers.get(name) if is_name(name) else None
    if known is None or known.deleted:
        raise Problem("not_found", f"No notifier {name}: see `posthaste notifier list`.")
    return known


def notifiers_of(services: OperateServices, space: str) -> Iterator[Notifier]:
    """Yield the notifiers of a namespace."""
    after = ""
    while True:
        found, after = services.notifiers.page(space, after=after, limit=PAGE)
        yield from found
        if not after:
            return


def _row(x: Notifier, contact: Contact) -> OperatedNotifier:
    return OperatedNotifier(
        name=x.name,
        account_id=x.account,
        timezone=x.timezone,
        reasonable_hours=f"{x.opens}-{x.closes}",
        route={channel: list(credentials) for channel, credentials in x.routes.items()},
        days_until_expiry=x.expiry_days,
        conflict_tries=x.conflict_tries,
        country=x.country or None,
        test=x.test,
        disabled=x.disabled,
        created_at=x.created_at,
        last_seen_at=contact.seen_at,
        last_status_at=contact.status_at,
    )


ROUTES: Final = (
    route("GET", "/notifiers", "Notifiers", list_notifiers, OperatedNotifiers, "not_found"),
    route("POST", "/notifiers/create", "Create a notifier", create_notifier, NotifierPassword, "not_found"),
    route("GET", "/notifiers/{notifier}", "A notifier", read_notifier, OperatedNotifier, "not_found"),
    route("GET", "/notifiers/{notifier}/days", "Its updates by day", notifier_days, OperatedNotifierDays, "not_found"),
    route("POST", "/notifiers/{notifier}/rotate", "Give it a password", rotate_notifier, NotifierPassword, "not_found"),
    route(
        "POST", "/notifiers/{notifier}/change", "Change its settings", change_notifier, OperatedNotifier, "not_found"
    ),
    route("POST", "/notifiers/{notifier}/disable", "Refuse its calls", disable_notifier, OperatedNotifier, "not_found"),
    route("POST", "/notifiers/{notifier}/enable", "Accept its calls", enable_notifier, OperatedNotifier, "not_found"),
    route("POST", "/notifiers/{notifier}/delete", "Delete it", delete_notifier, NotifierDeleted, "not_found"),
)
