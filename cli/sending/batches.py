"""`posthaste batch …`: send one message to many recipients over the HTTP API, and follow its progress."""

import json as codec
from collections.abc import Mapping, Sequence
from email.utils import getaddresses
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.client import ApiClient, connect, new_key, path_of
from cli.errors import Misused, Unreachable
from cli.files import text_of
from cli.options import pairs
from cli.output import Json, counted, emit_or_say, say, surroundings, tell
from cli.progress.watch import JobProgress, as_json, as_lines, watch
from cli.sending import jobs, reading
from cli.sending.hours import Within, hours_of
from cli.sending.messages import channel_option
from shared.domain.channels.channel import Channel
from shared.domain.channels.email import EMAIL
from shared.domain.channels.lookup import channel_of

app = typer.Typer(help="Batches: one message, many recipients.", no_args_is_help=True)

BatchId = Annotated[str, typer.Argument(metavar="ID", help="The batch's id.")]
MAX_KEY: Final = 255


def _path(batch_id: str, rest: str = "") -> str:
    return path_of("batches", batch_id, rest)


@app.command()
def send(
    ctx: typer.Context,
    *,
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON body of POST /batches; - for stdin.")] = "",
    channel: Annotated[str, channel_option("What it is sent by.")] = EMAIL.name,
    sender: Annotated[str, typer.Option("--from", metavar="ADDRESS", help="The sender of an e-mail.")] = "",
    to_file: Annotated[
        Path | None, typer.Option("--to-file", metavar="FILE", help="Recipients, one per line; - for stdin.")
    ] = None,
    subject: Annotated[str, typer.Option(help="The subject.")] = "",
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="The body as HTML.")] = None,
    text: Annotated[Path | None, typer.Option(metavar="FILE", help="The body as plain text.")] = None,
    name: Annotated[str, typer.Option(help="The batch's name, for people.")] = "",
    template: Annotated[
        str, typer.Option(metavar="ID", help="A stored template, in place of --subject, --html and --text.")
    ] = "",
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A value of the template. Repeatable.")
    ] = None,
    reference: Annotated[str, typer.Option(metavar="TEXT", help="The batch's name in your own system.")] = "",
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="A word for the batch. Repeatable.")] = None,
    metadata: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Your own data. Repeatable.")] = None,
    hours: Within = "",
    idempotency_key: Annotated[
        str, typer.Option(metavar="KEY", help="Repeat an earlier call with its key: nothing is sent twice.")
    ] = "",
    follow: Annotated[bool, typer.Option("--watch", help="Then watch it until the last message.")] = False,
    yes: Yes = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the Idempotency-Key on stderr.")] = False,
    json: Json = False,
) -> None:
    """Send a batch, from a JSON file or from --from, --to-file, --subject and --html or --text.

    With --template, a stored template says it, with a value of --param for each placeholder.

    By another --channel than e-mail, --to-file names phone numbers and --text is what is sent or said.

    The call carries an Idempotency-Key and is repeated under the same key when the connection is lost.
    """
    given = {
        "--from": sender,
        "--to-file": to_file,
        "--subject": subject,
        "--html": html,
        "--text": text,
        "--name": name,
        "--template": template,
        "--param": param,
        "--reference": reference,
        "--tag": tag,
        "--metadata": metadata,
        "--hours": hours,
    }
    around = surroundings(ctx)
    by = channel_of(channel)
    if file:
        _check_none(given)
        body = _body_of_file(file)
    else:
        body = _body_of_texts(by, to_file, html, text, given)
    body |= hours_of(hours) | _labels(reference, tag or [], metadata or [])
    key = _key(idempotency_key)
    check_can_ask(around, yes=yes, json=json)
    api = connect(ctx)
    confirm(around, f"Send {counted(_amount(body), 'message')} from {api.place}?", yes=yes, json=json)
    if verbose:
        tell(f"Idempotency-Key: {key}")
    try:
        answer = api.post("/batches", body, key=key)
    except Unreachable as error:
        raise Unreachable(f"{error}; with --idempotency-key {key} nothing is sent twice") from None
    batch_id = str(answer.get("batch_id", ""))
    emit_or_say(answer, json=json, text=f"batch {batch_id} accepted: {_amounts(answer)}")
    if follow:
        _follow(ctx, api, batch_id, json=json)
    elif not json:
        say(f"watch it:  posthaste batch watch {batch_id}")


@app.command("watch")
def watch_batch(ctx: typer.Context, batch_id: BatchId, json: Json = False) -> None:
    """Watch a batch until its last message. Ctrl-C ends the watching, not the job. --json: one line per change."""
    _follow(ctx, connect(ctx), batch_id, json=json)


def _follow(ctx: typer.Context, api: ApiClient, batch_id: str, *, json: bool) -> None:
    around = surroundings(ctx)
    path = _path(batch_id)

    def read() -> JobProgress:
        return JobProgress.read(api.get(path))

    try:
        if json:
            watch(read, as_json(batch_id), around.clock)
        elif around.terminal:
            from cli.progress.bars import Bars  # noqa: PLC0415 - loads rich

            with Bars(batch_id, around.clock) as bars:
                watch(read, bars, around.clock)
        else:
            watch(read, as_lines(around.clock), around.clock)
    except KeyboardInterrupt:
        tell(f"no longer watching; the job continues. To watch again: posthaste batch watch {batch_id}")
        raise


app.command("list")(reading.list_batches)
app.command()(reading.show)
jobs.add_to(app, "batch", "batches", log="/logs")


def _check_none(given: Mapping[str, object]) -> None:
    """Refuse options that a FILE takes the place of."""
    if any(given.values()):
        raise Misused("give a FILE or " + ", ".join(option for option, value in given.items() if value) + ", not both")


def _body_of_file(name: str) -> dict[str, Any]:
    try:
        body = codec.loads(text_of(Path(name)))
    except codec.JSONDecodeError as error:
        raise Misused(f"{name} is not JSON: line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise Misused(f"{name} is nested too deeply") from None
    if not isinstance(body, dict):
        raise Misused(f"{name} must hold a JSON object: the body of POST /batches")
    return body


def _key(given: str) -> str:
    """Return the idempotency key to use: the one given, or a new one."""
    key = given or new_key()
    if len(key) > MAX_KEY or not key.isascii() or not key.isprintable():
        raise Misused(f"an idempotency key has 1 to {MAX_KEY} printable ASCII characters")
    return key


def _amount(body: Mapping[str, Any]) -> int:
    """Return how many recipients a batch names, as a list or separated by commas."""
    to = body.get("to")
    return len(to) if isinstance(to, list) else len(getaddresses([str(to or "")]))


def _amounts(answer: Mapping[str, Any]) -> str:
    """Return how many recipients a batch has, how many it skips, and how many were duplicates."""
    skipped, duplicates = answer.get("skipped"), answer.get("duplicates")
    parts = [counted(answer.get("recipients", 0), "recipient")]
    parts += [f"{skipped:,} skipped"] if skipped else []
    parts += [counted(duplicates, "duplicate")] if duplicates else []
    return ", ".join(parts)


def _body_of_texts(
    by: Channel, to_file: Path | None, html: Path | None, text: Path | None, given: Mapping[str, Any]
) -> dict[str, Any]:
    if given["--template"] or given["--param"]:
        return _body_of_template(by, to_file, given)
    if by.numbers:
        return _body_of_text(by, to_file, text, given)
    return _body_of_options(given["--from"], to_file, given["--subject"], html, text, given["--name"])


def _body_of_template(by: Channel, to_file: Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a batch that a stored template says."""
    others = ("--subject", "--html", "--text") + (("--from",) if by.numbers else ())
    if strange := [option for option in others if given[option]]:
        raise Misused(f"{', '.join(strange)} cannot be given with --template")
    if to_file is None or not given["--template"]:
        raise Misused("give --template, and --to-file with it")
    return _of_template(by, _recipients(to_file), given)


def _of_template(by: Channel, to: list[str], given: Mapping[str, Any]) -> dict[str, Any]:
    body = {"template_id": given["--template"], "to": to, "params": pairs("--param", given["--param"] or ())}
    options = {"name": given["--name"], "from": given["--from"], "channel": by.name if by.numbers else ""}
    return body | {field: value for field, value in options.items() if value}


def _labels(reference: str, tags: Sequence[str], metadata: Sequence[str]) -> dict[str, Any]:
    """Return what the batch's owner calls it; what is not given is left out."""
    given = {"reference": reference, "tags": list(tags), "metadata": pairs("--metadata", metadata)}
    return {name: value for name, value in given.items() if value}


def _recipients(to_file: Path) -> list[str]:
    found = list(filter(None, map(str.strip, text_of(to_file).splitlines())))
    if not found:
        raise Misused(f"{to_file} names no recipients: one per line")
    return found


def _body_of_text(by: Channel, to_file: Path | None, text: Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a batch to phone numbers."""
    if to_file is None or text is None:
        raise Misused("give a JSON FILE, or --to-file and --text")
    if strange := [option for option in ("--from", "--subject", "--html") if given[option]]:
        raise Misused(f"{by.noun} has no {', '.join(strange)}")
    said = text_of(text).rstrip("\n")
    name = {"name": given["--name"]} if given["--name"] else {}
    part = {"voice": {"say": said}} if by.speaks else {"text": said}
    return {"channel": by.name, "to": _recipients(to_file), **part, **name}


def _body_of_options(
    sender: str, to_file: Path | None, subject: str, html: Path | None, text: Path | None, name: str
) -> dict[str, Any]:
    wanted = {"--from": sender, "--to-file": to_file, "--subject": subject, "--html or --text": html or text}
    missing = [option for option, value in wanted.items() if not value]
    if missing or to_file is None:
        raise Misused(f"give a JSON FILE, or also {', '.join(missing)}")
    recipients = _recipients(to_file)
    texts = {"body": text_of(html) if html else "", "text": text_of(text) if text else "", "name": name}
    optional = {field: value for field, value in texts.items() if value}
    return {"from": sender, "to": recipients, "subject": subject, **optional}
