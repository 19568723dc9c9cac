"""`posthaste pause | resume | rate`: kill switches, which take effect within 3 seconds and without a deploy.

They are operators' commands, straight to the deployment's tables. An audit log has each change and who made it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.asking import NOTHING, Yes, check_can_ask, confirm
from cli.deployment import Aws, OperatedDeployment, Stage, aws_errors, deployment
from cli.errors import Misused, NotFound
from cli.operating.accounts import Desk, reason_of, resolve
from cli.operating.stopping import left_words
from cli.output import Json, emit, emit_all, moment, say, surroundings, table, tell
from shared.domain.audit import operator
from shared.domain.lanes.switches import EVERYTHING, Switch
from shared.ports import Clock

if TYPE_CHECKING:
    from shared.adapters.dynamo.credentials.switchboard import Setting, Switchboard

rate_app = typer.Typer(help="Rates of credentials, up to what cdk.json declares.", no_args_is_help=True)

STILL_SENDING: Final = f"{NOTHING}; what is not paused is still being sent"
COLUMNS: Final = ("credential_id", "channel", "declared", "rate", "paused_since", "reason")

OneCredential = Annotated[str, typer.Option("--credential", metavar="ID", help="One credential, as in cdk.json.")]
OneAccount = Annotated[str, typer.Option("--account", metavar="ACCOUNT", help="One account, by id or name.")]
All = Annotated[bool, typer.Option("--all", help="Everything.")]
Reason = Annotated[str, typer.Option(help="The reason, for the audit log and for colleagues; without addresses.")]
CredentialId = Annotated[str, typer.Argument(metavar="CREDENTIAL_ID", help="As in cdk.json.")]


@dataclass(frozen=True, slots=True)
class Board:
    """A deployment's switches, and what it declares, which is asked for only where it matters."""

    switches: "Switchboard"
    found: OperatedDeployment
    where: str

    @property
    def by(self) -> str:
        """The operator, as the audit log names them; asks AWS."""
        return operator(self.found.who())

    def waiting(self, clock: Clock) -> str:
        """Return how many messages wait, for a question."""
        return left_words(Desk(self.found.accounts(clock), self.where, self.found), clock)

    def declared(self, credential: str) -> float:
        """Return a credential's declared rate; NotFound if there is no such credential."""
        settings = self.found.settings()
        try:
            return settings.credential(credential).rate
        except KeyError:
            known = ", ".join(c.id for c in settings.credentials)
            raise NotFound(f"no credential {credential} ({self.where}); there are: {known or 'none'}") from None


@contextmanager
def _opened(ctx: typer.Context, stage: str, *, aws: bool) -> Iterator[Board]:
    found = deployment(stage, aws=aws)
    with aws_errors(found.where):
        switches = found.switchboard(surroundings(ctx).clock)
        yield Board(switches, found, f"stage {found.stage}, {found.where}")


@contextmanager
def _checked() -> Iterator[None]:
    """Turn what the board refuses into a line."""
    try:
        yield
    except ValueError as refused:
        raise Misused(f"nothing was changed: {refused}") from None


@contextmanager
def _turning(
    ctx: typer.Context, stage: str, credential: str, account: str, *, everything: bool, aws: bool
) -> Iterator[tuple[Board, Switch]]:
    """Open the board, and find the switch that the options name."""
    with _opened(ctx, stage, aws=aws) as board, _checked():
        if bool(credential) + bool(account) + everything != 1:
            raise Misused("add one of --credential ID, --account ACCOUNT and --all")
        switch = EVERYTHING
        if credential:
            board.declared(credential)
            switch = Switch(credential=credential)
        elif account:
            switch = Switch(account=resolve(board.found.accounts(surroundings(ctx).clock), account))
        yield board, switch


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
    with _opened(ctx, stage, aws=aws) as board, _checked():
        board.declared(credential_id)
        changed = board.switches.close_breaker(credential_id, by=board.by, reason=why)
    if json:
        emit({"credential_id": credential_id, "breaker": "closed", "changed": changed})
    elif changed:
        say(f"the breaker of {credential_id} is closed ({board.where}): senders call it again within 3 seconds")
        say("if the provider still fails, it opens again after a few calls")
    else:
        say(f"the breaker of {credential_id} is not open")


def _name(switch: Switch) -> str:
    return switch.credential or switch.account or "everything"


def _document(switch: Switch) -> dict[str, Any]:
    if switch == EVERYTHING:
        return {"all": True}
    return {"credential_id": switch.credential} if switch.credential else {"account_id": switch.account}


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
    with _turning(ctx, stage, credential, account, everything=everything, aws=aws) as (board, switch):
        if everything and not yes:
            asked = f"Pause all sending of {board.where}, with {board.waiting(around.clock)} not sent yet?"
            confirm(around, asked, yes=yes, json=json, otherwise=(STILL_SENDING,))
        changed = board.switches.pause(switch, by=board.by, reason=why)
        stands = board.switches.read(switch)[switch]
    if json:
        emit({**_document(switch), "paused": True, "changed": changed, "reason": stands.reason})
    elif changed:
        say(
            f"{_name(switch)} is paused ({board.where}): claimed messages still go out within 3 seconds, the rest waits"
        )
        say(f"to end it:  posthaste resume {_flag(switch)}")
    else:
        say(f"{_name(switch)} is already paused, since {moment(stands.since)}: {stands.reason}")


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
    with _turning(ctx, stage, credential, account, everything=everything, aws=aws) as (board, switch):
        if everything and not yes:
            asked = f"Resume all sending of {board.where}, with {board.waiting(around.clock)} not sent yet?"
            confirm(around, asked, yes=yes, json=json)
        changed = board.switches.resume(switch, by=board.by, reason=why)
        above = board.switches.read(EVERYTHING)[EVERYTHING]
    if json:
        emit({**_document(switch), "paused": False, "changed": changed})
    elif changed:
        say(f"{_name(switch)} is resumed ({board.where}): waiting messages continue within seconds")
    else:
        say(f"{_name(switch)} is not paused")
    if above.switches.paused:
        tell(
            f"everything is paused since {moment(above.since)}: {above.reason}; end that with `posthaste resume --all`"
        )


def _flag(switch: Switch) -> str:
    if switch == EVERYTHING:
        return "--all"
    return f"--credential {switch.credential}" if switch.credential else f"--account {switch.account}"


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
    with _opened(ctx, stage, aws=aws) as board, _checked():
        declared = board.declared(credential)
        changed = board.switches.set_rate(credential, rate, ceiling=declared, by=board.by, reason=why)
    now = rate or declared
    if json:
        emit({"credential_id": credential, "rate": now, "declared": declared, "changed": changed})
    elif changed:
        say(f"{credential} sends {now:g} of {declared:g} messages per second, within 3 seconds ({board.where})")
    else:
        say(f"{credential} sends {now:g} of {declared:g} messages per second already")


@rate_app.command("list")
def list_rates(ctx: typer.Context, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List the credentials' present and declared rates, and pauses with time and reason."""
    with _opened(ctx, stage, aws=aws) as board:
        declared = board.found.settings().credentials
        stands = board.switches.read(EVERYTHING, *(Switch(credential=c.id) for c in declared))
        rows = [
            {
                "credential_id": c.id,
                "channel": c.channel,
                "declared": c.rate,
                **_row(stands[Switch(credential=c.id)], c.rate),
            }
            for c in declared
        ]
    above = stands[EVERYTHING]
    if json:
        above_all = {"all_paused_since": moment(above.since), "all_reason": above.reason or None}
        emit_all({**row, **above_all} for row in rows)
        return
    table(COLUMNS, rows, empty=f"no credential is declared ({board.where})")
    if above.switches.paused:
        tell(f"everything is paused since {moment(above.since)}: {above.reason}")


def _row(stands: "Setting", declared: float) -> dict[str, Any]:
    return {
        "rate": stands.switches.within(declared),
        "paused": stands.switches.paused,
        "paused_since": moment(stands.since),
        "reason": stands.reason or None,
    }
