"""`posthaste template …`: messages with placeholders that are kept for many campaigns, version by version."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.client import connect, new_key, path_of
from cli.errors import Misused
from cli.files import text_of
from cli.output import Json, emit, emit_or_say, say, tables
from cli.sending.messages import From, ReplyTo, Subject, TextFile, channel_option, saying
from shared.domain.channels.email import EMAIL

app = typer.Typer(help="Templates: messages with placeholders, kept for campaigns.", no_args_is_help=True)

COLUMNS: Final = ("template_id", "version", "channel", "saved_at", "name")
TemplateId = Annotated[str, typer.Argument(metavar="ID", help="The template's id.")]


@app.command("list")
def list_templates(ctx: typer.Context, json: Json = False) -> None:
    """List the account's templates, newest first."""
    tables(COLUMNS, connect(ctx).pages("/templates"), json=json, empty="no templates")


@app.command()
def show(
    ctx: typer.Context,
    template: TemplateId,
    version: Annotated[int | None, typer.Option(min=1, help="Which version; default: the latest.")] = None,
    json: Json = False,
) -> None:
    """Show a template as it is stored."""
    found = connect(ctx).get(path_of("templates", template), {"version": str(version)} if version else None)
    if json:
        emit(found)
        return
    say(f"template {found.get('template_id')}, version {found.get('version')}: {found.get('name')}")
    for name in ("from", "reply_to", "subject"):
        if found.get(name):
            say(f"  {name.replace('_', ' ')}: {found[name]}")
    if found.get("delivery_methods"):
        say(f"  for notices by: {', '.join(map(str, found['delivery_methods']))}")
    _say_parts(found)
    say(f"  variables: {', '.join(map(str, found.get('variables') or ())) or 'none'}")


@app.command()
def put(
    ctx: typer.Context,
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The body: HTML; of SMS plain text. - for stdin.")],
    template: Annotated[str, typer.Option("--id", metavar="ID", help="Make the next version of this template.")] = "",
    name: Annotated[str, typer.Option(help="Its name; default: the file's, or as it was.")] = "",
    channel: Annotated[str, channel_option("The channel of a new template.")] = EMAIL.name,
    subject: Subject = "",
    sender: From = "",
    reply_to: ReplyTo = "",
    text: TextFile = None,
    sms: Annotated[Path | None, typer.Option(metavar="FILE", help="Of notices: the text message.")] = None,
    speech: Annotated[
        Path | None, typer.Option("--say", metavar="FILE", help="Of notices: the text of a call.")
    ] = None,
    language: Annotated[str, typer.Option(metavar="TAG", help="Of the call, such as en-AU.")] = "",
    json: Json = False,
) -> None:
    """Store a message as a new template, or with --id as the next version of one.

    Campaigns made from an earlier version keep it.
    """
    body: dict[str, Any] = saying(text_of(file), subject=subject, sender=sender, reply_to=reply_to, text=text)
    body |= _variants(sms, speech, language)
    api = connect(ctx)
    if template:
        body |= {"name": name} if name else {}
        found = api.put(path_of("templates", template), body)
    else:
        if str(file) == "-" and not name:
            raise Misused("add --name")
        body |= {"name": name or file.stem, "channel": channel}
        found = api.post("/templates", body, key=new_key())
    known = f"template {found.get('template_id')}, version {found.get('version')}"
    variables = ", ".join(map(str, found.get("variables") or ())) or "none"
    emit_or_say(found, json=json, text=f"{known}; variables: {variables}")


def _variants(sms: Path | None, speech: Path | None, language: str) -> dict[str, Any]:
    """Return what a template says to notices, as the API takes it."""
    if language and speech is None:
        raise Misused("--language is that of a call: give it a text with --say")
    call = None
    if speech is not None:
        call = {"say": text_of(speech).strip(), **({"language": language} if language else {})}
    found = dict(sms={"text": text_of(sms).strip()} if sms is not None else None, voice=call)  # noqa: C408 - options
    return {name: value for name, value in found.items() if value is not None}


def _say_parts(template: Mapping[str, Any]) -> None:
    for part in ("body", "text"):
        for line in str(template.get(part) or "").splitlines():
            say(f"  {part} | {line}")
