"""`posthaste queue list` and `posthaste redrive`: what waits, what is dead, and how it is worked on again."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.deployment import Aws, Stage
from cli.errors import ExitCode
from cli.operating.door import OperatorClient, door, segment
from cli.output import Json, counted, emit, emit_all, moment, say, surroundings, table, tell
from cli.progress.meters import meter
from shared.contracts import DEAD_LETTER_HOLD

app = typer.Typer(help="The stack's queues and their dead messages.", no_args_is_help=True)

COLUMNS: Final = ("queue", "waiting", "in_flight", "delayed", "oldest", "dead", "dead_oldest")
SHOWN: Final = ("since", "deliveries", "redrives", "what", "state", "error")


@app.callback()
def _group() -> None:
    """The stack's queues and their dead messages."""


@app.command("list")
def list_queues(ctx: typer.Context, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List every queue: waiting, in-flight and dead messages, and the age of the oldest of each.

    `plan`, `log` and `sweep` have dead-letter queues only: reports of invocations that failed.
    """
    with door(ctx, stage, aws=aws) as (client, _):
        known = client.get("/queues")["items"]
    if json:
        emit_all(known)
        return
    shown = [{**row, "oldest": _span(row["oldest"]), "dead_oldest": _span(row["dead_oldest"])} for row in known]
    table(COLUMNS, shown, empty="the stack has no queues")
    if dead := [row["queue"] for row in known if row["dead"]]:
        tell(f"to see the dead messages: posthaste redrive {dead[0]} --dry-run")


def redrive(
    ctx: typer.Context,
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="As `posthaste queue list` shows it.")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the dead messages.")] = False,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Move at most this many messages.")] = 1_000_000,
    show: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Show at most this many messages.")] = 20,
    discard: Annotated[
        bool, typer.Option("--discard", help="Delete messages that cannot be read or used, instead of leaving them.")
    ] = False,
    yes: Yes = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Show a queue's dead messages with time and reason, and process them again.

    You can run it at any time and as often as you like; it never sends twice. Ctrl-C stops it between two calls:
    the rest stays where it is. Exit code 1 if anything is left.
    """
    around = surroundings(ctx)
    check_can_ask(around, yes=yes or dry_run, json=json)
    with door(ctx, stage, aws=aws) as (client, found):
        path = f"/queues/{segment(queue.rpartition('/')[2])}"
        dead = client.get(f"{path}/letters", {"limit": str(show)})
        name, count, held = dead["queue"], dead["count"], dead["held"]
        rows = [{**row, "since": moment(row["since"])} for row in dead["items"]]
        if dry_run or not json:
            _show(rows, count, held, json=json)
        if dry_run:
            return
        if not count:
            if json:
                emit({"queue": name, "moved": 0, "discarded": 0, "left": []})
            raise typer.Exit(ExitCode.FAILED if held else ExitCode.OK)
        amount = counted(max(1, min(limit, count)), "dead message")
        asked = f"Redrive {amount} of {name} in stage {found.stage}, {found.where}?"
        confirm(around, asked, yes=yes, json=json)
        with meter(f"redriving {name}", terminal=around.terminal, quiet=json) as shown:
            done = _move(
                client,
                path,
                limit,
                discard=discard,
                moved=lambda n: shown(min(1.0, n / max(1, min(limit, count))), f"{n:,}"),
            )
    left = done["left"]
    if json:
        emit(done)
    else:
        discarded = f", {done['discarded']:,} discarded" if discard else ""
        beyond = f"; --limit {limit:,} left out the other {count - limit:,}" if count > limit else ""
        say(f"{name}: {done['moved']:,} redriven{discarded}, {len(left):,} left{beyond}")
        if left:
            table(("message_id", "since", "why"), left, empty="")
    if left:
        raise typer.Exit(ExitCode.FAILED)


def _move(
    client: OperatorClient, path: str, limit: int, *, discard: bool, moved: Callable[[int], None]
) -> dict[str, Any]:
    """Have messages redriven, request by request, until the end is seen or one brings nothing; return what was done."""
    done: dict[str, Any] = {"queue": "", "moved": 0, "discarded": 0}
    left: dict[str, Any] = {}
    run, more = "", True
    while more and done["moved"] < limit:
        body = {"run": run, "limit": limit - done["moved"], "discard": discard}
        step = client.send("POST", f"{path}/redrive", body)
        run, done["queue"] = step["run"], step["queue"]
        done["moved"] += step["moved"]
        done["discarded"] += step["discarded"]
        seen = len(left)
        left |= {x["message_id"]: {**x, "since": moment(x["since"])} for x in step["left"]}
        moved(done["moved"])
        more = step["more"] and (step["moved"] or step["discarded"] or len(left) > seen)
    return {**done, "left": list(left.values())}


def _show(rows: Sequence[Mapping[str, Any]], count: int, held: int, *, json: bool) -> None:
    """Print messages; `count`: about as many there are to be seen, `held`: and as many in somebody's hand."""
    if json:
        emit({"dead": count + held, "items": rows})
        return
    if rows or not held:
        table(SHOWN, rows, empty="this queue has no dead messages")
    if count > len(rows):
        tell(f"and about {count - len(rows):,} more")
    if held:
        minutes = DEAD_LETTER_HOLD // 60
        tell(f"and about {held:,} more are held by another redrive. If it was killed, try again in {minutes} minutes")


def _span(seconds: int | None) -> str | None:
    """Return seconds for people: 45s, 12m, 3h, 5d."""
    if seconds is None:
        return None
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
