"""`posthaste notifier spool …` and `posthaste notifier sync`: the notifier's own machine, offline and online."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.client import installed_version
from cli.environment import NOTIFIER, NOTIFIER_PASSWORD, URL, HubLogin, notifier_login
from cli.errors import CommandError, Misused
from cli.files import text_of
from cli.notifier.hub import Hub
from cli.notifier.mailbox import UpdateBox
from cli.notifier.messages import Messages
from cli.notifier.outbox import Outbox
from cli.notifier.records import Record, checked, checked_id, read_records
from cli.notifier.store import ENV_SPOOL, SpoolFile, default_file
from cli.notifier.syncing import Syncing, SyncReport, bind, next_delay
from cli.output import Json, clean, counted, emit, say, surroundings, table, tell
from cli.spans import seconds_of
from shared.domain.notices.notice import Verb

app = typer.Typer(help="A notifier's messages on its own machine. Works offline.", no_args_is_help=True)

SHOWN: Final = ("id", "action", "upload", "status", "error", "updated_at")
LEAST_SECONDS: Final = 10

Spool = Annotated[
    Path | None,
    typer.Option(
        "--spool", metavar="FILE", envvar=ENV_SPOOL, help="The spool; by default in the user's state directory."
    ),
]
File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Records: a JSON array, or an object a line; - for stdin."),
]
Id = Annotated[str, typer.Argument(metavar="[ID]", help="The message's id, unless --file names records.")]
FirstName = Annotated[str, typer.Option(help="Whom the message is for.")]
Phone = Annotated[str, typer.Option(metavar="NUMBER", help="The phone number.")]
Template = Annotated[str, typer.Option(metavar="ID", help="The template's id.")]
Method = Annotated[str, typer.Option(metavar="SMS|IVR", help="By text message or by call.")]
Date = Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="The day from which on it may be sent.")]
Expires = Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="The day from which on it is not sent any more.")]
Time = Annotated[str, typer.Option(metavar="HOURS", help="Preferred hours: 9 or 9-12.")]
Reference = Annotated[str, typer.Option(metavar="TEXT", help="Your own name for it, which updates repeat.")]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TEXT", help="A word for it, which updates repeat. Repeatable.")
]


@contextmanager
def _opened(file: Path | None) -> Iterator[SpoolFile]:
    spool = SpoolFile(file or default_file())
    try:
        yield spool
    finally:
        spool.close()


@app.command("add")
def add(
    ctx: typer.Context,
    *,
    message_id: Id = "",
    first_name: FirstName = "",
    phone: Phone = "",
    template: Template = "",
    method: Method = "",
    date: Date = "",
    expires: Expires = "",
    time: Time = "",
    reference: Reference = "",
    tag: Tags = None,
    file: File = None,
    spool: Spool = None,
    json: Json = False,
) -> None:
    """Add a message, or all of a file. The next sync uploads it. Adding the same again changes nothing."""
    given = _given(
        id=message_id,
        first_name=first_name,
        phone_number=phone,
        template_id=template,
        delivery_method=method,
        delivery_date=date,
        delivery_expires=expires,
        preferred_time=time,
        reference=reference,
        tags=tag,
    )
    _ask(ctx, Verb.NEW, given, file, spool, json=json)


@app.command("update")
def update(
    ctx: typer.Context,
    *,
    message_id: Id = "",
    first_name: FirstName = "",
    phone: Phone = "",
    template: Template = "",
    method: Method = "",
    date: Date = "",
    expires: Expires = "",
    time: Time = "",
    reference: Reference = "",
    tag: Tags = None,
    file: File = None,
    spool: Spool = None,
    json: Json = False,
) -> None:
    """Replace all fields of a message, or of all messages in a file. The next sync uploads this."""
    given = _given(
        id=message_id,
        first_name=first_name,
        phone_number=phone,
        template_id=template,
        delivery_method=method,
        delivery_date=date,
        delivery_expires=expires,
        preferred_time=time,
        reference=reference,
        tags=tag,
    )
    _ask(ctx, Verb.UPDATE, given, file, spool, json=json)


def _given(**fields: Any) -> dict[str, Any]:
    """Return the fields of a record that were given."""
    return {name: value for name, value in fields.items() if value}


def _ask(
    ctx: typer.Context, verb: Verb, given: dict[str, Any], file: Path | None, spool: Path | None, *, json: bool
) -> None:
    now = surroundings(ctx).clock.now()
    if file and given:
        raise Misused("give an ID with its fields, or --file, not both")
    records: list[Record] = read_records(text_of(file), str(file), now) if file else [checked(given, now)]
    with _opened(spool) as opened:
        queued = Messages(opened).ask(verb, records, int(now * 1000))
    unchanged = len(records) - queued
    if json:
        emit({"queued": queued, "unchanged": unchanged})
    else:
        say(f"{counted(queued, 'record')} to upload" + (f"; {unchanged:,} unchanged" if unchanged else ""))


@app.command("cancel")
def cancel(
    ctx: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of messages.")],
    spool: Spool = None,
    json: Json = False,
) -> None:
    """Cancel messages. The next sync uploads this; a message that is delivered before stays delivered."""
    names = [checked_id(name) for name in ids]
    with _opened(spool) as opened:
        queued, unknown = Messages(opened).cancel(names, int(surroundings(ctx).clock.now() * 1000))
    for name in unknown:
        tell(f"{clean(name)} is not in this spool; the hub reports MESSAGE_NOT_FOUND if it does not know it either")
    if json:
        emit({"queued": queued, "unchanged": len(set(names)) - queued, "unknown": unknown})
    else:
        say(f"{counted(queued, 'record')} to upload")


@app.command("status")
def status(
    message_id: Annotated[str, typer.Argument(metavar="[ID]", help="The message's id; default: the whole spool.")] = "",
    spool: Spool = None,
    json: Json = False,
) -> None:
    """Show a message with all of its updates, or the state of the spool."""
    with _opened(spool) as opened:
        messages = Messages(opened)
        if not message_id:
            _show(messages.summary(), json=json)
            return
        found = messages.get(message_id)
        updates = list(UpdateBox(opened).entries(message=message_id))
    document = {**found.shown(), "data": dict(found.data)}
    if json:
        emit({**document, "updates": updates})
        return
    _show({**{name: value for name, value in document.items() if name != "data"}, **found.data}, json=False)
    for each in updates:
        words = [each["updated_at"], each.get("action"), each["status"], each["error"], each["message"]]
        say("  " + " ".join(word for word in words if word))


def _show(document: dict[str, Any], *, json: bool) -> None:
    if json:
        emit(document)
        return
    for name, value in document.items():
        if isinstance(value, list):
            value = ", ".join(value)  # noqa: PLW2901
        if isinstance(value, dict):
            value = ", ".join(f"{count:,} {word}" for word, count in value.items())  # noqa: PLW2901
        if value not in (None, ""):
            say(f"{name.replace('_', ' ')}: {value}")


@app.command("list")
def list_messages(
    status: Annotated[str, typer.Option(metavar="STATUS", help="Only those of this status, like PERM_FAIL.")] = "",
    waiting: Annotated[bool, typer.Option("--waiting", help="Only those with something to upload.")] = False,
    limit: Annotated[int, typer.Option(help="The most, those that changed last first; 0 for all.", min=0)] = 100,
    spool: Spool = None,
    json: Json = False,
) -> None:
    """List messages. --json: one document a line."""
    with _opened(spool) as opened:
        found = [x.shown() for x in Messages(opened).walk(status=status, waiting=waiting, limit=limit or -1)]
    _rows(found, SHOWN, "no messages", json=json)


@app.command("updates")
def updates(
    after: Annotated[int, typer.Option(metavar="N", help="Only those after this number.", min=0)] = 0,
    limit: Annotated[int, typer.Option(help="The most; 0 for all.", min=0)] = 0,
    spool: Spool = None,
    json: Json = False,
) -> None:
    """List fetched updates, each with its number, in order: programs read on from the last number that they have."""
    with _opened(spool) as opened:
        found = list(UpdateBox(opened).entries(after=after, limit=limit or -1))
    _rows(found, ("n", "updated_at", "id", "action", "status", "error"), "no updates", json=json)


def _rows(found: list[dict[str, Any]], columns: tuple[str, ...], empty: str, *, json: bool) -> None:
    if json:
        for each in found:
            emit(each)
    else:
        table(columns, [{name: each.get(name) for name in columns} for each in found], empty=empty)


def sync(
    ctx: typer.Context,
    *,
    every: Annotated[str, typer.Option(metavar="SPAN", help="Sync again and again, like 5m, until stopped.")] = "",
    url: Annotated[str, typer.Option(metavar="URL", help=f"The hub; default: {URL}.")] = "",
    user: Annotated[str, typer.Option(metavar="NAME", help=f"The notifier's name; default: {NOTIFIER}.")] = "",
    password_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"Holds its password; - for stdin; default: {NOTIFIER_PASSWORD}."),
    ] = None,
    rebind: Annotated[bool, typer.Option("--rebind", help="Move the spool to this hub and notifier.")] = False,
    spool: Spool = None,
    json: Json = False,
) -> None:
    """Upload what waits in the spool, in order, then fetch updates. It may be stopped or cut off at any moment."""
    interval = seconds_of(every, "--every") if every else 0
    if every and interval < LEAST_SECONDS:
        raise Misused(f"--every takes {LEAST_SECONDS}s or more")
    login = _login(url, user, password_file)
    with _opened(spool) as opened, opened.only_sync():
        bind(opened, login, rebind=rebind)
        clock = surroundings(ctx).clock
        rng = random.Random()  # noqa: S311 - spreads load
        failures = 0
        while True:
            hub = Hub(login, clock, installed_version())
            try:
                _once(opened, Syncing(opened, hub, clock, tell, rng), json=json)
                failures = 0
            except CommandError as error:
                if not interval:
                    raise
                failures += 1
                tell(f"error: {error}")
            finally:
                hub.close()
            if not interval:
                return
            clock.sleep(next_delay(interval, failures, rng))


def _login(url: str, user: str, password_file: Path | None) -> HubLogin:
    settings = {URL: url, NOTIFIER: user, NOTIFIER_PASSWORD: text_of(password_file).strip() if password_file else ""}
    return notifier_login(given={name: value for name, value in settings.items() if value})


def _once(opened: SpoolFile, syncing: Syncing, *, json: bool) -> None:
    """Sync once, and show and store the result, also if it failed."""
    report = SyncReport()
    problem = ""
    try:
        syncing.run(report)
    except CommandError as error:
        problem = str(error)
        raise
    finally:
        with opened.change():
            opened.keep("problem", problem)
        if json:
            emit({**report.document, "waiting": Outbox(opened).waiting, "problem": problem or None})
        else:
            say(report.text)
