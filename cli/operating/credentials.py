"""`posthaste credential …`: which provider accounts there are and how they do, and their secrets.

`set` takes a provider account's secret from a file, a pipe or hidden prompts to Secrets Manager, if it can work there.
The secret is never on a command line, where other users and the shell's history would see it. It is never shown: no
message here repeats any part of what was read.
"""

import json as codec
import re
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.client import LARGEST_PAGE, connect
from cli.deployment import Aws, OperatedDeployment, Stage, aws_errors, deployment
from cli.errors import Failed, Misused, NotFound
from cli.operating.door import OperatorClient, door
from cli.output import Json, emit, emit_all, say, table, tables, tell
from shared.contracts import TEST_CREDENTIAL, Credential, secret_name, webhook_secret_name
from shared.providers.registry import verifying

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
    "full_until",
    "warmup",
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
    """List the provider accounts that your account may use, with rates, messages in flight and breakers."""
    pages = connect(ctx).pages("/credentials", {"limit": LARGEST_PAGE})
    tables(COLUMNS, pages, json=json, empty="no credential is open to this account", row=_row)


def _row(item: Mapping[str, Any]) -> dict[str, Any]:
    breaker = item["breaker"]
    paused = "paused" if item["paused"] else None
    shown = {"breaker": breaker["state"], "reason": breaker["reason"], "since": breaker["since"], "paused": paused}
    return {**item, **shown, "warmup": next((_warmup(q) for q in item.get("quotas", ()) if q.get("warmup")), None)}


def _warmup(quota: Mapping[str, Any]) -> str:
    """Return the day of a warm-up, and its size."""
    found = quota["warmup"]
    return f"day {found['day']} of {found['days']}: {quota['messages']:,}"


@app.command("set")
def set_secret(
    ctx: typer.Context,
    credential_id: Annotated[str, typer.Argument(metavar="CREDENTIAL_ID", help="As in cdk.json.")],
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read the JSON object from this file; default: stdin, or prompts."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Store it even if it fails the checks.")] = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Store a credential's secret: a JSON object from a file or from stdin, or each field from a hidden prompt.

    A secret that cannot work is refused, and the stored one stays. Senders use a new secret within five minutes.
    """
    if _ID.fullmatch(credential_id) is None:
        raise Misused("this is not a credential's id: use the `id` of an entry of `credentials` in cdk.json")
    if credential_id == TEST_CREDENTIAL:
        raise Misused("the built-in credential `test` has no secret")
    with door(ctx, stage, aws=aws) as (client, found):
        form = _form(client, found, credential_id)
        text, fields = _object(_read(file, form["fields"]))
        body = {"secret": text, "force": force, "request": uuid.uuid4().hex}
        done = client.send("PUT", f"/secrets/{credential_id}", body)
    if not done["stored"]:
        raise _refused(form, done["faults"])
    if json:
        emit({"credential_id": credential_id, "stage": found.stage, "fields": fields})
    else:
        say(f"secret of {credential_id} stored ({fields} fields; stage {found.stage}, {found.where})")
        say("senders use it within five minutes; `posthaste doctor` checks the stored secret")


@app.command("split")
def split_secrets(ctx: typer.Context, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Copy the webhook keys of each credential's secret into a separate secret.

    The webhook function reads only these. `set` writes both; run this once before an upgrade from a version that had
    one secret for both. A repeat changes nothing.
    """
    del ctx
    found = deployment(stage, aws=aws)
    rows, wrong = [], []
    with aws_errors(found.where):
        for credential in found.settings().credentials:
            text = found.secret(secret_name(found.stage, credential.id))
            try:
                made = bool(text.strip()) and _split(found, credential, text)
            except Misused:
                made = False
                wrong.append(credential.id)
            rows.append({"credential_id": credential.id, "written": made})
    if json:
        emit_all(rows)
    else:
        table(("credential_id", "written"), rows, empty="no credential is declared")
    if wrong:
        names = ", ".join(wrong)
        raise Failed(f"not a JSON object of strings: the secret of {names}; `posthaste credential set` stores it")


def _split(found: OperatedDeployment, credential: Credential, text: str) -> bool:
    """Store what verifies a credential's webhooks apart from what sends; False if it is there, or there is none.

    This reads the secrets itself: the stack of the version before has no operators' function that could.
    """
    from shared.adapters.secrets import SecretStore  # noqa: PLC0415 - loads botocore

    own = verifying(credential.provider, codec.loads(_object(text)[0]))
    wanted = codec.dumps(own, separators=(",", ":"))
    if not own or found.secret(webhook_secret_name(found.stage, credential.id)) == wanted:
        return False
    store = SecretStore(found.client("secretsmanager"), found.stage)
    store.put_verifying(credential.id, wanted, uuid.uuid4().hex)
    return True


def _form(client: OperatorClient, found: OperatedDeployment, credential_id: str) -> dict[str, Any]:
    """Return the provider of a credential and the fields of its secret.

    Raises:
        NotFound: the deployment declares no such credential.
    """
    try:
        return client.get(f"/secrets/{credential_id}")
    except NotFound as unknown:
        if unknown.problem != "credential_not_found":
            raise
        raise NotFound(
            f"stage {found.stage} in {found.where} declares no credential {credential_id}: "
            "declare it in cdk.json and deploy first"
        ) from None


def _refused(form: Mapping[str, Any], faults: Sequence[Mapping[str, Any]]) -> Failed:
    """Show why a secret was not stored; return the error that says so. No value is shown."""
    for x in faults:
        tell(f"{x['level']}: {x['says']}")
    names = ", ".join(f["name"] + ("" if f["required"] else " (optional)") for f in form["fields"])
    return Failed(
        f"the secret of {form['credential_id']} was not stored; what was stored before is unchanged. "
        f"Its provider is {form['provider']}, whose fields are: {names or 'none'}. "
        "Add --force to store it all the same"
    )


def _read(file: Path | None, fields: Sequence[Mapping[str, Any]]) -> str:
    try:
        if file is not None:
            with file.open("rb") as source:
                raw = source.read(MAX_SECRET + 1)
        elif sys.stdin.isatty():
            return _asked(fields)
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


def _asked(fields: Sequence[Mapping[str, Any]]) -> str:
    """Ask for each field of the provider's secret, without showing what is typed."""
    given: dict[str, str] = {}
    for field in fields:
        asked = f"{field['name']}: {field['about']}" + ("" if field["required"] else " (optional)")
        value = str(typer.prompt(asked, hide_input=True, err=True, default="", show_default=False)).strip()
        given |= {field["name"]: value} if value else {}
    return codec.dumps(given)


def _object(text: str) -> tuple[str, int]:
    """Return the secret as compact JSON, and how many fields it has."""
    try:
        found = codec.loads(text)
    except codec.JSONDecodeError as error:
        raise Misused(
            f"the secret is not JSON (line {error.lineno}, column {error.colno}); expected {EXAMPLE}"
        ) from None
    except RecursionError:
        raise Misused(f"the secret is not a JSON object of strings; expected {EXAMPLE}") from None
    if (
        not isinstance(found, dict)
        or not found
        or not all(isinstance(value, str) and value for value in found.values())
    ):
        raise Misused(f"the secret is not a JSON object of non-empty strings; expected {EXAMPLE}")
    return codec.dumps(found, separators=(",", ":")), len(found)
