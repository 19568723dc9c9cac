"""`posthaste notifier show | update | stats | delete`: a notifier's settings, its updates by day, and its end."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.deployment import Aws, Stage
from cli.errors import Misused
from cli.operating.notifiers import Name, Office, done, hours_of, opened_office, routes_of, row_of
from cli.output import Json, counted, emit, say, surroundings, table, tell
from shared.domain.notices.notifier import Contact
from shared.engine.notices.notifiers import NotifierDraft
from shared.ports import Clock

if TYPE_CHECKING:
    from shared.adapters.dynamo.notices.waiting import DynamoWaiting
    from shared.engine.notices.days import NotifierDays

STATUSES: Final = ("SUCCESS", "TEMP_FAIL", "PERM_FAIL", "CANCELED")
MAX_WAITING: Final = 10_000
"""Notices that wait, as far as they are counted."""
MAX_DAYS: Final = 31


def show(ctx: typer.Context, name: Name, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Show a notifier's settings, and when it called last."""
    with opened_office(ctx, stage, aws=aws) as office:
        found = office.found(name)
        row = row_of(found, office.store.contacts([name]).get(name, Contact()))
    if json:
        emit(row)
        return
    say(f"notifier {name} is {'disabled' if found.disabled else 'enabled'}")
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
    draft = NotifierDraft(
        timezone=timezone or None,
        hours=hours_of(hours) if hours else None,
        routes=routes_of(route) if route else None,
        expiry_days=expiry_days,
        conflict_tries=conflict_tries,
        country=country.upper() if country is not None else None,
    )
    if draft == NotifierDraft():
        raise Misused("say what to change; see `posthaste notifier update --help`")
    with opened_office(ctx, stage, aws=aws) as office:
        changed = done(office.notifiers.change(office.found(name), draft, by=office.service.by))
    if json:
        emit(row_of(changed, Contact()))
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
    clock = surroundings(ctx).clock
    with opened_office(ctx, stage, aws=aws) as office:
        found = office.found(name)
        today = datetime.fromtimestamp(clock.now(), UTC).date()
        wanted = [today - timedelta(days=i) for i in range(days)]
        counts = _days(office, clock).of(found, wanted)
        waiting = _waiting(office, clock).count(name, MAX_WAITING)
    rows: list[dict[str, Any]] = [
        {
            "date": day.isoformat(),
            **{status.lower(): x.statuses.get(status, 0) for status in STATUSES},
            "rejected": x.rejected,
            "errors": dict(x.errors),
        }
        for day, x in zip(wanted, counts, strict=True)
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
    clock = surroundings(ctx).clock
    with opened_office(ctx, stage, aws=aws) as office:
        found = office.found(name)
        done(office.notifiers.delete(found, _waiting(office, clock), by=office.service.by))
    if json:
        emit({"name": name, "deleted": True})
        return
    say(f"notifier {name} is deleted")
    if not found.disabled:
        tell("it was not disabled: its machine may still try to upload, and is refused")


def _days(office: Office, clock: Clock) -> "NotifierDays":
    from shared.adapters.dynamo.notices.updates import DynamoUpdates  # noqa: PLC0415 - loads botocore
    from shared.engine.notices.days import NotifierDays  # noqa: PLC0415

    found = office.service.found
    return NotifierDays(log=DynamoUpdates(found.dynamo(clock), records=found.table()), clock=clock)


def _waiting(office: Office, clock: Clock) -> "DynamoWaiting":
    from shared.adapters.dynamo.notices.waiting import DynamoWaiting  # noqa: PLC0415 - loads botocore

    found = office.service.found
    return DynamoWaiting(found.dynamo(clock), records=found.table())


def add_to(app: typer.Typer) -> None:
    """Add these commands to those of notifiers."""
    for command in (show, update, stats, delete):
        app.command()(command)
