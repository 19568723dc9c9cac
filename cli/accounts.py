"""`posthaste account | key | sender`: operators' commands on accounts, straight to the deployment's table."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.deployment import Aws, Stage, aws_errors, deployment
from cli.errors import Misused, NotFound
from cli.output import Json, emit, moment, say, surroundings, table, tell
from shared.domain.accounts import MAX_NAME, ApiKey, Scope, is_account_id

if TYPE_CHECKING:
    from shared.adapters.dynamo.accounts import Accounts

account_app = typer.Typer(help="Accounts: who sends.", no_args_is_help=True)
key_app = typer.Typer(help="API keys of an account.", no_args_is_help=True)
sender_app = typer.Typer(help="Addresses and domains an account may send from.", no_args_is_help=True)

Account = Annotated[
    str, typer.Argument(metavar="ACCOUNT", help="The account's id (acc_…), or its name if only one has it.")
]

_KEY_ID: Final = re.compile(r"[0-9a-f]{16}")
_SPAN: Final = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_HOURS: Final = {"h": 1, "d": 24, "w": 7 * 24}
NO_SENDER: Final = "a sender is an address (news@example.com) or a domain (example.com)"


@contextmanager
def _accounts(ctx: typer.Context, stage: str, *, aws: bool) -> Iterator[tuple["Accounts", str]]:
    """Yield the deployment's accounts and where they are; errors of AWS become one line."""
    from shared.adapters.dynamo.accounts import UnknownAccount  # noqa: PLC0415 - loads botocore

    found = deployment(stage, aws=aws)
    with aws_errors(found.where):
        try:
            yield found.accounts(surroundings(ctx).clock), f"stage {found.stage}, {found.where}"
        except UnknownAccount as unknown:
            raise _no_account(str(unknown)) from None


def _no_account(text: str) -> NotFound:
    return NotFound(f"no account {text}: see `posthaste account list`")


def _resolve(accounts: "Accounts", text: str) -> str:
    """Return the id of an existing account from its id or its name."""
    if is_account_id(text):
        if accounts.get(text) is None:
            raise _no_account(text)
        return text
    named = [a.id for a in accounts.list_accounts() if a.name == text]
    if not named:
        raise _no_account(text)
    if len(named) > 1:
        raise Misused(f"{len(named)} accounts have that name: say which by its id, {', '.join(named)}")
    return named[0]


def _name(text: str) -> str:
    trimmed = text.strip()
    if len(trimmed) > MAX_NAME or not trimmed.isprintable():
        raise Misused(f"a name has at most {MAX_NAME} printable characters")
    return trimmed


@account_app.command("create")
def create_account(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="For people.")],
    sender: Annotated[
        list[str] | None, typer.Option(metavar="DOMAIN_OR_ADDRESS", help="May send from it. Repeatable.")
    ] = None,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Create an account."""
    title = _name(name)
    if not title:
        raise Misused("the account needs a name")
    with _accounts(ctx, stage, aws=aws) as (accounts, where):
        try:
            account = accounts.create_account(title, sender or ())
        except ValueError:
            raise Misused(f"no account was created: {NO_SENDER}") from None
        senders = accounts.list_senders(account)
    if json:
        emit({"account_id": account, "name": title, "senders": senders})
        return
    say(f"account {account} created ({where}); may send from: {', '.join(senders) or 'nothing yet'}")
    if not senders:
        say(f"allow a sender:  posthaste sender add {account} example.com")
    say(f"make a key:      posthaste key create {account}")


@account_app.command("list")
def list_accounts(ctx: typer.Context, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List all accounts."""
    with _accounts(ctx, stage, aws=aws) as (accounts, where):
        rows = [
            {"account_id": a.id, "name": a.name, "created_at": moment(a.created_at)} for a in accounts.list_accounts()
        ]
    if json:
        emit({"items": rows})
    else:
        table(("account_id", "created_at", "name"), rows, empty=f"no accounts yet ({where})")


@key_app.command("create")
def create_key(
    ctx: typer.Context,
    *,
    account: Account,
    test: Annotated[bool, typer.Option("--test", help="A test key: its messages never reach a provider.")] = False,
    name: Annotated[str, typer.Option(help="For people.")] = "",
    expires: Annotated[
        str, typer.Option(metavar="WHEN", help="30d, 12h, 8w, or a date such as 2027-01-31 (UTC). Default: never.")
    ] = "",
    scope: Annotated[
        list[Scope] | None, typer.Option(help="What it may be used for. Repeatable; default: all.")
    ] = None,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Create an API key. Its text is shown once, here: only its hash is stored."""
    clock = surroundings(ctx).clock
    until = _expiry(expires, clock.now())
    title = _name(name)
    with _accounts(ctx, stage, aws=aws) as (accounts, _):
        owner = _resolve(accounts, account)
        secret, key = accounts.create_key(owner, test=test, scopes=scope or tuple(Scope), name=title, expires=until)
    if json:
        emit({"key": secret, **_row(key)})
        return
    say(secret)
    until_text = f", valid until {moment(until)}" if until else ""
    tell(f"key {key.id} of {owner}{until_text}: shown once, keep it now")


@key_app.command("list")
def list_keys(ctx: typer.Context, account: Account, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List an account's API keys, without their texts."""
    with _accounts(ctx, stage, aws=aws) as (accounts, _):
        rows = [_row(key) for key in accounts.list_keys(_resolve(accounts, account))]
    if json:
        emit({"items": rows})
        return
    shown = [{**row, "kind": "test" if row["test"] else "live", "scopes": ",".join(row["scopes"])} for row in rows]
    columns = ("key_id", "kind", "scopes", "created_at", "expires_at", "name")
    table(columns, shown, empty=f"no keys: make one with `posthaste key create {account}`")


@key_app.command("revoke")
def revoke_key(
    ctx: typer.Context,
    account: Account,
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="As `posthaste key list` shows it.")],
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Revoke an API key. Within 30 seconds nobody gets in with it."""
    if _KEY_ID.fullmatch(key_id) is None:  # not repeated in the message: it may be the key's text
        raise Misused("a key id is 16 hexadecimal digits, as `posthaste key list` shows it")
    with _accounts(ctx, stage, aws=aws) as (accounts, _):
        owner = _resolve(accounts, account)
        if not accounts.revoke_key(owner, key_id):
            raise NotFound(f"{owner} has no key {key_id}: see `posthaste key list {owner}`")
    if json:
        emit({"account_id": owner, "key_id": key_id, "revoked": True})
    else:
        say(f"key {key_id} of {owner} revoked; it may work for up to 30 seconds more")


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
    with _accounts(ctx, stage, aws=aws) as (accounts, _):
        owner = _resolve(accounts, account)
        try:
            stored = accounts.add_sender(owner, value)
        except ValueError:
            raise Misused(NO_SENDER) from None
    if json:
        emit({"account_id": owner, "sender": stored})
    else:
        say(f"{owner} may send from {stored}")


@sender_app.command("list")
def list_senders(ctx: typer.Context, account: Account, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List what an account may send from."""
    with _accounts(ctx, stage, aws=aws) as (accounts, _):
        owner = _resolve(accounts, account)
        rows = [{"sender": value} for value in accounts.list_senders(owner)]
    if json:
        emit({"items": rows})
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
    """Take back a sender. Within 30 seconds nothing more is accepted from it."""
    with _accounts(ctx, stage, aws=aws) as (accounts, _):
        owner = _resolve(accounts, account)
        try:
            removed = accounts.remove_sender(owner, value)
        except ValueError:
            raise Misused(NO_SENDER) from None
        if not removed:
            raise NotFound(f"{owner} has no such sender: see `posthaste sender list {owner}`")
    if json:
        emit({"account_id": owner, "sender": value, "removed": True})
    else:
        say(f"{owner} may no longer send from {value}; what is accepted already is still sent")


def _row(key: ApiKey) -> dict[str, Any]:
    return {
        "key_id": key.id,
        "account_id": key.account,
        "test": key.test,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "created_at": moment(key.created_at),
        "expires_at": moment(key.expires),
    }


def _expiry(text: str, now: float) -> int:
    """Return Unix milliseconds from `30d`, `12h`, `8w`, a date or an RFC 3339 time; 0 for an empty text."""
    if not text:
        return 0
    span = _SPAN.fullmatch(text)
    try:
        if span:
            until = datetime.fromtimestamp(now, UTC) + timedelta(hours=int(span[1]) * _HOURS[span[2]])
        else:
            until = datetime.fromisoformat(text)
            until = until if until.tzinfo else until.replace(tzinfo=UTC)
        milliseconds = int(until.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise Misused("--expires takes 30d, 12h, 8w, or a date such as 2027-01-31") from None
    if milliseconds <= now * 1000:
        raise Misused("--expires lies in the past")
    return milliseconds
