"""`posthaste mail …`: send finished messages, and see to their destinations."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.client import LARGEST_PAGE, connect, new_key, path_of
from cli.errors import Misused, Unreachable
from cli.mails.handing import MailPlan, handed, readable
from cli.options import pairs
from cli.output import Json, counted, emit, moment, say, surroundings, tables
from shared.domain.lanes.meanings import in_words
from shared.domain.mails.mail import MAX_DESTINATIONS

app = typer.Typer(help="Mails: finished messages (RFC 5322), sent as they are.", no_args_is_help=True)

COLUMNS: Final = ("mail_id", "state", "total", "size", "created_at", "mail_from")
DESTINATION: Final = ("address", "state", "attempts", "schedule_at", "result")
NOW: Final = "now"
MailId = Annotated[str, typer.Argument(metavar="ID", help="The mail's id.")]
AddressOf = Annotated[str, typer.Argument(metavar="ADDRESS", help="A destination of the mail.")]


@app.command()
def send(
    ctx: typer.Context,
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The message, up to 40 MB; - for stdin.")],
    sender: Annotated[str, typer.Option("--from", metavar="ADDRESS", help="The envelope's sender.")],
    to: Annotated[list[str], typer.Option(metavar="ADDRESS", help="A destination. Repeatable.")],
    at: Annotated[str, typer.Option(metavar="TIME", help="When it is sent first, RFC 3339. Default: now.")] = "",
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Kept with each destination. Repeatable.")
    ] = None,
    reference: Annotated[str, typer.Option(metavar="TEXT", help="The mail's name in your own system.")] = "",
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="A word for the mail. Repeatable.")] = None,
    expires: Annotated[
        str, typer.Option(metavar="TIME", help="No attempt begins from then on. Default: in two days.")
    ] = "",
    normalise: Annotated[bool, typer.Option("--normalise", help="Make every line end CRLF first.")] = False,
    idempotency_key: Annotated[
        str, typer.Option(metavar="KEY", help="Repeat an earlier call with its key: nothing is sent twice.")
    ] = "",
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Send a finished message. Its bytes are sent as they are, without `Bcc` fields.

    The call carries an Idempotency-Key and is repeated under the same key when the connection is lost.
    """
    if len(to) > MAX_DESTINATIONS:
        raise Misused(f"a mail has at most {MAX_DESTINATIONS:,} destinations")
    around = surroundings(ctx)
    check_can_ask(around, yes=yes, json=json)
    options = _given(schedule_at=at, metadata=pairs("--metadata", metadata or []))
    key = idempotency_key or new_key()
    with readable(file, normalise=normalise) as message:
        plan = MailPlan(message, sender, tuple(to), options, expires, _given(reference=reference, tags=tag))
        api = connect(ctx)
        amount = counted(len(set(to)), "destination")
        confirm(around, f"Send the mail to {amount} through {api.place}?", yes=yes, json=json)
        try:
            found = handed(api, around, plan, key=key, json=json)
        except Unreachable as error:
            raise Unreachable(f"{error}; with --idempotency-key {key} nothing is sent twice") from None
    if json:
        emit(found)
        return
    mail = found.get("mail_id")
    say(f"mail {mail} accepted: {counted(int(found.get('destinations') or 0), 'destination')}")
    say(f"what becomes of it:  posthaste mail show {mail}")


def _given(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not empty."""
    return {name: value for name, value in fields.items() if value}


@app.command("list")
def list_mails(ctx: typer.Context, json: Json = False) -> None:
    """List mails, newest first."""
    tables(COLUMNS, connect(ctx).pages("/mails"), json=json, empty="no mails")


@app.command()
def show(ctx: typer.Context, mail: MailId, json: Json = False) -> None:
    """Show a mail and its destinations. --json: one line per page of destinations."""
    api, path = connect(ctx), path_of("mails", mail)
    query = {"limit": LARGEST_PAGE}
    found = api.get(path, query)
    if json:
        emit(found)
        while cursor := found.get("next_cursor"):
            found = api.get(path, {**query, "cursor": str(cursor)})
            emit(found)
        return
    sender = found.get("mail_from") or "<>, a notification"
    say(f"mail {found.get('mail_id')} of {sender} is {found.get('state')}")
    say(f"  {counted(int(found.get('total') or 0), 'destination')}, {int(found.get('size') or 0):,} bytes")
    if found.get("reference"):
        say(f"  reference {found['reference']}")
    if found.get("tags"):
        say(f"  tags {', '.join(map(str, found['tags']))}")
    say(f"  created {found.get('created_at')}, expires {found.get('expires_at')}")
    cursor = found.get("next_cursor")
    rest = api.pages(path, {**query, "cursor": str(cursor)}, items="destinations") if cursor else ()
    pages = chain([found.get("destinations") or []], rest)
    tables(DESTINATION, pages, json=False, empty="nothing is queued", row=lambda x: {**x, "result": result(x)})


@app.command()
def drop(ctx: typer.Context, mail: MailId, address: AddressOf, json: Json = False) -> None:
    """Drop a destination that waits: it is never sent to, and the sender gets no notification."""
    _tell(connect(ctx).delete(_destination(mail, address)), json=json)


@app.command()
def reschedule(
    ctx: typer.Context,
    mail: MailId,
    address: AddressOf,
    at: Annotated[str, typer.Argument(metavar="AT", help="RFC 3339, or `now`.")],
    json: Json = False,
) -> None:
    """Send to a destination that waits at another time."""
    when = moment(int(surroundings(ctx).clock.now() * 1000)) if at == NOW else at
    body = {"at": when}
    _tell(connect(ctx).post(_destination(mail, address, "/reschedule"), body, again=True), json=json)


def result(x: Mapping[str, Any]) -> str:
    """Return in words how a destination ended, through whom and why; empty if nothing has happened yet."""
    end, error = x.get("end"), x.get("error")
    if end is None:
        said = "refused for now" if error and x.get("state") == "queued" else ""
    else:
        said = "fate unknown" if end == "unknown" else str(end)
    by = f" by {x['provider']}" if said and x.get("provider") else ""
    words = f": {x['error_detail']}" if x.get("error_detail") else ""
    return f"{said}{by}: {in_words(str(error))}{words}" if said and error else said + by


def _destination(mail: str, address: str, rest: str = "") -> str:
    return path_of("mails", mail, f"/destinations/{quote(address, safe='')}{rest}")


def _tell(found: dict[str, Any], *, json: bool) -> None:
    if json:
        emit(found)
        return
    when = f", due {found['schedule_at']}" if found.get("state") == "queued" and found.get("schedule_at") else ""
    say(f"{found.get('address')} is {found.get('state')}{when}")
