"""Accounts as operators make, list, suspend and change them."""

from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, Field

from functions.operate.call import Call, OperateBody, OperateQuery, OperateView, Why, route
from functions.operate.services import OperateServices
from shared.domain.accounts import MAX_NAME, Account, is_account_id
from shared.domain.campaigns.approval import MOST_ROWS, ApprovalLimit, Who
from shared.domain.channels.lookup import CHANNELS
from shared.domain.hours.openings import InvalidHoursError, quiet
from shared.domain.hours.zones import is_zone
from shared.domain.recipients.reader import number_reader
from shared.web.http import Answer
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing

NO_SENDER: Final = "a sender is an address (news@example.com) or a domain (example.com)."


def _named(text: str) -> str:
    trimmed = text.strip()
    if len(trimmed) > MAX_NAME or not trimmed.isprintable():
        raise ValueError(f"A name has at most {MAX_NAME} printable characters")
    return trimmed


Name = Annotated[str, AfterValidator(_named)]
"""A name for people, without spaces around it."""


class AccountBody(OperateBody):
    """Which account. `account`: its id or name."""

    account: str = Field(min_length=1, max_length=200)


OfAccount = TypeVar("OfAccount", bound=AccountBody)


class AccountQuery(OperateQuery):
    """Which account. `account`: its id or name."""

    account: str = Field(min_length=1, max_length=200)


class NewAccount(OperateBody):
    """An account, and the addresses or domains that it may send from.

    Attributes:
        account_id: drawn by the caller, so that a repeat makes no second account; empty: it is drawn here.
    """

    name: Name
    senders: list[str] = Field(default=[], max_length=1000)
    account_id: str = Field("", pattern="^(acc_[0-9a-z]{12})?$")


class Suspension(AccountBody, Why):
    """Why an account is suspended."""


class RegionChange(AccountBody):
    """The country (ISO 3166) of numbers without a country code; empty: they need one."""

    region: str = Field(max_length=10)


class ChannelChange(AccountBody):
    """A channel whose messages name no sender."""

    channel: str = Field(max_length=20)


class LimitChange(AccountBody):
    """Rows a day that need no approval. 0: every list waits. None: none does."""

    above: int | None = Field(ge=0, le=MOST_ROWS)


class QuietChange(AccountBody):
    """An account's quiet hours of a channel, as `21:00-08:00 Europe/Paris`; empty: none."""

    channel: str = Field(max_length=20)
    quiet: str = Field(max_length=100)


class SearchChange(AccountBody):
    """Whether the account keeps pages for searches of its messages."""

    on: bool


class AccountRow(OperateView):
    """An account. `own`: a person made it at the console. `channels`: those that an operator opened to it.

    `leaves_at`: from when on it may be deleted; 0: that is not planned.
    """

    account_id: str
    name: str
    created_at: int
    suspended: bool
    paused: bool
    region: str | None
    own: bool
    channels: list[str]
    quiet_hours: dict[str, str]
    search: bool
    leaves_at: int


class AccountRows(OperateView):
    """All accounts."""

    items: list[AccountRow]


class CreatedAccount(OperateView):
    """A new account, and what it may send from."""

    account_id: str
    name: str
    senders: list[str]


class AccountChanged(OperateView):
    """An account after a change. `changed`: it was not so before."""

    account_id: str
    changed: bool


class AccountRegion(OperateView):
    """The country of an account's numbers."""

    account_id: str
    region: str | None


class AccountLimit(OperateView):
    """Rows a day that need no approval. 0: every list waits. None: none does."""

    account_id: str
    above: int | None


class AccountChannel(OperateView):
    """Whether an account may send by a channel."""

    account_id: str
    channel: str
    open: bool


class AccountQuiet(OperateView):
    """An account's quiet hours of a channel; null: none."""

    account_id: str
    channel: str
    quiet: str | None


class AccountSearch(OperateView):
    """Whether an account keeps pages for searches of its messages."""

    account_id: str
    search: bool


class Moved(OperateView):
    """How many items were moved. `tables`: there are tables to move them to."""

    tables: bool
    moved: int


def resolve(services: OperateServices, text: str) -> str:
    """Return the id of an account from its id or its name.

    Raises:
        Problem: not_found; validation_failed, if several accounts have that name.
    """
    if is_account_id(text):
        named = [text] if services.accounts.get(text) is not None else []
    else:
        named = [a.id for a in services.accounts.list_accounts() if a.name == text]
    if not named:
        raise Problem("not_found", f"No account {text}: see `posthaste account list`.")
    if len(named) > 1:
        raise invalid("account", f"{len(named)} accounts have that name: use an id, one of {', '.join(named)}.")
    return named[0]


def owner_of(call: Call[Any, OfAccount]) -> str:
    """Return the id of the account that a body names; Problem as `resolve`."""
    return resolve(call.services, call.body.account)


def list_accounts(call: Call[Nothing, Nothing]) -> Answer:
    """Return all accounts."""
    return AccountRows(items=[_row(x) for x in call.services.accounts.list_accounts()]).answer()


def create_account(call: Call[Nothing, NewAccount]) -> Answer:
    """Create an account."""
    accounts, body = call.services.accounts, call.body
    if not body.name:
        raise invalid("name", "The account needs a name.")
    there = accounts.get(body.account_id) if body.account_id else None
    if there is not None and there.name != body.name:
        raise invalid("account_id", "Another account has this id.")
    call.services.begin_names()
    try:
        made = accounts.create_account(body.name, body.senders, account=body.account_id, by=call.key.id)
    except ValueError:
        raise invalid("senders", f"No account was created: {NO_SENDER}") from None
    return CreatedAccount(account_id=made, name=body.name, senders=accounts.list_senders(made)).answer()


def suspend_account(call: Call[Nothing, Suspension]) -> Answer:
    """Suspend an account. It sends and makes nothing, and accepted messages wait."""
    whose = owner_of(call)
    changed = call.services.accounts.suspend(whose, call.body.reason, by=call.key.id)
    return AccountChanged(account_id=whose, changed=changed).answer()


def unsuspend_account(call: Call[Nothing, AccountBody]) -> Answer:
    """End an account's suspension."""
    whose = owner_of(call)
    return AccountChanged(account_id=whose, changed=call.services.accounts.unsuspend(whose, by=call.key.id)).answer()


def move_accounts(call: Call[Nothing, Nothing]) -> Answer:
    """Move what a version before left in `records`. A repeat moves what is missing."""
    services = call.services
    apart = bool(services.homes.identities)
    return Moved(tables=apart, moved=services.accounts.move() if apart else 0).answer()


def set_region(call: Call[Nothing, RegionChange]) -> Answer:
    """Set the country of numbers without a country code."""
    wanted = call.body.region.upper()
    try:
        number_reader(wanted)
    except ValueError:
        raise invalid("region", "Unknown country: use two letters of ISO 3166, such as DE, or none.") from None
    whose = owner_of(call)
    call.services.accounts.set_region(whose, wanted, by=call.key.id)
    return AccountRegion(account_id=whose, region=wanted or None).answer()


def set_limit(call: Call[Nothing, LimitChange]) -> Answer:
    """Set from how many rows on an account's lists wait for approval; an operator needs no second person."""
    whose, above = owner_of(call), call.body.above
    limit = ApprovalLimit() if above is None else ApprovalLimit(True, above)
    call.services.approvals.limit(whose, limit, Who(call.key.id), operator=True)
    return AccountLimit(account_id=whose, above=above).answer()


def set_quiet(call: Call[Nothing, QuietChange]) -> Answer:
    """Set the hours of each day in which the account sends nothing by a channel."""
    channel, text = call.body.channel, " ".join(call.body.quiet.split())
    if channel not in CHANNELS:
        raise invalid("channel", f"A channel is one of {', '.join(CHANNELS)}.")
    if text:
        try:
            zone = quiet(text).zone
        except InvalidHoursError as error:
            raise invalid("quiet", f"{error}. Write quiet hours as in 21:00-08:00 Europe/Paris.") from None
        if not is_zone(zone):
            raise invalid("quiet", "The time zone is unknown. Write quiet hours as in 21:00-08:00 Europe/Paris.")
    whose = owner_of(call)
    call.services.accounts.set_quiet(whose, channel, text, by=call.key.id)
    return AccountQuiet(account_id=whose, channel=channel, quiet=text or None).answer()


def set_search(call: Call[Nothing, SearchChange]) -> Answer:
    """Set whether the account keeps pages for searches of its messages."""
    whose, on = owner_of(call), call.body.on
    call.services.accounts.set_search(whose, on=on, by=call.key.id)
    return AccountSearch(account_id=whose, search=on).answer()


def open_channel(call: Call[Nothing, ChannelChange]) -> Answer:
    """Let an account send by a channel without senders."""
    channel = _channel(call.body.channel)
    whose = owner_of(call)
    call.services.accounts.open_channel(whose, channel, by=call.key.id)
    return AccountChannel(account_id=whose, channel=channel, open=True).answer()


def close_channel(call: Call[Nothing, ChannelChange]) -> Answer:
    """Undo `open_channel`. Accounts that operators made use every channel."""
    channel = _channel(call.body.channel)
    whose = owner_of(call)
    call.services.accounts.close_channel(whose, channel, by=call.key.id)
    found = call.services.accounts.get(whose)
    still = found is not None and found.opens(channel)
    return AccountChannel(account_id=whose, channel=channel, open=still).answer()


def _channel(text: str) -> str:
    names = [c.name for c in CHANNELS.values() if not c.names_sender]
    if text not in names:
        raise invalid("channel", f"A channel without senders is one of {', '.join(names)}.")
    return text


def _row(x: Account) -> AccountRow:
    return AccountRow(
        account_id=x.id,
        name=x.name,
        created_at=x.created_at,
        suspended=x.suspended,
        paused=x.paused,
        region=x.region or None,
        own=x.own,
        channels=sorted(x.channels),
        quiet_hours=dict(x.quiet),
        search=not x.unsearched,
        leaves_at=x.leaves_at,
    )


ROUTES: Final = (
    route("GET", "/accounts", "All accounts", list_accounts, AccountRows),
    route("POST", "/accounts/create", "Create an account", create_account, CreatedAccount),
    route("POST", "/accounts/suspend", "Suspend an account", suspend_account, AccountChanged, "not_found"),
    route("POST", "/accounts/unsuspend", "End a suspension", unsuspend_account, AccountChanged, "not_found"),
    route("POST", "/accounts/move", "Move what a version before left", move_accounts, Moved),
    route("POST", "/accounts/region", "Set the country of its numbers", set_region, AccountRegion, "not_found"),
    route("POST", "/accounts/approval", "Set when its lists wait for approval", set_limit, AccountLimit, "not_found"),
    route("POST", "/accounts/quiet", "Set its quiet hours of a channel", set_quiet, AccountQuiet, "not_found"),
    route("POST", "/accounts/search", "Set if it keeps pages for searches", set_search, AccountSearch, "not_found"),
    route("POST", "/accounts/open", "Open a channel to an account", open_channel, AccountChannel, "not_found"),
    route("POST", "/accounts/close", "Close a channel to an account", close_channel, AccountChannel, "not_found"),
)
