"""`posthaste restore …`: a stage comes back from copies of its tables' past, and nothing is sent twice.

These commands read and write the tables themselves, by the operator's own rights (`RestorerPolicy`). On such a day
the operators' function may lack the items that it needs.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.deployment import Aws, OperatedDeployment, Stage, aws_errors, deployment
from cli.errors import Failed, Misused, NotFound
from cli.output import Json, Surroundings, counted, emit, emit_all, say, surroundings, table, tell
from cli.progress.meters import meter
from cli.restoring.tables import CopySource, made, sources, span, tables_of, time_of
from shared.domain.ids import is_id
from shared.domain.jobs.states import JobState

if TYPE_CHECKING:
    from cli.restoring.work import Restoring
    from shared.adapters.dynamo.restoring.holding import HeldJob

app = typer.Typer(
    help="Bring a stage back from copies of its tables' past; nothing is sent twice.", no_args_is_help=True
)

COLUMNS: Final = ("table", "name", "earliest", "latest")
HELD: Final = ("job_id", "account_id", "kind", "state", "waiting", "sent", "doubtful", "other")
QUESTION: Final = (
    "Restore {tables} of {where}? All sending is paused now, until you resume it. What is in the tables already stays. "
    "Messages that wait in the copies may have been sent since, and become unknown."
)
EXACT: Final = (
    "Restore {tables} of {where} from copies of the very moment of the loss? All sending is paused now, until you "
    "resume it. Had anything been sent after the copies, it would be sent twice."
)
ENDS: Final = {True: "ended as unknown", False: "released; after `posthaste resume --all` they are sent"}
"""By whether messages were discarded."""
ASKS: Final = {True: "End {what} as unknown? Nothing sends them then.", False: "Release {what}?"}
AT_REST: Final = 60
"""Seconds within which the sweeper brings a held job to rest."""


@contextmanager
def _restoring(ctx: typer.Context, stage: str, *, aws: bool) -> "Iterator[tuple[Restoring, OperatedDeployment]]":
    from cli.restoring.work import Restoring  # noqa: PLC0415 - loads the stores, which help does not need

    found = deployment(stage, aws=aws)
    with aws_errors(found.where):
        yield Restoring(found, surroundings(ctx)), found


@app.command("plan")
def plan(stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Show the stage's tables, and from which moments DynamoDB can make copies of them. It changes nothing."""
    found = deployment(stage, aws=aws)
    with aws_errors(found.where):
        client = found.client("dynamodb")
        rows = []
        for name, full in tables_of(found).items():
            earliest, latest = (x.isoformat(timespec="seconds") if x else None for x in span(client, full))
            rows.append({"table": name, "name": full, "earliest": earliest, "latest": latest})
    if json:
        emit_all(rows)
    else:
        table(COLUMNS, rows, empty="")
        say("restore what was lost:  posthaste restore copy TABLE … --at TIME")


@app.command("copy")
def copy(
    ctx: typer.Context,
    wanted: Annotated[
        list[str], typer.Argument(metavar="TABLE[=COPY]…", help="What was lost, as `plan` names it, and its copy.")
    ],
    *,
    at: Annotated[
        str, typer.Option(metavar="TIME", help="Have DynamoDB make the copies as of then, RFC 3339 with an offset.")
    ] = "",
    exact: Annotated[
        bool, typer.Option("--exact", help="The copies are of the moment of the loss: nothing was sent since.")
    ] = False,
    yes: Yes = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Pause everything, and put back what the tables have lost. Repeat it to continue after an interruption."""
    around = surroundings(ctx)
    check_can_ask(around, yes=yes, json=json)
    when = time_of(at) if at else None
    with _restoring(ctx, stage, aws=aws) as (restoring, found):
        asked = sources(wanted, tables_of(found), at=at)
        names = ", ".join(x.name for x in asked)
        confirm(around, (EXACT if exact else QUESTION).format(tables=names, where=found.full_name), yes=yes, json=json)
        restoring.pause()
        tell(f"all sending of {found.full_name} is paused")
        if when is not None:
            asked = _all_made(found, asked, when, around)
        done = _copied(restoring, asked, around, exact=exact, quiet=json)
        settled = restoring.settle(asked)
    if json:
        emit({"tables": done, "held": settled.held, "rebuilt": settled.rebuilt})
    else:
        _tell_copied(done, settled.rebuilt)


def _all_made(
    found: OperatedDeployment, asked: Sequence[CopySource], when: datetime, around: Surroundings
) -> list[CopySource]:
    """Have DynamoDB make the copies that are not named."""
    client = found.client("dynamodb")
    return [x if x.copy else made(client, x, when, around) for x in asked]


def _tell_copied(done: Sequence[dict[str, Any]], rebuilt: int) -> None:
    """Tell people what was copied. `rebuilt`: ledgers that were made again."""
    table(("table", "read", "put", "kept", "left_out"), done, empty="")
    if rebuilt:
        say(f"made again from their chunks: {counted(rebuilt, 'ledger')}")
    say("see what waits, and what is lost:  posthaste restore review")


def _copied(
    restoring: "Restoring", asked: Sequence[CopySource], around: Surroundings, *, exact: bool, quiet: bool
) -> list[dict[str, Any]]:
    """Copy the tables, one after the other; return a row of figures for each."""
    done = []
    for source in asked:
        with meter("restoring", terminal=around.terminal, quiet=quiet) as shown:
            found = restoring.copy(asked, source, exact=exact, shown=shown)
            shown(1.0, source.name)
        figures = {"read": found.read, "put": found.put, "kept": found.kept, "left_out": found.passed}
        done.append({"table": source.name, **figures})
    return done


@app.command("review")
def review(ctx: typer.Context, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """Show the jobs that a restore holds, what of them may have been sent, and the jobs that are lost."""
    with _restoring(ctx, stage, aws=aws) as (restoring, found):
        held = list(restoring.holding.held())
        lost = restoring.holding.lost()
    rows = [_row(x) for x in held]
    if json:
        emit({"held": rows, "lost": [{"job_id": job, "messages": number} for job, number in sorted(lost.items())]})
        return
    table(HELD, rows, empty=f"a restore holds no job ({found.full_name})")
    for job, number in sorted(lost.items()):
        say(f"lost: job {job}, of which only the states of {counted(number, 'message')} are left")
    if any(x.waiting for x in held):
        say("let go what waits:  posthaste restore release JOB, or --all;  then:  posthaste resume --all")


def _row(held: "HeldJob") -> dict[str, Any]:
    job = held.job
    amounts = {"waiting": held.waiting, "sent": held.sent, "doubtful": held.doubtful, "other": held.rest}
    return {"job_id": job.id, "account_id": job.account, "kind": job.kind, "state": job.state.value, **amounts}


@app.command("release")
def release(
    ctx: typer.Context,
    job_id: Annotated[str, typer.Argument(metavar="JOB_ID", help="A job that `review` shows.")] = "",
    *,
    everything: Annotated[bool, typer.Option("--all", help="All that `review` shows.")] = False,
    discard: Annotated[bool, typer.Option("--discard", help="Send nothing of it: what waits ends as unknown.")] = False,
    yes: Yes = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Let held jobs go: what certainly was not sent is sent, once you resume everything. Doubtful messages stay."""
    around = surroundings(ctx)
    check_can_ask(around, yes=yes, json=json)
    _check_named(job_id, everything=everything)
    with _restoring(ctx, stage, aws=aws) as (restoring, found):
        held = _wanted(restoring, job_id)
        waiting = sum(x.waiting for x in held)
        what = f"{counted(waiting, 'message')} of {counted(len(held), 'job')} of {found.full_name}"
        confirm(around, ASKS[discard].format(what=what), yes=yes, json=json)
        early = [x for x in held if x.job.state is JobState.STOPPED]
        done = _let_go(restoring, [x for x in held if x not in early], discard=discard)
    if json:
        emit({"discarded" if discard else "released": done, "not_at_rest": [x.job.id for x in early]})
    else:
        say(f"{counted(done, 'message')} {ENDS[discard]} ({found.full_name})")
    if early:
        raise Failed(f"not at rest yet: {counted(len(early), 'job')}; repeat this in {AT_REST} s")


def _check_named(job_id: str, *, everything: bool) -> None:
    """Refuse words that name no job, or both one and all."""
    if bool(job_id) == everything:
        raise Misused("add a job's id, or --all")
    if job_id and not is_id(job_id):
        raise Misused(f"{job_id!r} is no id of a job")


def _let_go(restoring: "Restoring", held: "Sequence[HeldJob]", *, discard: bool) -> int:
    """Release or discard jobs; return how many messages."""
    if discard:
        return sum(restoring.holding.discard(x) for x in held)
    by = restoring.by
    return sum(x.waiting for x in held if restoring.holding.release(x, by))


def _wanted(restoring: "Restoring", job_id: str) -> "list[HeldJob]":
    """Return the held jobs that are meant and hold something that waits."""
    if not job_id:
        return [x for x in restoring.holding.held() if x.waiting and x.job.state in _HELD]
    found = restoring.holding.find(job_id)
    if found is None:
        raise NotFound(f"a restore holds no job {job_id}")
    return [found] if found.waiting and found.job.state in _HELD else []


_HELD: Final = (JobState.STOPPED, JobState.LOGGED)
