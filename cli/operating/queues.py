"""`posthaste queue list` and `posthaste redrive`: what waits, what is dead, and how it is worked on again."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.deployment import FORBIDDEN, Aws, OperatedDeployment, Stage, aws_errors, deployment
from cli.errors import ExitCode, NotFound
from cli.operating.dead_letters import (
    DEAD,
    Errors,
    Letter,
    QueuePlace,
    Reader,
    give_back,
    places,
    receive,
)
from cli.operating.redrive import HOLD_SECONDS, Again, Redrive, Redriven, Redriver
from cli.output import Json, counted, emit, emit_all, moment, say, surroundings, table, tell
from cli.progress.meters import meter
from shared.contracts import EXPRESS_SUFFIX, prefix
from shared.domain.audit import EVERYONE, Act, audited, operator
from shared.ports import Clock

app = typer.Typer(help="The stack's queues and their dead messages.", no_args_is_help=True)

COLUMNS: Final = ("queue", "waiting", "in_flight", "delayed", "oldest", "dead", "dead_oldest")
SHOWN: Final = ("since", "deliveries", "redrives", "what", "state", "error")
NO_ERROR: Final = "none in the logs: its function died, ran out of time, or was not called"
WORKERS: Final = 8
METRIC_MINUTES: Final = 15
"""CloudWatch tells the age of a queue's oldest message every minute, some minutes late."""
MAX_METRICS: Final = 500
"""Queries in one GetMetricData."""
_COUNTS: Final = {
    "waiting": "ApproximateNumberOfMessages",
    "in_flight": "ApproximateNumberOfMessagesNotVisible",
    "delayed": "ApproximateNumberOfMessagesDelayed",
}


@app.callback()
def _group() -> None:
    """The stack's queues and their dead messages."""


@app.command("list")
def list_queues(ctx: typer.Context, stage: Stage = "", aws: Aws = False, json: Json = False) -> None:
    """List every queue: waiting, in-flight and dead messages, and the age of the oldest of each.

    `plan`, `log` and `sweep` have dead-letter queues only: reports of invocations that failed.
    """
    found = deployment(stage, aws=aws)
    with aws_errors(found.where):
        known = rows(found, surroundings(ctx).clock.now())
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
    found = deployment(stage, aws=aws)
    around = surroundings(ctx)
    check_can_ask(around, yes=yes or dry_run, json=json)
    with aws_errors(found.where):
        place = _place(found, queue)
        reader = Reader.of(found)
        counts = _counts(found.client("sqs"), place.dead)
        count, held = counts["waiting"], counts["in_flight"]
        if dry_run or not json:
            letters = _look(found, place, show)
            _show(_rows(found, place, reader, letters), max(count, len(letters)), held, json=json)
            empty = not (count or letters)
        else:
            empty = not (count or _look(found, place, show))
        if dry_run:
            return
        if empty:
            raise _nothing(place, held=held, json=json)
        amount = counted(max(1, min(limit, count)), "dead message")
        asked = f"Redrive {amount} of {place.name} in stage {found.stage}, {found.where}?"
        confirm(around, asked, yes=yes, json=json)
        _move(ctx, found, place, reader, limit=limit, discard=discard, count=count, json=json)


def _nothing(place: QueuePlace, *, held: int, json: bool) -> typer.Exit:
    """Return the end of a redrive of a queue in which nothing is dead. `held`: by another redrive."""
    if json:
        emit(_done(place, Redriven()))
    return typer.Exit(ExitCode.FAILED if held else ExitCode.OK)


def _move(
    ctx: typer.Context,
    found: OperatedDeployment,
    place: QueuePlace,
    reader: Reader,
    *,
    limit: int,
    discard: bool,
    count: int,
    json: bool,
) -> None:
    around = surroundings(ctx)
    sqs, run = found.client("sqs"), uuid.uuid4().hex
    deliver = Redriver(sqs, place.url, run) if place.url else Again(found, place.kind)
    work = Redrive(sqs, place, deliver, lambda body: reader.about(place.kind, body), run=run, discard=discard)
    with (
        _audited(found, place, around.clock, work, run),
        meter(f"redriving {place.name}", terminal=around.terminal, quiet=json) as shown,
    ):
        work.go(limit, lambda n: shown(min(1.0, n / max(1, min(limit, count))), f"{n:,}"))
    done = _done(place, work.tally)
    left = done["left"]
    if json:
        emit(done)
    else:
        discarded = f", {work.tally.discarded:,} discarded" if discard else ""
        beyond = f"; --limit {limit:,} left out the other {count - limit:,}" if count > limit else ""
        say(f"{place.name}: {work.tally.moved:,} redriven{discarded}, {len(left):,} left{beyond}")
        if left:
            table(("message_id", "since", "why"), left, empty="")
    if left:
        raise typer.Exit(ExitCode.FAILED)


def _done(place: QueuePlace, tally: Redriven) -> dict[str, Any]:
    """Return what a run did, as JSON shows it."""
    left = [{"message_id": x.id, "since": moment(x.sent_at), "why": why} for x, why in tally.left]
    return {"queue": place.name, "moved": tally.moved, "discarded": tally.discarded, "left": left}


@contextmanager
def _audited(found: OperatedDeployment, place: QueuePlace, clock: Clock, work: Redrive, run: str) -> Iterator[None]:
    """Note in the deployment's audit log that a redrive begins, and how it ended, however it did."""
    journal = found.journal(clock)
    who = operator(found.who())

    def write(act: Act, **data: int) -> None:
        at = int(clock.now() * 1000)
        journal.write(audited(EVERYONE, at, place.name, act, who, {"run": run, **data}))

    write(Act.REDRIVE_BEGUN)
    try:
        yield
    finally:
        tally = work.tally
        write(Act.REDRIVE_ENDED, moved=tally.moved, discarded=tally.discarded, left=len(tally.left))


def _place(found: OperatedDeployment, queue: str) -> QueuePlace:
    """Return the queue that somebody means, who may have its name from an alarm or from the console."""
    name = queue.rpartition("/")[2].removeprefix(f"{prefix(found.stage)}-").removesuffix(DEAD)
    name = name.removesuffix(EXPRESS_SUFFIX)  # what is dead of it lies with the lane's
    known = [place for place in places(found) if place.dead]
    for place in known:
        if place.name in (name, f"lane-{name}"):
            return place
    raise NotFound(f"{found.where} has no queue {queue}; there are {', '.join(x.name for x in known)}")


def _look(found: OperatedDeployment, place: QueuePlace, most: int) -> list[Letter]:
    """Return up to so many dead messages, and give all of them back."""
    sqs = found.client("sqs")
    letters: dict[str, Letter] = {}
    receipts = []
    try:
        while len(letters) < most:
            some = receive(sqs, place.dead, hold=HOLD_SECONDS, most=most - len(letters))
            receipts += [x.receipt for x in some]
            fresh = {x.id: x for x in some if x.id not in letters}
            if not fresh:
                break
            letters |= fresh
    finally:
        give_back(sqs, place.dead, receipts)
    return sorted(letters.values(), key=lambda x: x.sent_at)


def _errors(found: OperatedDeployment, place: QueuePlace, letters: Sequence[Letter]) -> list[tuple[Letter, str]]:
    if not letters or not place.url:
        return [(x, x.fault) for x in letters]
    said: dict[str, str] = {}
    unknown = NO_ERROR
    with _allowed() as may:
        said = Errors(found, place.url).since(min(x.first_at or x.sent_at for x in letters))
    if may.denied:
        unknown = f"not known: your identity may not call {may.denied}"
    return [(x, said.get(x.id) or x.fault or unknown) for x in letters]


@dataclass(slots=True)
class _May:
    """The call that an identity may not make, empty if it may make all."""

    denied: str = ""


@contextmanager
def _allowed() -> Iterator[_May]:
    """Note what AWS refuses, of what an operator can do without."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - loads botocore

    may = _May()
    try:
        yield may
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") not in FORBIDDEN:
            raise
        may.denied = error.operation_name


def _rows(
    found: OperatedDeployment, place: QueuePlace, reader: Reader, letters: Sequence[Letter]
) -> list[dict[str, Any]]:
    """Return dead messages with their errors, as they are shown."""
    return [_row(place, reader, x, e) for x, e in _errors(found, place, letters)]


def _row(place: QueuePlace, reader: Reader, letter: Letter, error: str) -> dict[str, Any]:
    about = reader.about(place.kind, letter.body)
    return {
        "message_id": letter.id,
        "since": moment(letter.sent_at),
        "deliveries": letter.deliveries,
        "redrives": letter.redrives,
        "what": about.what if about else None,
        "state": about.state if about else "cannot be read",
        "error": error,
    }


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
        minutes = HOLD_SECONDS // 60
        tell(f"and about {held:,} more are held by another redrive. If it was killed, try again in {minutes} minutes")


def rows(found: OperatedDeployment, now: float) -> list[dict[str, Any]]:
    """Return what is in every queue of the stack, ages in seconds, None if unknown. `now`: Unix seconds."""
    known = places(found)
    sqs = found.client("sqs")
    urls = [url for place in known for url in (place.url, place.dead) if url]
    with ThreadPoolExecutor(WORKERS) as pool:
        counts = dict(zip(urls, pool.map(lambda url: _counts(sqs, url), urls), strict=True))
    ages: dict[str, int] = {}
    with _allowed():
        ages = _ages(found, [url for url in urls if any(counts[url].values())], now)
    return [_amounts(found, place, counts, ages, now) for place in known]


def _amounts(
    found: OperatedDeployment,
    place: QueuePlace,
    counts: Mapping[str, Mapping[str, int]],
    ages: Mapping[str, int],
    now: float,
) -> dict[str, Any]:
    """Return what is in one queue, as `rows` does. `counts` and `ages` (seconds): by the queue's URL."""
    work, dead = counts.get(place.url), counts.get(place.dead)
    lying = dead["waiting"] + dead["in_flight"] if dead else None
    age = ages.get(place.dead)
    if dead and dead["waiting"] and age is None:
        first = min((x.sent_at for x in _look(found, place, 1)), default=0)
        age = max(0, int(now - first / 1000)) if first else None
    return {
        "queue": place.name,
        **{name: work[name] if work else None for name in _COUNTS},
        "oldest": ages.get(place.url),
        "dead": lying,
        "dead_oldest": age if lying else None,
    }


def _counts(sqs: Any, url: str) -> dict[str, int]:
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(_COUNTS.values()))["Attributes"]
    return {name: int(found.get(attribute, 0)) for name, attribute in _COUNTS.items()}


def _ages(found: OperatedDeployment, urls: Sequence[str], now: float) -> dict[str, int]:
    """Return the age of the oldest message of queues in seconds, of those of which CloudWatch knows it."""
    client = found.client("cloudwatch")
    end = datetime.fromtimestamp(now, UTC)
    ages = {}
    for start in range(0, len(urls), MAX_METRICS):
        some = urls[start : start + MAX_METRICS]
        queries = [
            {
                "Id": f"q{n}",
                "MetricStat": {
                    "Metric": {
                        "Namespace": "AWS/SQS",
                        "MetricName": "ApproximateAgeOfOldestMessage",
                        "Dimensions": [{"Name": "QueueName", "Value": url.rpartition("/")[2]}],
                    },
                    "Period": 60,
                    "Stat": "Maximum",
                },
            }
            for n, url in enumerate(some)
        ]
        answer = client.get_metric_data(
            MetricDataQueries=queries,
            StartTime=end - timedelta(minutes=METRIC_MINUTES),
            EndTime=end,
            ScanBy="TimestampDescending",
        )
        for result in answer["MetricDataResults"]:
            if result["Values"]:
                ages[some[int(result["Id"][1:])]] = int(result["Values"][0])
    return ages


def _span(seconds: int | None) -> str | None:
    """Return seconds for people: 45s, 12m, 3h, 5d."""
    if seconds is None:
        return None
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
