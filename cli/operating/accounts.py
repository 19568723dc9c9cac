"""`posthaste account | sender`: operators' commands on accounts, by the operators' door."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import typer

from cli.deployment import Aws, Stage
from cli.errors import Misused
from cli.operating.door import door, timed
from cli.output import Json, counted, emit, emit_all, emit_or_say, moment, say, table
from cli.sending.approving import limit_words
from shared.domain.audit import checked_reason
from shared.domain.namespaces import KeyKind

account_app = typer.Typer(help="Accounts and their status.", no_args_is_help=True)
sender_app = typer.Typer(help="Addresses and domains an account may send from.", no_args_is_help=True)

_WHOLE: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_PRICE: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?", re.ASCII)

Account = Annotated[
    str, typer.Argument(metavar="ACCOUNT", help="The account's id (acc_…), or its name if only one has it.")
]

Channels = Annotated[str, typer.Option("--channel", metavar="CHANNEL", help="One of sms, voice and whatsapp.")]


def reason_of(text: str) -> str:
    """Return a reason as the audit log takes it; Misused if it is empty or too long, or if it names somebody."""
    try:
        return checked_reason(text)
    except ValueError as refused:
        raise Misused(str(refused)) from None


def kind_wanted(*, test: bool, team: bool) -> KeyKind:
    """Return the kind of key that two options choose; Misused if both are given."""
    if test and team:
        raise Misused("choose one of --test and --team")
    if test:
        return KeyKind.TEST
    return KeyKind.TEAM if team else KeyKind.LIVE


def _changed(ctx: typer.Context, stage: str, what: str, account: str, *, aws: bool, **more: Any) -> dict[str, Any]:
    """Have an account changed and return the answer. `what`: the end of the route's path."""
    with door(ctx, stage, aws=aws) as (client, _):
        return client.send("POST", f"/accounts/{what}", {"account": account, **more})


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
    with door(ctx, stage, aws=aws) as (client, found):
        made = client.post("/accounts/create", {"name": name, "senders": sender or []})
    if json:
        emit(made)
        return
    account, senders = made["account_id"], made["senders"]
    say(f"account {account} created ({found.full_name}); may send from: {', '.join(senders) or 'nothing yet'}")
    if not senders:
        say(f"allow a sender:  posthaste sender add {account} example.com")
    say(f"make a key:      posthaste key create {account}")


@account_app.command("list")
def list_accounts(ctx: typer.Context, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List all accounts."""
    with door(ctx, stage, aws=aws) as (client, found):
        rows = [timed({"leaves_at": 0, **row}, "created_at", "leaves_at") for row in client.get("/accounts")["items"]]
    if json:
        emit_all(rows)
        return
    shown = [{**row, **{name: "yes" if row[name] else "" for name in ("suspended", "paused")}} for row in rows]
    table(
        ("account_id", "created_at", "suspended", "paused", "leaves_at", "name"),
        shown,
        empty=f"no accounts yet ({found.full_name})",
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
    done = _changed(ctx, stage, "suspend", account, aws=aws, reason=reason_of(reason))
    owner, changed = done["account_id"], done["changed"]
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
    done = _changed(ctx, stage, "unsuspend", account, aws=aws)
    owner, changed = done["account_id"], done["changed"]
    if json:
        emit({"account_id": owner, "suspended": False, "changed": changed})
    else:
        say(f"{owner} {'sends again; waiting messages continue within seconds' if changed else 'is not suspended'}")


@account_app.command("move")
def move_accounts(ctx: typer.Context, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Move accounts, keys, senders and audit logs of an older version to tables of their own.

    The first change of an account, key or sender does the same. A repeat moves what is missing.
    """
    with door(ctx, stage, aws=aws) as (client, found):
        done = client.send("POST", "/accounts/move", {})
    if json:
        emit({"stage": found.stage, **done})
    elif done["tables"]:
        say(f"{counted(done['moved'], 'item')} moved ({found.full_name}); the old copies are no longer used")
    else:
        where = found.full_name
        say(f"nothing is moved ({where}): the deployed version has no tables to move to; deploy this one first")


@account_app.command("approval")
def set_approval(
    ctx: typer.Context,
    account: Account,
    above: Annotated[
        int | None, typer.Option(metavar="ROWS", min=1, help="Lists wait above so many rows a day.")
    ] = None,
    every: Annotated[bool, typer.Option("--every", help="Every list waits.")] = False,
    off: Annotated[bool, typer.Option("--off", help="No list waits.")] = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Set from how many rows on an account's lists wait for approval. It counts at once."""
    if sum((above is not None, every, off)) != 1:
        raise Misused("give one of --above ROWS, --every and --off")
    done = _changed(ctx, stage, "approval", account, aws=aws, above=None if off else above or 0)
    emit_or_say(done, json=json, text=f"{done['account_id']}: {limit_words(done['above'])}")


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
    done = _changed(ctx, stage, "region", account, aws=aws, region="" if region.lower() == "none" else region)
    owner, wanted = done["account_id"], done["region"]
    if json:
        emit(done)
    elif wanted:
        say(f"phone numbers of {owner} without a country code are read as numbers of {wanted}")
    else:
        say(f"phone numbers of {owner} need their country code")


@account_app.command("quiet-hours")
def set_quiet(
    ctx: typer.Context,
    account: Account,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="email, sms, voice or whatsapp.")],
    hours: Annotated[str, typer.Argument(metavar="HOURS", help='"21:00-08:00 Europe/Paris", or none.')],
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Send nothing of an account by a channel in these hours of each day, also if its requests say otherwise.

    Only batches that are marked urgent, by an API key with the scope `urgent`, are sent then.
    """
    wanted = "" if hours.lower() == "none" else hours
    done = _changed(ctx, stage, "quiet", account, aws=aws, channel=channel, quiet=wanted)
    owner, text = done["account_id"], done["quiet"]
    if json:
        emit(done)
    elif text:
        say(f"{owner} sends nothing by {channel} from {text}, but for what is urgent")
    else:
        say(f"{owner} has no quiet hours for {channel}")


@account_app.command("search")
def set_search(
    ctx: typer.Context,
    account: Account,
    wanted: Annotated[Literal["on", "off"], typer.Argument(metavar="on|off")],
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Keep pages for searches of an account's messages, or none. Without them a search reads the account's jobs."""
    done = _changed(ctx, stage, "search", account, aws=aws, on=wanted == "on")
    kept = "keeps pages for searches" if done["search"] else "keeps no pages for searches, which read its jobs instead"
    emit_or_say(done, json=json, text=f"within a minute {done['account_id']} {kept}")


@account_app.command("open")
def open_channel(
    ctx: typer.Context, account: Account, channel: Channels, stage: Stage = "", aws: Aws = False, json: Json = False
) -> None:
    """Let an account that a person made at the console send by a channel without senders, such as sms."""
    done = _changed(ctx, stage, "open", account, aws=aws, channel=channel)
    emit_or_say(done, json=json, text=f"{done['account_id']} may send by {done['channel']}")


@account_app.command("close")
def close_channel(
    ctx: typer.Context, account: Account, channel: Channels, stage: Stage = "", aws: Aws = False, json: Json = False
) -> None:
    """Undo `account open`. Accepted messages are still sent, unless you suspend the account."""
    done = _changed(ctx, stage, "close", account, aws=aws, channel=channel)
    owner, wanted = done["account_id"], done["channel"]
    if json:
        emit(done)
    elif done["open"]:
        say(f"{owner} still sends by {wanted}: an operator made the account, and such accounts use every channel")
    else:
        say(f"within 30 seconds {owner} may no longer send by {wanted}; what is accepted is still sent")
        say(f"to stop that, too:  posthaste account suspend {owner}")


@account_app.command("limit")
def limit_account(
    ctx: typer.Context,
    account: Account,
    *,
    key: Annotated[str, typer.Option("--key", metavar="KEY_ID", help="One of the account's API keys, not all.")] = "",
    email: Annotated[str, typer.Option(metavar="LIMIT", help="E-mails: 10000/day, none, or default.")] = "",
    sms: Annotated[str, typer.Option(metavar="LIMIT", help="Segments of SMS.")] = "",
    voice: Annotated[str, typer.Option(metavar="LIMIT", help="Calls.")] = "",
    whatsapp: Annotated[str, typer.Option(metavar="LIMIT", help="WhatsApp messages.")] = "",
    messages: Annotated[str, typer.Option(metavar="LIMIT", help="Messages of all channels together.")] = "",
    price: Annotated[str, typer.Option(metavar="LIMIT", help="Their price: 20.50/day.")] = "",
    countries: Annotated[str, typer.Option(metavar="CODES", help="To whose numbers it may send: DE,AT, or all.")] = "",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Set what an account may spend in a UTC day. Without limits: show them, and what is used today."""
    given = {"email": email, "sms": sms, "voice": voice, "whatsapp": whatsapp, "messages": messages, "price": price}
    limits = {name: limit_of(name, text) for name, text in given.items() if text}
    codes = _codes(countries) if countries else None
    changes = bool(limits or countries)
    of = {"account": account, "key": key}
    with door(ctx, stage, aws=aws) as (client, _):
        if changes:
            found = client.send("POST", "/accounts/limits", {**of, "limits": limits, "countries": codes})
        else:
            found = client.get("/accounts/limits", of)
    shown = {**found, "resets_at": moment(found["resets_at"])}
    if json:
        emit(shown)
    else:
        _show_limits(shown, changed=changes)


def _codes(text: str) -> list[str]:
    """Return the codes of countries; none if all are allowed."""
    return [x for x in text.upper().replace(" ", "").split(",") if x not in ("", "ALL")]


def _show_limits(found: Mapping[str, Any], *, changed: bool) -> None:
    """Print limits for people. `changed`: this command has set some."""
    whose = f"key {found['key_id']}" if found["key_id"] else found["account_id"]
    rows = [{**row, "default": "yes" if row["default"] else ""} for row in found["items"]]
    table(("limit", "most", "used", "default"), rows, empty=f"{whose} has no limits of its own")
    if found["countries"]:
        say(f"it may send to numbers of {', '.join(found['countries'])}")
    if changed:
        say(f"these limits of {whose} hold within 30 seconds; the day ends at {found['resets_at']}")


def limit_of(name: str, text: str) -> int | float | str:
    """Return a limit as the door takes it: a number, `none` or `default`; Misused for anything else."""
    number, _, per = text.partition("/")
    if text in ("none", "default"):
        return text
    form = _PRICE if name == "price" else _WHOLE
    if per not in ("", "day") or form.fullmatch(number) is None:
        example = "20.50/day" if name == "price" else "10000/day"
        raise Misused(f"--{name} is a number a day, such as {example}, or none, or default")
    return float(number) if name == "price" else int(number)


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
    with door(ctx, stage, aws=aws) as (client, _):
        done = client.send("POST", "/senders/add", {"account": account, "sender": value})
    emit_or_say(done, json=json, text=f"{done['account_id']} may send from {done['sender']}")


@sender_app.command("list")
def list_senders(ctx: typer.Context, account: Account, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List what an account may send from."""
    with door(ctx, stage, aws=aws) as (client, _):
        found = client.get("/senders", {"account": account})
    rows = [{"sender": value} for value in found["items"]]
    if json:
        emit_all(rows)
    else:
        table(
            ("sender",),
            rows,
            empty=f"no senders: add one with `posthaste sender add {found['account_id']} example.com`",
        )


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
    with door(ctx, stage, aws=aws) as (client, _):
        owner = client.send("POST", "/senders/remove", {"account": account, "sender": value})["account_id"]
    if json:
        emit({"account_id": owner, "sender": value, "removed": True})
    else:
        say(f"{owner} may no longer send from {value}; running jobs continue, scheduled ones do not start")
