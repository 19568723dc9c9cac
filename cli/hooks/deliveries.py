"""`posthaste hook deliveries | retry | replay`: what was posted, and posting it again."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from cli.errors import Misused
from cli.hooks.endpoints import HookId, app
from cli.hooks.opening import HookOwner, of_owner
from cli.output import Json, emit, emit_or_say, moment, say, surroundings, tables
from cli.spans import span_of

COLUMNS: Final = ("id", "type", "state", "attempts", "created_at", "due_at", "last")
STATES: Final = ("pending", "delivered", "failed")

Delivery = Annotated[str, typer.Argument(metavar="DELIVERY", help="The delivery's id.")]
State = Annotated[str, typer.Option(metavar="STATE", help=f"Only these: {', '.join(STATES)}.")]


@of_owner(app)
def deliveries(owner: HookOwner, hook: HookId, *, state: State = "", json: Json = False) -> None:
    """List what waits for an endpoint, then what was posted to it in the last 7 days, newest first."""
    if state and state not in STATES:
        raise Misused(f"a state is one of {', '.join(STATES)}")
    with owner.door() as door:
        tables(COLUMNS, door.deliveries(hook, state), json=json, empty="no deliveries", row=_row)


def _row(item: dict[str, Any]) -> dict[str, Any]:
    attempts = item["attempts"]
    last = attempts[-1] if attempts else None
    return {**item, "attempts": len(attempts), "last": "" if last is None else _answer(last)}


def _answer(attempt: Mapping[str, Any]) -> str:
    """Return the result of an attempt, for people."""
    return f"{attempt.get('status') or attempt.get('error')} in {attempt.get('ms')} ms"


@of_owner(app)
def delivery(owner: HookOwner, hook: HookId, delivery: Delivery, *, json: Json = False) -> None:
    """Show a delivery with each attempt and its answer."""
    with owner.door() as door:
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


@of_owner(app)
def retry(owner: HookOwner, hook: HookId, delivery: Delivery, *, json: Json = False) -> None:
    """Try a delivery now. Its id and body stay the same."""
    with owner.door() as door:
        found = door.retry(hook, delivery)
    text = f"{found.get('id')} is tried now; what became of it:  posthaste hook deliveries {hook}"
    emit_or_say(found, json=json, text=text)


@of_owner(app)
def replay(
    owner: HookOwner,
    hook: HookId,
    *,
    since: Annotated[str, typer.Option(metavar="TIME", help="RFC 3339, or a span back from now: 30m, 12h, 2d.")],
    until: Annotated[str, typer.Option(metavar="TIME", help="As --since; default: now.")] = "",
    state: Annotated[str, typer.Option(metavar="STATE", help="Only those: delivered or failed.")] = "",
    json: Json = False,
) -> None:
    """Post the deliveries of a time again, with their ids and bodies. Default: delivered and failed ones."""
    if state and state not in STATES[1:]:
        raise Misused("a state is delivered or failed")
    now = surroundings(owner.ctx).clock.now()
    given = {"since": _time(since, now), "until": _time(until, now) if until else "", "state": state}
    body = {name: value for name, value in given.items() if value}
    with owner.door() as door:
        found = door.replay(hook, body)
    text = f"deliveries since {found.get('since')} are posted again; progress:  posthaste hook show {hook}"
    emit_or_say(found, json=json, text=text)


def _time(text: str, now: float) -> str:
    """Return a time as the API takes it."""
    span = span_of(text)
    return text if span is None else moment(int(max(0.0, now - span) * 1000)) or text
