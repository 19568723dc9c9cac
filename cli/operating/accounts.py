"""`posthaste account | sender`: operators' commands on accounts, straight to the deployment's table."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli.deployment import Aws, OperatedDeployment, Stage, aws_errors, deployment
from cli.errors import Misused, NotFound
from cli.output import Json, counted, emit, emit_all, emit_or_say, moment, say, surroundings, table
from shared.domain.accounts import MAX_NAME, is_account_id
from shared.domain.audit import checked_reason, operator
from shared.domain.namespaces import KeyKind

if TYPE_CHECKING:
    from shared.adapters.dynamo.accounts.accounts import Accounts

account_app = typer.Typer(help="Accounts and their status.", no_args_is_help=True)
sender_app = typer.Typer(help="Addresses and domains an account may send from.", no_args_is_help=True)

Account = Annotated[
    str, typer.Argument(metavar="ACCOUNT", help="The account's id (acc_…), or its name if only one has it.")
]

Channels = Annotated[str, typer.Option("--channel", metavar="CHANNEL", help="One of sms, voice and whatsapp.")]

NO_SENDER: Final = "a sender is an address (news@example.com) or a domain (example.com)"


@dataclass(frozen=True, slots=True)
class AccountService:
    """The accounts of a deployment, and who changes them. `where`: for people."""

    accounts: "Accounts"
    where: str
    found: OperatedDeployment

    @property
    def by(self) -> str:
        """The operator, as the audit log names them; asks AWS."""
        return operator(self.found.who())


@contextmanager
def opened(ctx: typer.Context, stage: str, *, aws: bool) -> Iterator[AccountService]:
    """Yield the deployment's accounts. Errors of AWS become one line.

    Args:
        stage: the stage's name; empty for the default one.
        aws: whether AWS is meant even if a local cloud is up.
    """
    from shared.adapters.dynamo.accounts.accounts import UnknownAccount  # noqa: PLC0415 - loads botocore

    found = deployment(stage, aws=aws)
    with aws_errors(found.where):
        try:
            yield AccountService(found.accounts(surroundings(ctx).clock), f"stage {found.stage}, {found.where}", found)
        except UnknownAccount as unknown:
            raise _no_account(str(unknown)) from None


@contextmanager
def opened_at(ctx: typer.Context, stage: str, account: str, *, aws: bool) -> Iterator[tuple[AccountService, str]]:
    """Yield the deployment's accounts, and the id of one of them; NotFound if it is not there.

    Args:
        stage: the stage's name; empty for the default one.
        aws: whether AWS is meant even if a local cloud is up.
    """
    with opened(ctx, stage, aws=aws) as service:
        yield service, resolve(service.accounts, account)


def _no_account(text: str) -> NotFound:
    return NotFound(f"no account {text}: see `posthaste account list`")


def reason_of(text: str) -> str:
    """Return a reason as the audit log takes it; Misused if it is empty or too long, or if it names somebody."""
    try:
        return checked_reason(text)
    except ValueError as refused:
        raise Misused(str(refused)) from None


def resolve(accounts: "Accounts", text: str) -> str:
    """Return the id of an existing account from its id or its name."""
    if is_account_id(text):
        if accounts.get(text) is None:
            raise _no_account(text)
        return text
    named = [a.id for a in accounts.list_accounts() if a.name == text]
    if not named:
        raise _no_account(text)
    if len(named) > 1:
        raise Misused(f"{len(named)} accounts have that name: use an id, one of {', '.join(named)}")
    return named[0]


def kind_wanted(*, test: bool, team: bool) -> KeyKind:
    """Return the kind of key that two options choose; Misused if both are given."""
    if test and team:
        raise Misused("choose one of --test and --team")
    if test:
        return KeyKind.TEST
    return KeyKind.TEAM if team else KeyKind.LIVE


def name_of(text: str) -> str:
    """Return a name without spaces around it; Misused if it is too long or not printable."""
    trimmed = text.strip()
    if len(trimmed) > MAX_NAME or not trimmed.isprintable():
        raise Misused(f"a name has at most {MAX_NAME} printable characters")
    return trimmed


@account_app.command("create")
def create_account(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="For people.")],
    sender: Annotated[
        list[str] | None,
        typer.Option(metavar="DOMAIN_OR_ADDRESS", help="A sender, or a domain of senders. Repeatable."),
    ] = None,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Create an account."""
    title = name_of(name)
    if not title:
        raise Misused("the account needs a name")
    with opened(ctx, stage, aws=aws) as service:
        try:
            account = service.accounts.create_account(title, sender or (), by=service.by)
        except ValueError:
            raise Misused(f"no account was created: {NO_SENDER}") from None
        senders = service.accounts.list_senders(account)
    if json:
        emit({"account_id": account, "name": title, "senders": senders})
        return
    say(f"account {account} created ({service.where}); may send from: {', '.join(senders) or 'nothing yet'}")
    if not senders:
        say(f"allow a sender:  posthaste sender add {account} example.com")
    say(f"make a key:      posthaste key create {account}")


@account_app.command("list")
def list_accounts(ctx: typer.Context, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List all accounts."""
    with opened(ctx, stage, aws=aws) as service:
        rows = [
            {
                "account_id": a.id,
                "name": a.name,
                "created_at": moment(a.created_at),
                "suspended": a.suspended,
                "paused": a.paused,
                "region": a.region or None,
                "own": a.own,
                "channels": sorted(a.channels),
            }
            for a in service.accounts.list_accounts()
        ]
    if json:
        emit_all(rows)
        return
    shown = [{**row, **{name: "yes" if row[name] else "" for name in ("suspended", "paused")}} for row in rows]
    table(
        ("account_id", "created_at", "suspended", "paused", "name"), shown, empty=f"no accounts yet ({service.where})"
    )


@account_app.command("suspend")
def suspend_account(
    ctx: typer.Context,
    account: Account,
    reason: Annotated[str, typer.Option(help="The reason, for the audit log; without addresses.")] = "operator",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Suspend an account. It sends and makes nothing, and accepted messages wait. It can read, stop and delete."""
    told = reason_of(reason)
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        changed = service.accounts.suspend(owner, told, by=service.by)
    if json:
        emit({"account_id": owner, "suspended": True, "changed": changed})
    elif changed:
        say(f"{owner} is suspended: its jobs stop within 3 seconds, new ones are refused within 30 seconds")
        say(f"to end it:  posthaste account unsuspend {owner}")
    else:
        say(f"{owner} is already suspended")


@account_app.command("unsuspend")
def unsuspend_account(
    ctx: typer.Context, account: Account, stage: Stage = "", aws: Aws = False, json: Json = False
) -> None:
    """End an account's suspension. Waiting messages continue within seconds."""
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        changed = service.accounts.unsuspend(owner, by=service.by)
    if json:
        emit({"account_id": owner, "suspended": False, "changed": changed})
    else:
        done = "sends again; waiting messages continue within seconds" if changed else "is not suspended"
        say(f"{owner} {done}")


@account_app.command("move")
def move_accounts(ctx: typer.Context, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Move accounts, keys, senders and audit logs of an older version to tables that functions cannot change.

    The first change of an account, key or sender does the same. A repeat moves what is missing.
    """
    with opened(ctx, stage, aws=aws) as service:
        apart = bool(service.found.homes().identities)
        moved = service.accounts.move() if apart else 0
    if json:
        emit({"stage": service.found.stage, "tables": apart, "moved": moved})
    elif apart:
        say(f"{counted(moved, 'item')} moved ({service.where}); the old copies are no longer used")
    else:
        say(f"nothing is moved ({service.where}): the deployed version has no tables to move to; deploy this one first")


@account_app.command("region")
def set_region(
    ctx: typer.Context,
    account: Account,
    region: Annotated[str, typer.Argument(metavar="COUNTRY", help="A country code of ISO 3166, such as DE; or none.")],
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Set the default country for phone numbers in the account's lists."""
    from shared.domain.recipients.reader import number_reader  # noqa: PLC0415 - loads the numbering plans of the world

    wanted = "" if region.lower() == "none" else region.upper()
    try:
        number_reader(wanted)
    except ValueError:
        raise Misused("unknown country: use two letters of ISO 3166, such as DE, or none") from None
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        service.accounts.set_region(owner, wanted, by=service.by)
    if json:
        emit({"account_id": owner, "region": wanted or None})
    elif wanted:
        say(f"phone numbers of {owner} without a country code are read as numbers of {wanted}")
    else:
        say(f"phone numbers of {owner} need their country code")


@account_app.command("open")
def open_channel(
    ctx: typer.Context, account: Account, channel: Channels, stage: Stage = "", aws: Aws = False, json: Json = False
) -> None:
    """Let an account that a person made at the console send by a channel without senders, such as sms."""
    wanted = _channel(channel)
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        service.accounts.open_channel(owner, wanted, by=service.by)
    emit_or_say({"account_id": owner, "channel": wanted, "open": True}, json=json, text=f"{owner} may send by {wanted}")


@account_app.command("close")
def close_channel(
    ctx: typer.Context, account: Account, channel: Channels, stage: Stage = "", aws: Aws = False, json: Json = False
) -> None:
    """Undo `account open`. Accepted messages are still sent, unless you suspend the account."""
    wanted = _channel(channel)
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        service.accounts.close_channel(owner, wanted, by=service.by)
        found = service.accounts.get(owner)
    still = found is not None and found.opens(wanted)
    if json:
        emit({"account_id": owner, "channel": wanted, "open": still})
    elif still:
        say(f"{owner} still sends by {wanted}: an operator made the account, and such accounts use every channel")
    else:
        say(f"within 30 seconds {owner} may no longer send by {wanted}; what is accepted is still sent")
        say(f"to stop that, too:  posthaste account suspend {owner}")


def _channel(text: str) -> str:
    """Return a channel that can be opened; Misused if a text is none."""
    from shared.domain.channels.lookup import CHANNELS  # noqa: PLC0415 - loads every channel

    names = [c.name for c in CHANNELS.values() if not c.names_sender]
    if text not in names:
        raise Misused(f"a channel without senders is one of {', '.join(names)}")
    return text


@sender_app.command("add")
def add_sender(
    ctx: typer.Context,
    account: Account,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="news@example.com, or example.com for all of a domain.")
    ],
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Allow an account to send from an address or a domain (not its subdomains)."""
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        try:
            stored = service.accounts.add_sender(owner, value, by=service.by)
        except ValueError:
            raise Misused(NO_SENDER) from None
    emit_or_say({"account_id": owner, "sender": stored}, json=json, text=f"{owner} may send from {stored}")


@sender_app.command("list")
def list_senders(ctx: typer.Context, account: Account, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List what an account may send from."""
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        rows = [{"sender": value} for value in service.accounts.list_senders(owner)]
    if json:
        emit_all(rows)
    else:
        table(("sender",), rows, empty=f"no senders: add one with `posthaste sender add {owner} example.com`")


@sender_app.command("remove")
def remove_sender(
    ctx: typer.Context,
    account: Account,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="As `posthaste sender list` shows it.")],
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Remove a sender. Within 30 seconds its mail is refused, and its scheduled jobs do not start."""
    with opened_at(ctx, stage, account, aws=aws) as (service, owner):
        try:
            removed = service.accounts.remove_sender(owner, value, by=service.by)
        except ValueError:
            raise Misused(NO_SENDER) from None
        if not removed:
            raise NotFound(f"{owner} has no such sender: see `posthaste sender list {owner}`")
    if json:
        emit({"account_id": owner, "sender": value, "removed": True})
    else:
        say(f"{owner} may no longer send from {value}; running jobs continue, scheduled ones do not start")
