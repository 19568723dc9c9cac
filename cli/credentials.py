"""`posthaste credential …`: which provider accounts there are and how they do, and their secrets.

`set` takes a provider account's secret from a file, a pipe or a hidden prompt to Secrets Manager.
The secret never stands on a command line, where other users and the shell's history would see it, and is never shown:
no message here repeats any part of what was read.
"""

import json as codec
import re
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from cli.client import Api, installed_version
from cli.deployment import Aws, Stage, aws_errors, deployment
from cli.environment import api_target
from cli.errors import Misused
from cli.output import Json, emit, say, surroundings, table, tell
from shared.contracts import TEST_CREDENTIAL

app = typer.Typer(help="Provider accounts, declared in cdk.json.", no_args_is_help=True)

COLUMNS: Final = (
    "id",
    "provider",
    "channel",
    "rate",
    "declared_rate",
    "paused",
    "in_flight",
    "breaker",
    "reason",
    "since",
)
MAX_SECRET: Final = 65_536
"""Bytes, the limit of Secrets Manager."""
EXAMPLE: Final = '{"api_key": "…", "webhook_public_key": "…"}'
_ID: Final = re.compile(r"[a-z][a-z0-9-]{0,62}")


@app.callback()
def _group() -> None:
    """Provider accounts, declared in cdk.json."""


@app.command("list")
def list_credentials(ctx: typer.Context, json: Json = False) -> None:
    """List the provider accounts open to the account: rates, what is in flight, and breakers, over the HTTP API."""
    api = Api(api_target(), surroundings(ctx).clock, tell, installed_version())
    ctx.call_on_close(api.close)
    answer = api.get("/credentials")
    if json:
        emit(answer)
        return
    rows = []
    for item in answer.get("items", []):
        breaker = item["breaker"]
        paused = "paused" if item["paused"] else None
        shown = {"breaker": breaker["state"], "reason": breaker["reason"], "since": breaker["since"], "paused": paused}
        rows.append({**item, **shown})
    table(COLUMNS, rows, empty="no credential is open to this account")


@app.command("set")
def set_secret(
    credential_id: Annotated[str, typer.Argument(metavar="CREDENTIAL_ID", help="As in cdk.json.")],
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read the JSON object from this file. Default: stdin, or a prompt."),
    ] = None,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Store a credential's secret: a JSON object, read from a file, from stdin, or from a prompt that shows nothing.

    Senders take it up within five minutes.
    """
    if _ID.fullmatch(credential_id) is None:
        raise Misused("that is not a credential's id: use the `id` of an entry of `credentials` in cdk.json")
    if credential_id == TEST_CREDENTIAL:
        raise Misused("the built-in credential `test` has no secret")
    found = deployment(stage, aws=aws)
    text, fields = _object(_read(file))
    with aws_errors(found.where):
        found.put_secret(credential_id, text)
    if json:
        emit({"credential_id": credential_id, "stage": found.stage, "fields": fields})
    else:
        say(f"secret of {credential_id} stored ({fields} fields; stage {found.stage}, {found.where})")
        say("senders take it up within five minutes")


def _read(file: Path | None) -> str:
    try:
        if file is not None:
            with file.open("rb") as source:
                raw = source.read(MAX_SECRET + 1)
        elif sys.stdin.isatty():
            return str(typer.prompt(f"JSON object, e.g. {EXAMPLE}", hide_input=True, err=True))
        else:
            raw = sys.stdin.buffer.read(MAX_SECRET + 1)
    except (OSError, ValueError) as error:  # the name is not repeated: somebody may have put the secret there
        reason = error.strerror if isinstance(error, OSError) else "not a file name"
        raise Misused(f"cannot read the file that --file names: {reason}") from None
    if len(raw) > MAX_SECRET:
        raise Misused(f"a secret has at most {MAX_SECRET} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Misused("the secret is not UTF-8 text") from None


def _object(text: str) -> tuple[str, int]:
    """Return the secret as compact JSON, and how many fields it has."""
    try:
        found = codec.loads(text)
    except codec.JSONDecodeError as error:
        raise Misused(
            f"the secret is not JSON (line {error.lineno}, column {error.colno}); expected {EXAMPLE}"
        ) from None
    except RecursionError:
        raise Misused(f"the secret is not a JSON object of texts; expected {EXAMPLE}") from None
    if (
        not isinstance(found, dict)
        or not found
        or not all(isinstance(value, str) and value for value in found.values())
    ):
        raise Misused(f"the secret is not a JSON object of texts that are not empty; expected {EXAMPLE}")
    return codec.dumps(found, separators=(",", ":")), len(found)
