"""`posthaste notifier show | update | stats | delete`: a notifier's settings, its updates by day, and its end."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from cli.deployment import Aws, Stage
from cli.errors import Misused
from cli.operating.door import door
from cli.operating.notifiers import Name, hours_of, path_of, routes_of, row_of
from cli.output import Json, counted, emit, say, table, tell

STATUSES: Final = ("SUCCESS", "TEMP_FAIL", "PERM_FAIL", "CANCELED")
MAX_DAYS: Final = 31


def show(ctx: typer.Context, name: Name, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Show a notifier's settings, and when it called last."""
    with door(ctx, stage, aws=aws) as (client, _):
        row = row_of(client.get(path_of(name)))
    if json:
        emit(row)
        return
    say(f"notifier {name} is {'disabled' if row['disabled'] else 'enabled'}")
    for key, value in row.items():
        if key not in ("name", "disabled") and value not in (None, "", False, {}):
            say(f"  {key.replace('_', ' ')}: {_shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{channel} by {', '.join(route)}" for channel, route in value.items())
    return "yes" if value is True else str(value)


def update(
    ctx: typer.Context,
    name: Name,
    *,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="IANA name, such as Australia/Sydney.")] = "",
    hours: Annotated[str, typer.Option(metavar="FROM-TO", help="Reasonable hours of a day, like 9-21.")] = "",
    expiry_days: Annotated[int | None, typer.Option(help="Days from the delivery date to the expiry.")] = None,
    conflict_tries: Annotated[
        int | None, typer.Option(help="Tries to withdraw a message for an update or cancel.")
    ] = None,
    country: Annotated[
        str | None, typer.Option(metavar="COUNTRY", help="Of numbers without a country code, like AU; empty: none.")
    ] = None,
    route: Annotated[
        list[str] | None,
        typer.Option(metavar="CHANNEL=CREDENTIAL", help="sms=… or voice=…. Repeatable; replaces the whole route."),
    ] = None,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Change a notifier's settings. Settings that no option names stay as they are."""
    asked = {
        "timezone": timezone or None,
        "hours": hours_of(hours) if hours else None,
        "routes": routes_of(route) if route else None,
        "expiry_days": expiry_days,
        "conflict_tries": conflict_tries,
        "country": country.upper() if country is not None else None,
    }
    body = {setting: value for setting, value in asked.items() if value is not None}
    if not body:
        raise Misused("say what to change; see `posthaste notifier update --help`")
    with door(ctx, stage, aws=aws) as (client, _):
        changed = client.send("POST", path_of(name, "/change"), body)
    if json:
        emit(row_of(changed))
    else:
        say(f"notifier {name} is changed")


def stats(
    ctx: typer.Context,
    name: Name,
    days: Annotated[int, typer.Option(min=1, max=MAX_DAYS, help="UTC days up to today.")] = 7,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Show a notifier's updates by day, newest first, and how many of its messages wait."""
    with door(ctx, stage, aws=aws) as (client, _):
        found = client.get(path_of(name, "/days"), {"days": str(days)})
    waiting = found["waiting_notices"]
    rows: list[dict[str, Any]] = [
        {
            "date": day["date"],
            **{status.lower(): day["statuses"].get(status, 0) for status in STATUSES},
            "rejected": day["rejected"],
            "errors": day["errors"],
        }
        for day in found["items"]
    ]
    if json:
        emit({"waiting_notices": waiting, "items": rows})
        return
    table(("date", *map(str.lower, STATUSES), "rejected"), rows, empty="no days")
    errors = {code: sum(row["errors"].get(code, 0) for row in rows) for row in rows for code in row["errors"]}
    for code, amount in sorted(errors.items()):
        say(f"{code}: {counted(amount, 'update')}")
    say(f"{counted(waiting, 'message')} waiting")


def delete(ctx: typer.Context, name: Name, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Delete a notifier for which nothing waits. Its name is not given again. Disable it first."""
    with door(ctx, stage, aws=aws) as (client, _):
        gone = client.send("POST", path_of(name, "/delete"), {})
    if json:
        emit({"name": name, "deleted": True})
        return
    say(f"notifier {name} is deleted")
    if not gone["disabled"]:
        tell("it was not disabled: its machine may still try to upload, and is refused")


def add_to(app: typer.Typer) -> None:
    """Add these commands to those of notifiers."""
    for command in (show, update, stats, delete):
        app.command()(command)
