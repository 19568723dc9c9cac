"""`posthaste notifier …`: machines that upload notices, by the operators' door."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from cli.deployment import Aws, Stage
from cli.errors import Misused
from cli.operating.door import door, segment, timed
from cli.output import Json, emit, emit_all, moment, say, surroundings, table, tell

app = typer.Typer(help="Notifiers: machines that upload messages for later delivery.", no_args_is_help=True)

HOUR_MS: Final = 3_600_000
_HOURS: Final = re.compile(r"(\d{1,2})-(\d{1,2})", re.ASCII)
_SPAN: Final = re.compile(r"(0|[1-9][0-9]{0,3})([hd])", re.ASCII)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The notifier's user name.")]
Owner = Annotated[str, typer.Option("--account", metavar="ACCOUNT", help="The account's id, or its unique name.")]


def path_of(name: str, what: str = "") -> str:
    """Return the path of a notifier's route. `what`: its end, from the slash on."""
    return f"/notifiers/{segment(name)}{what}"


@app.command("create")
def create_notifier(
    ctx: typer.Context,
    name: Name,
    *,
    account: Owner,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="IANA name, such as Australia/Sydney.")],
    hours: Annotated[str, typer.Option(metavar="FROM-TO", help="Reasonable hours of a day.")] = "9-21",
    expiry_days: Annotated[int, typer.Option(help="Days from the delivery date to the expiry.")] = 7,
    conflict_tries: Annotated[int, typer.Option(help="Tries to withdraw a message for an update or cancel.")] = 5,
    country: Annotated[str, typer.Option(metavar="COUNTRY", help="Of numbers without a country code, like AU.")] = "",
    route: Annotated[
        list[str] | None, typer.Option(metavar="CHANNEL=CREDENTIAL", help="sms=… or voice=…. Repeatable, in order.")
    ] = None,
    test: Annotated[bool, typer.Option("--test", help="Its messages never reach a provider.")] = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Create a notifier. Its password is shown once, here: only its hash is stored."""
    body = {
        "name": name,
        "account": account,
        "timezone": timezone,
        "hours": hours_of(hours),
        "routes": routes_of(route or ()),
        "expiry_days": expiry_days,
        "conflict_tries": conflict_tries,
        "country": country.upper(),
        "test": test,
    }
    with door(ctx, stage, aws=aws) as (client, _):
        made = client.post("/notifiers/create", body)
    row = row_of(made["notifier"])
    if json:
        emit({**row, "password": made["password"]})
        return
    say(made["password"])
    tell(f"notifier {name} of {row['account_id']}, {timezone}: its password is shown once, keep it now")


@app.command("rotate")
def rotate_notifier(
    ctx: typer.Context,
    name: Name,
    overlap: Annotated[str, typer.Option(metavar="SPAN", help="How long the old password stays: 24h, 7d, 0h.")] = "24h",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Give a notifier a second password. The old one ends after the overlap."""
    until = int(surroundings(ctx).clock.now() * 1000) + _span(overlap)
    with door(ctx, stage, aws=aws) as (client, _):
        made = client.post(path_of(name, "/rotate"), {"until": until})
    if json:
        ends = {"previous_password_until": moment(until)}
        emit({**row_of(made["notifier"]), "password": made["password"], **ends})
        return
    say(made["password"])
    tell(f"new password of {name}: shown once, keep it now; the old one ends {moment(until)}")


@app.command("disable")
def disable_notifier(ctx: typer.Context, name: Name, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Refuse a notifier's calls, within 30 seconds. Its stored notices are still delivered."""
    _switch(ctx, name, stage, aws=aws, json=json, disabled=True)


@app.command("enable")
def enable_notifier(ctx: typer.Context, name: Name, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Accept a notifier's calls again."""
    _switch(ctx, name, stage, aws=aws, json=json, disabled=False)


@app.command("list")
def list_notifiers(
    ctx: typer.Context,
    account: Annotated[str, typer.Option(metavar="ACCOUNT", help="Only this account's; default: all.")] = "",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """List notifiers, and when they were last there, to the minute."""
    with door(ctx, stage, aws=aws) as (client, _):
        rows = [row_of(row) for row in client.get("/notifiers", {"account": account})["items"]]
    if json:
        emit_all(rows)
        return
    shown = [{**row, "state": _state(row)} for row in rows]
    columns = ("name", "account_id", "timezone", "last_seen_at", "last_status_at", "state")
    table(columns, shown, empty="no notifiers: make one with `posthaste notifier create NAME --account ACCOUNT`")


def _state(row: dict[str, Any]) -> str:
    if row["disabled"]:
        return "disabled"
    return "test" if row["test"] else ""


def _switch(ctx: typer.Context, name: str, stage: str, *, aws: bool, json: bool, disabled: bool) -> None:
    with door(ctx, stage, aws=aws) as (client, _):
        changed = client.send("POST", path_of(name, "/disable" if disabled else "/enable"), {})
    if json:
        emit(row_of(changed))
    elif disabled:
        say(f"{name} is refused within 30 seconds; its stored notices are still delivered")
    else:
        say(f"{name} is accepted again")


def hours_of(text: str) -> tuple[int, int]:
    """Return the first reasonable hour and the end of the last one; Misused if the text is not like `9-21`."""
    form = _HOURS.fullmatch(text)
    if form is None:
        raise Misused("hours are two numbers from 0 to 24, like 9-21")
    return int(form[1]), int(form[2])


def routes_of(given: Sequence[str]) -> dict[str, list[str]]:
    """Return credentials by channel from `sms=texts`; Misused if one is of another form."""
    routes: dict[str, list[str]] = {}
    for text in given:
        channel, _, credential = text.partition("=")
        if not credential:
            raise Misused("a route is CHANNEL=CREDENTIAL, like sms=texts")
        routes.setdefault(channel, []).append(credential)
    return routes


def _span(text: str) -> int:
    """Return milliseconds from `24h` or `7d`."""
    form = _SPAN.fullmatch(text)
    if form is None:
        raise Misused("an overlap is a number of hours or days, like 24h or 7d")
    return int(form[1]) * (24 if form[2] == "d" else 1) * HOUR_MS


def row_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a notifier as --json shows it."""
    return timed(row, "created_at", "last_seen_at", "last_status_at")
