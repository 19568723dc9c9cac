"""`posthaste rehash`: moves stored hashes of addresses to the deployment's key, once, and after a key was added."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer

from cli.asking import Yes, check_can_ask, confirm
from cli.deployment import Aws, Stage
from cli.operating.door import OperatorClient, door
from cli.output import Json, Surroundings, counted, emit, moment, say, surroundings
from cli.progress.meters import meter

ANNOUNCED: Final = "announced"
MOVING: Final = "moving"
LOOK: Final = 30.0
"""Seconds after which a command that waits shows the time again."""
QUESTION: Final = (
    "Key the stored hashes of addresses of {where}? It takes 22 minutes and more. Begin it 15 minutes after the last "
    "deploy ended. From then on deploy no version that is older than keyed hashes: it would not see who is suppressed."
)


def rehash(
    ctx: typer.Context,
    *,
    look: Annotated[bool, typer.Option("--look", help="Show how far it is, and change nothing.")] = False,
    yes: Yes = False,
    stage: Stage = "",
    aws: Aws = False,
    json: Json = False,
) -> None:
    """Move stored hashes of addresses to the latest key. You can interrupt it at any time; repeat it to continue."""
    around = surroundings(ctx)
    check_can_ask(around, yes=yes or look, json=json)
    with door(ctx, stage, aws=aws) as (client, found):
        state: Mapping[str, Any] = client.get("/hashes")
        if not look and _is_left(state):
            if state["phase"] not in (ANNOUNCED, MOVING):
                confirm(around, QUESTION.format(where=found.full_name), yes=yes, json=json)
            state = _moved(client, around, quiet=json)
    if json:
        emit({**state, **{name: moment(state[name]) for name in ("announced_at", "begins_at", "ended_at")}})
    else:
        say(f"{_sentence(state)} ({found.full_name})")


def _is_left(state: Mapping[str, Any]) -> bool:
    return bool(state["generation"] < max(state["keys"], state["target"], 1))


def _moved(client: OperatorClient, around: Surroundings, *, quiet: bool) -> Mapping[str, Any]:
    """Announce the key, wait, and move; return the state at the end."""
    state: Mapping[str, Any] = client.send("POST", "/hashes/move", {})
    with meter("waiting", terminal=around.terminal, quiet=quiet) as shown:
        begins, first = state["begins_at"] / 1000, around.clock.now()
        while state["phase"] == ANNOUNCED and around.clock.now() < begins:
            now = around.clock.now()
            shown((now - first) / (begins - first), f"all functions learn of the key; moves from {_time(begins)} on")
            around.clock.sleep(min(LOOK, begins - now))
        shown(1.0, "")
    with meter("moving", terminal=around.terminal, quiet=quiet) as shown:
        while state["phase"] in (ANNOUNCED, MOVING):
            shown(0.0, counted(state["moved"], "entry").replace("entrys", "entries"))
            state = client.send("POST", "/hashes/move", {})
            if state["phase"] == ANNOUNCED:  # the clock of this machine is ahead
                around.clock.sleep(LOOK)
        shown(1.0, "")
    return state


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S UTC")


def _sentence(state: Mapping[str, Any]) -> str:
    """Return how far it is, for people."""
    match state["phase"]:
        case "plain":
            return "hashes of addresses have no key: run posthaste rehash"
        case "announced":
            return f"announced; entries are moved from {moment(state['begins_at'])} on: repeat posthaste rehash then"
        case "moving":
            return f"under way, entries moved: {state['moved']:,}: repeat posthaste rehash"
    if state["generation"] < state["keys"]:
        return f"hashes have key {state['generation']} of {state['keys']}: run posthaste rehash"
    return f"all hashes of addresses have the latest key; entries moved: {state['moved']:,}"
