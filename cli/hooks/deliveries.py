"""`posthaste hook deliveries | retry | replay`: what was posted, and posting it again."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from cli.deployment import Aws, Stage
from cli.errors import Misused
from cli.hooks.endpoints import Deployment, HookId, app
from cli.hooks.opening import opened_door
from cli.output import Json, emit, emit_or_say, moment, say, surroundings, tables
from cli.spans import span_of

COLUMNS: Final = ("id", "type", "state", "attempts", "created_at", "due_at", "last")
STATES: Final = ("pending", "delivered", "failed")

Delivery = Annotated[str, typer.Argument(metavar="DELIVERY", help="The delivery's id.")]
State = Annotated[str, typer.Option(metavar="STATE", help=f"Only these: {', '.join(STATES)}.")]


@app.command()
def deliveries(
    ctx: typer.Context,
    hook: HookId,
    *,
    state: State = "",
    deployment: Deployment = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """List what waits for an endpoint, then what was posted to it in the last 7 days, newest first."""
    if state and state not in STATES:
        raise Misused(f"a state is one of {', '.join(STATES)}")
    with opened_door(ctx, deployment=deployment, stage=stage, aws=aws) as door:
        tables(COLUMNS, door.deliveries(hook, state), json=json, empty="no deliveries", row=_row)


def _row(item: dict[str, Any]) -> dict[str, Any]:
    attempts = item["attempts"]
    last = attempts[-1] if attempts else None
    return {**item, "attempts": len(attempts), "last": "" if last is None else _answer(last)}


def _answer(attempt: Mapping[str, Any]) -> str:
    """Return the result of an attempt, for people."""
    return f"{attempt.get('status') or attempt.get('error')} in {attempt.get('ms')} ms"


@app.command()
def delivery(
    ctx: typer.Context,
    hook: HookId,
    delivery: Delivery,
    *,
    deployment: Deployment = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Show a delivery with each attempt and its answer."""
    with opened_door(ctx, deployment=deployment, stage=stage, aws=aws) as door:
        found = door.delivery(hook, delivery)
    if json:
        emit(found)
        return
    say(f"delivery {found.get('id')} of {found.get('type')} is {found.get('state')}")
    for attempt in found.get("attempts") or ():
        say(f"  {attempt.get('at')}  {_answer(attempt)}")
    if not found.get("attempts"):
        say("  not posted yet")
    if found.get("due_at"):
        say(f"  next attempt: {found['due_at']}")


@app.command()
def retry(
    ctx: typer.Context,
    hook: HookId,
    delivery: Delivery,
    *,
    deployment: Deployment = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Try a delivery now. Its id and body stay the same."""
    with opened_door(ctx, deployment=deployment, stage=stage, aws=aws) as door:
        found = door.retry(hook, delivery)
    text = f"{found.get('id')} is tried now; what became of it:  posthaste hook deliveries {hook}"
    emit_or_say(found, json=json, text=text)


@app.command()
def replay(
    ctx: typer.Context,
    hook: HookId,
    *,
    since: Annotated[str, typer.Option(metavar="TIME", help="RFC 3339, or a span back from now: 30m, 12h, 2d.")],
    until: Annotated[str, typer.Option(metavar="TIME", help="As --since; default: now.")] = "",
    state: Annotated[str, typer.Option(metavar="STATE", help="Only those: delivered or failed.")] = "",
    deployment: Deployment = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Post the deliveries of a time again, with their ids and bodies. Default: delivered and failed ones."""
    if state and state not in STATES[1:]:
        raise Misused("a state is delivered or failed")
    now = surroundings(ctx).clock.now()
    given = {"since": _time(since, now), "until": _time(until, now) if until else "", "state": state}
    body = {name: value for name, value in given.items() if value}
    with opened_door(ctx, deployment=deployment, stage=stage, aws=aws) as door:
        found = door.replay(hook, body)
    text = f"deliveries since {found.get('since')} are posted again; progress:  posthaste hook show {hook}"
    emit_or_say(found, json=json, text=text)


def _time(text: str, now: float) -> str:
    """Return a time as the API takes it."""
    span = span_of(text)
    return text if span is None else moment(int(max(0.0, now - span) * 1000)) or text
