"""`posthaste digest policy …`: how events are collected, and how their digests look."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.client import connect, path_of
from cli.errors import Misused
from cli.files import json_of, text_of
from cli.output import Json, emit, emit_or_say, say, tables
from cli.sending.hours import Within, hours_of, hours_words
from cli.sending.messages import channel_option
from shared.domain.channels.email import EMAIL
from shared.domain.channels.lookup import channel_of

app = typer.Typer(help="Policies: how events become digests.", no_args_is_help=True)

COLUMNS: Final = ("prefix", "version", "channel", "window", "max_age", "from")
TEXTS: Final = ("subject", "template", "text", "line", "line_text")
Prefix = Annotated[str, typer.Argument(metavar="PREFIX", help="What the batch keys begin with.")]
_FILE: Final = "A file with it; - for stdin."


@app.command("list")
def list_policies(ctx: typer.Context, json: Json = False) -> None:
    """List the policies, sorted by prefix."""
    tables(COLUMNS, connect(ctx).pages("/digest-policies"), json=json, empty="no policies")


@app.command()
def show(ctx: typer.Context, prefix: Prefix, json: Json = False) -> None:
    """Show a policy as it is stored."""
    found = connect(ctx).get(_path(prefix))
    if json:
        emit(found)
        return
    say(f"policy {found.get('prefix')}, version {found.get('version')}")
    for name, value in found.items():
        if name not in ("prefix", "version", *TEXTS) and value is not None:
            shown = hours_words(found) if name == "hours" else value
            say(f"  {name.replace('_', ' ')}: {', '.join(shown) if isinstance(shown, list) else shown}")
    for name in TEXTS:
        for line in str(found.get(name) or "").splitlines():
            say(f"  {name.replace('_', ' ')} | {line}")


@app.command("set")
def set_policy(
    ctx: typer.Context,
    prefix: Prefix,
    *,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON body of PUT /digest-policies; - for stdin.")
    ] = None,
    sender: Annotated[str, typer.Option("--from", metavar="ADDRESS", help="The sender of an e-mail.")] = "",
    channel: Annotated[str, channel_option("What digests are sent by.")] = EMAIL.name,
    route: Annotated[list[str] | None, typer.Option(metavar="CREDENTIAL", help="Repeatable.")] = None,
    window: Annotated[int | None, typer.Option(metavar="SECONDS", help="From the first event to the end.")] = None,
    max_age: Annotated[int | None, typer.Option(metavar="SECONDS", help="The longest that a window lasts.")] = None,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="For times: Europe/Berlin.")] = "",
    subject: Annotated[str, typer.Option(help="The subject, which may have {{ placeholders }}.")] = "",
    template: Annotated[Path | None, typer.Option(metavar="FILE", help=f"The HTML. {_FILE}")] = None,
    text: Annotated[Path | None, typer.Option(metavar="FILE", help=f"The text. {_FILE}")] = None,
    line: Annotated[Path | None, typer.Option(metavar="FILE", help=f"HTML of one event. {_FILE}")] = None,
    line_text: Annotated[Path | None, typer.Option(metavar="FILE", help=f"Text of one event. {_FILE}")] = None,
    unsubscribe: Annotated[bool, typer.Option("--unsubscribe", help="Offer a link to leave these digests.")] = False,
    hours: Within = "",
    json: Json = False,
) -> None:
    """Create or replace a policy as a whole. An option that is left out has its default."""
    options: dict[str, Any] = {
        "from": sender,
        "route": route,
        "window": window,
        "max_age": max_age,
        "timezone": timezone,
        "subject": subject,
        "template": _text(template),
        "text": _text(text),
        "line": _text(line),
        "line_text": _text(line_text),
        "unsubscribe": unsubscribe,
        **hours_of(hours),
    }
    given = {name: value for name, value in options.items() if value}
    if file is not None and given:
        raise Misused("give --file, or the policy's options, not both")
    body = json_of(file) if file is not None else _of_options(given, channel)
    found = connect(ctx).put(_path(prefix), body)
    known = f"policy {found.get('prefix')}, version {found.get('version')}"
    emit_or_say(found, json=json, text=f"{known}; look:  posthaste digest policy preview {prefix}")


@app.command()
def preview(
    ctx: typer.Context,
    prefix: Prefix,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Store the HTML in this file.")] = None,
    json: Json = False,
) -> None:
    """Show the message about five made-up events."""
    found = connect(ctx).get(_path(prefix, "/preview"))
    if html is not None:
        html.write_text(str(found.get("html") or ""), encoding="utf-8")
    if json:
        emit(found)
        return
    for name in ("from", "subject"):
        if found.get(name):
            say(f"{name}: {found[name]}")
    for line in str(found.get("text") or "").splitlines():
        say(line)


@app.command()
def delete(ctx: typer.Context, prefix: Prefix, json: Json = False) -> None:
    """Delete a policy. Open windows keep it; new events of its keys need another."""
    emit_or_say(connect(ctx).delete(_path(prefix)), json=json, text=f"policy {prefix} is deleted")


def _path(prefix: str, rest: str = "") -> str:
    return path_of("digest-policies", prefix, rest)


def _of_options(given: dict[str, Any], channel: str) -> dict[str, Any]:
    if channel_of(channel).names_sender and "from" not in given:
        raise Misused("add --from")
    return {**given, "channel": channel}


def _text(file: Path | None) -> str:
    return text_of(file) if file is not None else ""
