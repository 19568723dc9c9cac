"""`posthaste event send`: post events, which people get as digests."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.client import connect, new_key
from cli.errors import Misused, Unreachable
from cli.files import json_of
from cli.options import pairs
from cli.output import Json, counted, emit, say, tell

_NEEDED: Final = {"--type": "event_type", "--key": "batch_key", "--to": "recipients"}

app = typer.Typer(help="Events: collected, and sent as digests.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Post events."""


@app.command()
def send(
    ctx: typer.Context,
    *,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="JSON: one event or an array; - for stdin.")
    ] = None,
    kind: Annotated[str, typer.Option("--type", metavar="TYPE", help="The kind of the event: task.failed.")] = "",
    key: Annotated[str, typer.Option(metavar="KEY", help="The batch key, such as acme/production.")] = "",
    to: Annotated[list[str] | None, typer.Option(metavar="ADDRESS", help="A recipient. Repeatable.")] = None,
    data: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="More about it. Repeatable.")] = None,
    event_id: Annotated[str, typer.Option("--id", metavar="ID", help="Its own id: a repeat is left out.")] = "",
    at: Annotated[str, typer.Option(metavar="TIME", help="RFC 3339. Default: now.")] = "",
    urgent: Annotated[bool, typer.Option("--urgent", help="Send it at once, as a digest of its own.")] = False,
    idempotency_key: Annotated[
        str, typer.Option(metavar="KEY", help="Repeat an earlier call with its key: no event is in two digests.")
    ] = "",
    json: Json = False,
) -> None:
    """Post events, from a JSON file or one from --type, --key and --to.

    The call carries an Idempotency-Key and is repeated under the same key when the connection is lost.
    """
    one = {"event_type": kind, "batch_key": key, "recipients": to, "event_id": event_id, "timestamp": at}
    if file is not None:
        if any((*one.values(), data, urgent)):
            raise Misused("give a FILE, or the options of one event, not both")
        body = json_of(file)
    else:
        body = _one(one, data or [], urgent=urgent)
    api = connect(ctx)
    name = idempotency_key or new_key()
    try:
        found = api.post("/events", body, key=name)
    except Unreachable as error:
        raise Unreachable(f"{error}; with --idempotency-key {name} no event is in two digests") from None
    if json:
        emit(found)
        return
    for piece in found.get("items", ()):
        amount = counted(int(piece["accepted"]), "event")
        say(f"{piece['batch_key']}: {amount} in window {piece['window_id']}, until {piece['closes_at']}")
    if found.get("items"):
        tell("send a digest now:  posthaste digest close WINDOW")


def _one(event: dict[str, Any], data: list[str], *, urgent: bool) -> dict[str, Any]:
    missing = [option for option, name in _NEEDED.items() if not event[name]]
    if missing:
        raise Misused(f"give a FILE, or an event by {', '.join(missing)}")
    given = {**event, "data": pairs("--data", data), "urgent": urgent}
    return {name: value for name, value in given.items() if value}
