"""Which credentials a request goes through, and when."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from shared.contracts import MAIL_ROUTE, TEST_CREDENTIAL, Credential, Routing, Settings
from shared.domain.channels.email import EMAIL
from shared.domain.times import Seconds, may_begin
from shared.engine.intake.declined import Decline, FieldFault, invalid, no_credential
from shared.engine.intake.request import SendRequest
from shared.frozen import dataclass


def begin_at(wanted: datetime | None, now: Seconds) -> int:
    """Return when sending begins, Unix milliseconds, 0 for now; `Decline` for a time that nothing waits for.

    Args:
        wanted: as asked for; None: now.
    """
    if wanted is None:
        return 0
    if not may_begin(wanted, now):
        moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        raise invalid("scheduled_at", f"Choose a time from now on and within a year. It is {moment}.")
    return int(wanted.timestamp() * 1000)


def _check_route(route: Sequence[str], channel: str, declared: Mapping[str, Credential]) -> None:
    """Decline a route with a credential that is not open to the account, or of another channel."""
    for name in route:
        if name not in declared:
            raise no_credential("route", name)
        if declared[name].channel != channel:
            raise invalid("route", "A credential is of another channel.")


def route_of(asked: SendRequest, channel: str, settings: Settings) -> tuple[str, ...]:
    """Return the credentials to use; a test key's request takes the built-in one, but names only what a live one may.

    Args:
        asked: its account decides what is open to it.
    """
    return credentials_for(asked.account, asked.route, channel, settings, test=asked.test)


def credentials_for(
    account: str, wanted: Sequence[str] | None, channel: str, settings: Settings, *, test: bool
) -> tuple[str, ...]:
    """Return the credentials to use; with a test key it is the built-in one, and those named must be open all the same.

    Args:
        account: decides what is open to it.
        wanted: ids of credentials; None: the deployment's route of that name.
        channel: of the message, or the name of its route.
    """
    declared = {c.id: c for c in settings.credentials if c.open_to(account)}
    if wanted is None:
        route = tuple(c for c in settings.routes.get(channel, ()) if c in declared)
    else:
        _check_route(wanted, channel, declared)
        route = tuple(wanted)
    if test:
        return (TEST_CREDENTIAL,)
    if not route:
        raise Decline("no_route", FieldFault("route", "This account may not use any credential of the channel."))
    return route


@dataclass(frozen=True, slots=True)
class MessageBounds:
    """How many people a provider takes in one message.

    Attributes:
        people: the most, with all copies; 0: no bound is known.
        shown: the most of them in `To`; 0: no bound but `people`.
    """

    people: int = 0
    shown: int = 0

    def takes(self, people: int, shown: int) -> bool:
        """Tell whether a message to so many people, so many of them in `To`, is within the bounds."""
        return people <= (self.people or people) and shown <= (self.shown or shown)


@dataclass(frozen=True, slots=True)
class Carriers:
    """Leaves out of routes what cannot carry a message.

    Attributes:
        settings: the deployment's credentials.
        bounds: provider, as in the settings → how many people it takes.
    """

    settings: Settings
    bounds: Callable[[str], MessageBounds]

    def of(self, route: Sequence[str], people: int, shown: int, field: str) -> tuple[str, ...]:
        """Return the credentials of a route that can carry a message; `Decline` if none can.

        Args:
            people: all who get the message.
            shown: how many of them are in `To`.
            field: of the request, for the refusal.
        """
        left = tuple(c for c in route if self.bounds(self.settings.credential(c).provider).takes(people, shown))
        if not left:
            said = f"No credential of the route takes a message to {people:,} people. Send several messages."
            raise Decline("too_many_in_message", FieldFault(field, said))
        return left


def mail_route(account: str, settings: Settings, *, test: bool) -> tuple[str, ...]:
    """Return the credentials for finished messages: those of the route `mail`, else of the channel's own route.

    Args:
        account: decides what is open to it.

    Raises:
        Decline: no_route, if the account may use none of them.
    """
    name = MAIL_ROUTE if MAIL_ROUTE in settings.routes else EMAIL.name
    return credentials_for(account, None, name, settings, test=test)


def ordered(asked: SendRequest, channel: str, settings: Settings) -> bool:
    """Return whether the first usable credential takes all messages.

    Args:
        asked: the request; it decides if it says so, or names a route.
        settings: the deployment's settings, with the default by channel.
    """
    default = "" if asked.route is not None else settings.routing.get(channel, "")
    return (asked.routing or default) == Routing.ORDERED


def _check_credential(wanted: str, channel: str, usable: Mapping[str, Credential]) -> None:
    """Decline a credential that is not open to the account, or of another channel."""
    if wanted not in usable:
        raise no_credential("credential_id", wanted)
    if usable[wanted].channel != channel:
        raise invalid("credential_id", f"The credential does not send {channel}.")


def _first_of(channel: str, usable: Mapping[str, Credential], settings: Settings) -> str | None:
    """Return the first usable credential of a channel: in the order of its route, then of the settings."""
    mine = [c.id for c in usable.values() if c.channel == channel]
    return next((c for c in (*settings.routes.get(channel, ()), *mine) if c in mine), None)


# change: which credential a campaign gets
def credential_of(account: str, channel: str, wanted: str | None, settings: Settings, *, test: bool) -> str:
    """Return the one credential of a campaign, by default the channel's first that is open to the account.

    A test key's campaign takes the built-in one, but names only what a live one may.

    Args:
        wanted: as asked for; None: the default.
    """
    usable = {c.id: c for c in settings.credentials if c.open_to(account)}
    if wanted is not None:
        _check_credential(wanted, channel, usable)
    if test:
        return TEST_CREDENTIAL
    found = wanted or _first_of(channel, usable, settings)
    if found is None:
        fault = FieldFault("credential_id", "This account may not use any credential of the channel.")
        raise Decline("no_route", fault)
    return found
