"""`posthaste audit`: who did what, straight from the deployment's table."""

import difflib
from typing import Annotated, Final

import typer

from cli.deployment import Aws, OperatedDeployment, Stage, aws_errors, deployment
from cli.errors import Misused
from cli.operating.accounts import resolve
from cli.output import Json, emit_all, moment, surroundings, table
from shared.domain.audit import EVERYONE, Act, Event
from shared.domain.namespaces import namespace
from shared.ports import Clock, Journal

COLUMNS: Final = ("at", "action", "subject", "actor", "more")
PAGE: Final = 1000


def show(
    ctx: typer.Context,
    account: Annotated[
        str, typer.Argument(metavar="[ACCOUNT]", help="An account's id or name; default: the whole deployment's log.")
    ] = "",
    action: Annotated[str, typer.Option(help="Only entries of this kind, for example job.stopped.")] = "",
    *,
    test: Annotated[bool, typer.Option("--test", help="Show the log of the account's test keys.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Entries, newest first.")] = 100,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Show an audit log: of an account, or what operators did to the deployment as a whole (rates, pauses, queues)."""
    _check_action(action)
    found = deployment(stage, aws=aws)
    clock = surroundings(ctx).clock
    with aws_errors(found.where):
        owner = _owner(found, account, clock, test=test)
        events = _read(found.journal(clock), owner, action, limit)
    if json:
        emit_all(map(_row, events))
        return
    rows = [{**_row(x), "more": " ".join(f"{name}={value}" for name, value in x.data.items())} for x in events]
    table(COLUMNS, rows, empty="no entries" if not action else f"no entries of kind {action}")


def _check_action(action: str) -> None:
    """Refuse a kind of entry that there is not."""
    known = sorted(act.value for act in Act)
    if action and action not in known:
        near = difflib.get_close_matches(action, known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise Misused(f"no entry is of kind {action}\n{hint}kinds: {', '.join(known)}")


def _owner(found: OperatedDeployment, account: str, clock: Clock, *, test: bool) -> str:
    if not account:
        if test:
            raise Misused("--test needs an account")
        return EVERYONE
    if account == EVERYONE:
        raise Misused("the deployment's own log is shown without an account")
    return namespace(resolve(found.accounts(clock), account), test=test)


def _read(journal: Journal, owner: str, action: str, limit: int) -> list[Event]:
    events: list[Event] = []
    after = ""
    while len(events) < limit:
        page, after = journal.page(owner, kind=action, after=after, limit=min(PAGE, limit - len(events)))
        events += page
        if not after:
            break
    return events


def _row(event: Event) -> dict[str, object]:
    return {
        "at": moment(event.at),
        "action": event.kind,
        "subject": event.id,
        "actor": event.actor,
        "data": dict(event.data),
    }
