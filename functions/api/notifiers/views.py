"""Notifiers as their owners see them."""

from datetime import date

from pydantic import Field

from shared.domain.notices.days import NotifierDay
from shared.domain.notices.notifier import Contact, Notifier
from shared.web.views import Time, View, at, moment


class HoursView(View):
    """Hours of a day."""

    from_: int = Field(serialization_alias="from")
    to: int


class NotifierView(View):
    """A notifier, without its password."""

    name: str
    username: str = Field(description="For HTTP Basic; the same as `name`.")
    timezone: str
    reasonable_hours: HoursView
    route: dict[str, list[str]] = Field(description="By channel; the others have the deployment's route.")
    days_until_expiry: int
    conflict_tries: int
    country: str | None
    test: bool = Field(description="Made with a test key: its messages never reach a provider.")
    disabled: bool
    created_at: Time
    last_seen_at: Time | None = Field(description="Its last call, to the minute; null: it has made none.")
    last_status_at: Time | None = Field(description="The last time it asked for updates, to the minute.")
    previous_password_until: Time | None = Field(description="When the password before the present one ends.")


class NotifierLogin(NotifierView):
    """A notifier with its new password."""

    password: str = Field(description="Shown once: only its hash is stored.")


class NotifierPage(View):
    """A page of notifiers, newest first."""

    items: list[NotifierView]
    next_cursor: str | None


def notifier_view(x: Notifier, contact: Contact) -> NotifierView:
    """Return a notifier as its owner sees it."""
    return NotifierView(**_fields(x, contact))


def login_view(x: Notifier, contact: Contact, password: str) -> NotifierLogin:
    """Return a notifier with the text of its new password.

    Args:
        contact: when it called last.
    """
    return NotifierLogin(**_fields(x, contact), password=password)


def _fields(x: Notifier, contact: Contact) -> dict[str, object]:
    before = x.passwords[-2].until if len(x.passwords) > 1 else 0
    return {
        "name": x.name,
        "username": x.name,
        "timezone": x.timezone,
        "reasonable_hours": HoursView(from_=x.opens, to=x.closes),
        "route": {channel: list(route) for channel, route in x.routes.items()},
        "days_until_expiry": x.expiry_days,
        "conflict_tries": x.conflict_tries,
        "country": x.country or None,
        "test": x.test,
        "disabled": x.disabled,
        "created_at": moment(x.created_at),
        "last_seen_at": at(contact.seen_at),
        "last_status_at": at(contact.status_at),
        "previous_password_until": at(before),
    }


class NotifierDayView(View):
    """Updates of one UTC day."""

    date: date
    success: int
    temp_fail: int
    perm_fail: int
    canceled: int
    rejected: int = Field(description="Records that were rejected.")
    errors: dict[str, int] = Field(description="Updates by their error code.")


class NotifierStats(View):
    """Updates of a notifier by day, newest first."""

    waiting: bool = Field(description="Whether uploaded records or notices wait.")
    waiting_notices: int = Field(description="How many notices wait for their next run, at most 10,000.")
    items: list[NotifierDayView]


def notifier_day_view(day: date, x: NotifierDay) -> NotifierDayView:
    """Return a day as the notifier's owner sees it."""
    amounts = {name.lower(): x.statuses.get(name, 0) for name in ("SUCCESS", "TEMP_FAIL", "PERM_FAIL", "CANCELED")}
    return NotifierDayView(date=day, **amounts, rejected=x.rejected, errors=dict(x.errors))
