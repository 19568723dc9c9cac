"""Create, change and disable notifiers, and give them new passwords."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from shared.contracts import Settings
from shared.domain.audit import Act, audited
from shared.domain.hours.zones import is_zone
from shared.domain.notices.notifier import (
    CHANNELS,
    MAX_CONFLICT_TRIES,
    MAX_EXPIRY_DAYS,
    MAX_NOTIFIERS,
    Notifier,
    PasswordHash,
    is_name,
    new_id_space,
    new_password,
    password_digest,
    with_password,
)
from shared.domain.recipients.phones import PhoneReader
from shared.engine.intake.declined import Decline, FieldFault, as_value, invalid, no_credential
from shared.engine.intake.opened import Opened, check_open
from shared.frozen import dataclass
from shared.ports import Clock, Notifiers, Retriable, WaitingNotices

TRIES: Final = 5
"""Changes that others make meanwhile."""
HOURS: Final = 24


@dataclass(frozen=True, slots=True)
class NotifierDraft:
    """Settings of a notifier as its owner wrote them; None is what was left out.

    Attributes:
        timezone: IANA name.
        hours: first reasonable hour and the end of the last one.
        routes: channel → ids of credentials.
        expiry_days: days from the delivery date to the expiry.
        conflict_tries: tries to withdraw a message.
        country: ISO 3166, empty for none.
    """

    timezone: str | None = None
    hours: tuple[int, int] | None = None
    routes: Mapping[str, Sequence[str]] | None = None
    expiry_days: int | None = None
    conflict_tries: int | None = None
    country: str | None = None


@dataclass(frozen=True, slots=True)
class NewLogin:
    """A notifier with a password of its own, whose text is shown once and not stored."""

    notifier: Notifier
    password: str


class NotifierService:
    """Changes notifiers. Each method returns a `Declined` where it refuses.

    Args:
        senders: by which channels accounts may send. A notice goes by each of them.
    """

    def __init__(self, *, store: Notifiers, senders: Opened, settings: Settings, clock: Clock) -> None:
        self._store = store
        self._senders = senders
        self._settings = settings
        self._clock = clock

    @as_value
    def create(self, name: str, account: str, draft: NotifierDraft, *, test: bool, by: str) -> NewLogin:
        """Create a notifier.

        Args:
            draft: its settings; a time zone is needed.
            test: it is made with a test key.
        """
        if not is_name(name):
            raise invalid("name", "A name has 1 to 63 lower-case letters, digits and hyphens, none at its ends.")
        for channel in CHANNELS:
            check_open(self._senders, account, channel, test=test)
        if draft.timezone is None:
            raise invalid("timezone", "A notifier needs a time zone, such as Australia/Sydney.")
        now = self._now()
        password = new_password()
        bare = Notifier(
            name=name,
            account=account,
            id_space=new_id_space(),
            timezone=draft.timezone,
            created_at=now,
            test=test,
            passwords=(PasswordHash(password_digest(password)),),
        )
        made = self._with(bare, draft)
        if self._store.get(name) is not None:
            raise _taken()
        if self._store.count(made.namespace, MAX_NOTIFIERS) >= MAX_NOTIFIERS:
            raise Decline("too_many_notifiers")
        event = audited(made.namespace, now, name, Act.NOTIFIER_CREATED, by, {"timezone": made.timezone})
        if not self._store.create(made, event=event):
            raise _taken()
        return NewLogin(made, password)

    @as_value
    def change(self, found: Notifier, draft: NotifierDraft, *, by: str) -> Notifier:
        """Change settings. Those that the draft leaves out stay."""
        return self._change(found, lambda old: self._with(old, draft), Act.NOTIFIER_CHANGED, by)

    @as_value
    def switch(self, found: Notifier, *, disabled: bool, by: str) -> Notifier:
        """Disable or enable a notifier; its stored notices are still delivered."""
        act = Act.NOTIFIER_DISABLED if disabled else Act.NOTIFIER_ENABLED
        return self._change(found, lambda old: replace(old, disabled=disabled), act, by)

    @as_value
    def delete(self, found: Notifier, waiting: WaitingNotices, *, by: str) -> Notifier:
        """Delete a notifier for which nothing waits. Its name stays taken, and its updates expire."""
        if waiting.any(found.name):
            raise Decline("notices_waiting")
        return self._change(found, lambda old: replace(old, deleted=True, passwords=()), Act.NOTIFIER_DELETED, by)

    @as_value
    def rotate(self, found: Notifier, *, until: int, by: str) -> NewLogin:
        """Give a notifier a second password; the present one ends at `until` (Unix ms).

        Args:
            until: when the present password ends, Unix milliseconds.
        """
        password = new_password()

        def add(old: Notifier) -> Notifier:
            return replace(with_password(old, password, self._now(), until), version=old.version)

        return NewLogin(self._change(found, add, Act.NOTIFIER_ROTATED, by), password)

    def _change(self, found: Notifier, how: Callable[[Notifier], Notifier], act: Act, by: str) -> Notifier:
        old: Notifier | None = found
        for _ in range(TRIES):
            if old is None or old.deleted:
                raise Decline("not_found")
            new = how(old)
            if new == old:
                return old
            new = replace(new, version=old.version + 1)
            event = audited(new.namespace, self._now(), new.name, act, by, {"version": new.version})
            if self._store.change(old, new, event=event):
                return new
            old = self._store.get(found.name)
        raise Retriable("notifier: busy")

    def _with(self, old: Notifier, draft: NotifierDraft) -> Notifier:
        if draft.timezone is not None and not is_zone(draft.timezone):
            raise invalid("timezone", "There is no such time zone in the IANA data base.")
        opens, closes = draft.hours or (old.opens, old.closes)
        if not 0 <= opens < closes <= HOURS:
            raise invalid("reasonable_hours", "The hours begin before they end, both from 0 to 24.")
        _within("days_until_expiry", draft.expiry_days, MAX_EXPIRY_DAYS)
        _within("conflict_tries", draft.conflict_tries, MAX_CONFLICT_TRIES)
        return replace(
            old,
            timezone=draft.timezone or old.timezone,
            opens=opens,
            closes=closes,
            routes=old.routes if draft.routes is None else self._routes(old.account, draft.routes),
            expiry_days=draft.expiry_days or old.expiry_days,
            conflict_tries=draft.conflict_tries or old.conflict_tries,
            country=old.country if draft.country is None else _country(draft.country),
        )

    def _routes(self, account: str, wanted: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
        mine = {c.id: c.channel for c in self._settings.credentials if c.open_to(account)}
        for channel, route in wanted.items():
            if channel not in CHANNELS:
                raise invalid(f"route.{channel}", f"A channel is one of {', '.join(CHANNELS)}.")
            for credential in route:
                if credential not in mine:
                    raise no_credential(f"route.{channel}", credential)
                if mine[credential] != channel:
                    raise invalid(f"route.{channel}", "A credential is one of another channel.")
        return {channel: tuple(dict.fromkeys(route)) for channel, route in wanted.items() if route}

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def _taken() -> Decline:
    return Decline("notifier_exists", FieldFault("name", "The name is taken, perhaps by a deleted notifier."))


def _within(field: str, value: int | None, most: int) -> None:
    if value is not None and not 1 <= value <= most:
        raise invalid(field, f"A number from 1 to {most}.")


def _country(text: str) -> str:
    try:
        PhoneReader(text)
    except ValueError:
        raise invalid("country", "There is no such country: two letters of ISO 3166, like AU.") from None
    return text
