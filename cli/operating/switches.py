"""`posthaste pause | resume | rate`: kill switches, which take effect within 3 seconds and without a deploy.

They go by the operators' door. `pause --all` has a way of its own to the tables, for the day when the door is shut.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer

from cli.asking import NOTHING, Yes, check_can_ask, confirm
from cli.deployment import Aws, OperatedDeployment, Stage
from cli.errors import CommandError, Failed, Misused, NotFound, Unreachable
from cli.operating.accounts import reason_of
from cli.operating.door import OperatorClient, door, segment
from cli.output import Json, counted, emit, emit_all, moment, say, surroundings, table, tell
from shared.domain.audit import operator
from shared.domain.lanes.switches import EVERYTHING
from shared.ports import Clock

rate_app = typer.Typer(help="Rates of credentials, up to what cdk.json declares.", no_args_is_help=True)

STILL_SENDING: Final = f"{NOTHING}; what is not paused is still being sent"
COLUMNS: Final = ("credential_id", "channel", "declared", "rate", "paused_since", "reason")
SHUT: Final = (Failed, NotFound, Unreachable)
"""How a command ends if the door is not there, or does not answer."""

OneCredential = Annotated[str, typer.Option("--credential", metavar="ID", help="One credential, as in cdk.json.")]
OneAccount = Annotated[str, typer.Option("--account", metavar="ACCOUNT", help="One account, by id or name.")]
All = Annotated[bool, typer.Option("--all", help="Everything.")]
Reason = Annotated[str, typer.Option(help="The reason, for the audit log and for colleagues; without addresses.")]
CredentialId = Annotated[str, typer.Argument(metavar="CREDENTIAL_ID", help="As in cdk.json.")]


@contextmanager
def _unchanged() -> Iterator[None]:
    """Say that a change which the door refuses was not made."""
    try:
        yield
    except Misused as refused:
        raise Misused(f"nothing was changed: {refused}") from None


def _body(credential: str, account: str, *, everything: bool, reason: str) -> dict[str, Any]:
    """Return what is switched, as the door takes it; Misused unless the options name one thing."""
    if bool(credential) + bool(account) + everything != 1:
        raise Misused("add one of --credential ID, --account ACCOUNT and --all")
    return {"credential": credential, "account": account, "everything": everything, "reason": reason}


def _waiting(client: OperatorClient) -> str:
    """Return how many messages are not sent, for a question. If that cannot be found out, there is still the switch."""
    try:
        found = client.get("/switches/waiting")
    except CommandError:
        return "an unknown number of messages"
    more = "at least " if found["more"] else ""
    return f"{more}{counted(found['messages'], 'message')} of {counted(found['jobs'], 'job')}"


def close_breaker(
    ctx: typer.Context,
    credential_id: CredentialId,
    reason: Reason = "operator",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Close a credential's circuit breaker: its senders call the provider again within 3 seconds."""
    why = reason_of(reason)
    with door(ctx, stage, aws=aws) as (client, found):
        changed = client.send("POST", f"/switches/breakers/{segment(credential_id)}/close", {"reason": why})["changed"]
    if json:
        emit({"credential_id": credential_id, "breaker": "closed", "changed": changed})
    elif changed:
        say(f"the breaker of {credential_id} is closed ({found.full_name}): senders call it again within 3 seconds")
        say("if the provider still fails, it opens again after a few calls")
    else:
        say(f"the breaker of {credential_id} is not open")


def _name(switched: dict[str, Any]) -> str:
    return str(switched["credential_id"] or switched["account_id"] or "everything")


def _document(switched: dict[str, Any]) -> dict[str, Any]:
    named = {name: switched[name] for name in ("credential_id", "account_id") if switched[name]}
    return named or {"all": True}


def pause(
    ctx: typer.Context,
    *,
    credential: OneCredential = "",
    account: OneAccount = "",
    everything: All = False,
    reason: Reason = "operator",
    yes: Yes = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Pause a credential, an account, or everything.

    Messages that are claimed already still go out, within 3 seconds; the rest waits. With --all it asks first.
    """
    why = reason_of(reason)
    around = surroundings(ctx)
    check_can_ask(around, yes=yes or not everything, json=json)
    with door(ctx, stage, aws=aws, tries=1 if everything else 0) as (client, found):
        body = _body(credential, account, everything=everything, reason=why)
        if everything and not yes:
            asked = f"Pause all sending of {found.full_name}, with {_waiting(client)} not sent yet?"
            confirm(around, asked, yes=yes, json=json, otherwise=(STILL_SENDING,))
        try:
            done = client.send("POST", "/switches/pause", body)
        except SHUT as shut:
            if not everything:
                raise
            tell(f"{str(shut).splitlines()[0]}; so this command writes the switch itself, with your right on the table")
            done = _pause_all(found, around.clock, why)
    if json:
        emit({**_document(done), "paused": True, "changed": done["changed"], "reason": done["now"]["reason"]})
    elif done["changed"]:
        rest = "claimed messages still go out within 3 seconds, the rest waits"
        say(f"{_name(done)} is paused ({found.full_name}): {rest}")
        say(f"to end it:  posthaste resume {_flag(done)}")
    else:
        say(f"{_name(done)} is already paused, since {moment(done['now']['since'])}: {done['now']['reason']}")


def _pause_all(found: OperatedDeployment, clock: Clock, reason: str) -> dict[str, Any]:
    """Pause everything straight in the table; return what the door would have answered."""
    switches = found.switchboard(clock)
    changed = switches.pause(EVERYTHING, by=operator(found.who()), reason=reason)
    now = switches.read(EVERYTHING)[EVERYTHING]
    state = {"since": now.since, "reason": now.reason}
    return {"credential_id": None, "account_id": None, "changed": changed, "now": state}


def resume(
    ctx: typer.Context,
    *,
    credential: OneCredential = "",
    account: OneAccount = "",
    everything: All = False,
    reason: Reason = "operator",
    yes: Yes = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """End a pause. Waiting messages continue within seconds.

    `--all` ends the pause of everything, and leaves single pauses. It asks first.
    """
    why = reason_of(reason)
    around = surroundings(ctx)
    check_can_ask(around, yes=yes or not everything, json=json)
    with door(ctx, stage, aws=aws) as (client, found):
        body = _body(credential, account, everything=everything, reason=why)
        if everything and not yes:
            asked = f"Resume all sending of {found.full_name}, with {_waiting(client)} not sent yet?"
            confirm(around, asked, yes=yes, json=json)
        done = client.send("POST", "/switches/resume", body)
    if json:
        emit({**_document(done), "paused": False, "changed": done["changed"]})
    elif done["changed"]:
        say(f"{_name(done)} is resumed ({found.full_name}): waiting messages continue within seconds")
    else:
        say(f"{_name(done)} is not paused")
    above = done["above"]
    if above["paused"]:
        tell(
            f"everything is paused since {moment(above['since'])}: {above['reason']}; "
            "end that with `posthaste resume --all`"
        )


def _flag(switched: dict[str, Any]) -> str:
    if switched["credential_id"]:
        return f"--credential {switched['credential_id']}"
    return f"--account {switched['account_id']}" if switched["account_id"] else "--all"


@rate_app.command("set")
def set_rate(
    ctx: typer.Context,
    credential_id: CredentialId,
    rate: Annotated[float, typer.Argument(metavar="RATE", help="Messages per second, at most what cdk.json declares.")],
    reason: Reason = "operator",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Set a credential's rate. Each of its senders uses it within 3 seconds."""
    if not rate:
        raise Misused("a rate must be above 0; to send nothing: posthaste pause --credential " + credential_id)
    _set(ctx, credential_id, rate, reason, stage, aws=aws, json=json)


@rate_app.command("reset")
def reset_rate(
    ctx: typer.Context,
    credential_id: CredentialId,
    reason: Reason = "operator",
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Set a credential's rate back to what cdk.json declares."""
    _set(ctx, credential_id, 0.0, reason, stage, aws=aws, json=json)


def _set(ctx: typer.Context, credential: str, rate: float, reason: str, stage: str, *, aws: bool, json: bool) -> None:
    why = reason_of(reason)
    with door(ctx, stage, aws=aws) as (client, found), _unchanged():
        body = {"rate": rate, "reason": why}
        done = client.send("PUT", f"/switches/rates/{segment(credential)}", body)
    if json:
        emit(done)
    elif done["changed"]:
        now = f"{done['rate']:g} of {done['declared']:g}"
        say(f"{credential} sends {now} messages per second, within 3 seconds ({found.full_name})")
    else:
        say(f"{credential} sends {done['rate']:g} of {done['declared']:g} messages per second already")


@rate_app.command("list")
def list_rates(ctx: typer.Context, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List the credentials' present and declared rates, and pauses with time and reason."""
    with door(ctx, stage, aws=aws) as (client, found):
        listed = client.get("/switches")
    above = listed["above"]
    rows = [
        {
            **{name: row[name] for name in ("credential_id", "channel", "declared", "rate", "paused")},
            "paused_since": moment(row["since"]),
            "reason": row["reason"] or None,
        }
        for row in listed["items"]
    ]
    if json:
        above_all = {"all_paused_since": moment(above["since"]), "all_reason": above["reason"] or None}
        emit_all({**row, **above_all} for row in rows)
        return
    table(COLUMNS, rows, empty=f"no credential is declared ({found.full_name})")
    if above["paused"]:
        tell(f"everything is paused since {moment(above['since'])}: {above['reason']}")
