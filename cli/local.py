"""`posthaste local up | down | status | fail`: the cloud on this machine, and trouble with its providers."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli.environment import URL, local_cloud
from cli.errors import ExitCode, Failed, Misused, NotFound, Unreachable
from cli.output import Json, emit, emit_all, say, table, tell
from cli.parts import check_checkout
from infra.local.paths import paths, read_env

if TYPE_CHECKING:
    from simulator.client import ControlClient

app = typer.Typer(
    help="The cloud on this machine: emulator, real deployment, simulated providers.", no_args_is_help=True
)

# -P: whatever lies in the current folder is not imported.
MODULE: Final = "infra.local"
COMMAND: Final = (sys.executable, "-P", "-m", MODULE)
SIMULATOR: Final = "SIMULATOR_URL"
NO_CLOUD: Final = "no local cloud is up: start one with `posthaste local up`"


class Trouble(StrEnum):
    """How a simulated provider fails."""

    DOWN = "503"
    LIMITED = "429"
    SLOW = "slow"
    DROP = "drop"
    OFF = "off"


RULES: Final[Mapping[Trouble, Mapping[str, Any]]] = {
    Trouble.DOWN: {"mode": "503"},
    Trouble.LIMITED: {"mode": "429", "retry_after_s": 5},
    Trouble.SLOW: {"mode": "slow", "after_s": 15},
    Trouble.DROP: {"mode": "accept_and_drop"},
    Trouble.OFF: {},
}
"""The simulator's faults of each trouble."""
EFFECTS: Final[Mapping[Trouble, str]] = {
    Trouble.DOWN: "answers 503 to every call; its breaker opens, and other credentials of the route take over",
    Trouble.LIMITED: "answers 429 to every call, with Retry-After: 5; its rate falls",
    Trouble.SLOW: "answers 15 seconds late",
    Trouble.DROP: "takes each message and closes the connection without an answer: its outcome is unknown",
    Trouble.OFF: "works again; a breaker that is open closes after its next probe",
}
COLUMNS: Final = ("credential", "provider", "trouble", "calls_hit")


@app.command()
def up(json: Json = False) -> None:
    """Start the local cloud, or update it, and leave it running."""
    _run("up", json=json)


@app.command()
def down(json: Json = False) -> None:
    """Stop the local cloud."""
    _run("down", json=json)


@app.command()
def status(json: Json = False) -> None:
    """Show which parts run. The exit code is 1 if not all do."""
    _run("status", json=json)


@app.command()
def fail(
    credential: Annotated[
        str, typer.Argument(metavar="[CREDENTIAL]", help="Its id; without one, show how all providers do.")
    ] = "",
    trouble: Annotated[
        Trouble | None, typer.Argument(metavar="[503|429|slow|drop|off]", help="What its provider does from now on.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--for", min=1, metavar="SECONDS", help="How long; default: until `off`.")
    ] = None,
    share: Annotated[float, typer.Option(min=0, max=1, help="The share of calls that it hits.")] = 1,
    json: Json = False,
) -> None:
    """Make a simulated provider of the local cloud fail, to rehearse an incident. It never reaches a real one.

    503: it is down. 429: too many requests. slow: it answers 15 seconds late. drop: it takes each message and gives no
    answer. off: it works again.
    """
    if bool(credential) != (trouble is not None):
        raise Misused("name a credential and what happens to it, for example: posthaste local fail CREDENTIAL 503")
    with _simulator() as control:
        known = _providers(control)
        if trouble is None:
            _show(known, json=json)
            return
        provider = _provider(known, credential)
        rule = {**RULES[trouble], "seconds": seconds, "probability": share} if RULES[trouble] else {}
        control.faults(provider, credential, **rule)
    if json:
        emit({"credential": credential, "provider": provider, "trouble": trouble.value, "seconds": seconds})
        return
    say(f"{credential} ({provider}) {EFFECTS[trouble]}")
    if RULES[trouble] and not seconds:
        tell(f"to end it:  posthaste local fail {credential} off")


def _provider(known: list[dict[str, Any]], credential: str) -> str:
    """Return the provider of a credential; NotFound if the simulator serves none."""
    found = {str(x["credential"]): str(x["provider"]) for x in known}
    if credential not in found:
        raise NotFound(f"no simulated provider for {credential}; there are {', '.join(found)}")
    return found[credential]


@contextmanager
def _simulator() -> Iterator["ControlClient"]:
    """Yield the control of the local cloud's simulator."""
    from simulator.client import ControlClient, ControlError  # noqa: PLC0415 - other commands need no simulator

    cloud = local_cloud()
    if cloud is None or not cloud.values.get(SIMULATOR):
        raise Failed(NO_CLOUD)
    try:
        yield ControlClient(cloud.values[SIMULATOR], timeout=10)
    except ControlError as error:
        raise Failed(f"the simulator refused it: {error}") from None
    except OSError:
        raise Unreachable("the local cloud's simulator does not answer: see `posthaste local status`") from None


def _providers(control: "ControlClient") -> list[dict[str, Any]]:
    """Return the credentials that the simulator serves, with their trouble."""
    found = control.json("GET", "/_control")["credentials"]
    return [
        {"provider": provider, "credential": credential, **_trouble(found[f"{provider}/{credential}"]["faults"])}
        for provider, _, credential in sorted(name.partition("/") for name in found)
    ]


def _trouble(faults: Mapping[str, Any]) -> dict[str, Any]:
    rules = faults.get("rules") or []
    words = {rule["mode"]: trouble.value for trouble, rule in RULES.items() if rule}
    return {
        "trouble": ", ".join(words.get(rule["mode"], rule["mode"]) for rule in rules) or None,
        "calls_hit": sum(faults.get("hits") or ()),
    }


def _show(known: list[dict[str, Any]], *, json: bool) -> None:
    if json:
        emit_all(known)
        return
    rows = [{**x, "trouble": x["trouble"] or "none"} for x in known]
    table(COLUMNS, rows, empty="the simulator serves no credential yet")


def _run(word: str, *, json: bool) -> None:
    """Run the local cloud's own command; with `json` its progress goes to stderr."""
    check_checkout(f"{MODULE}.__main__")
    child = subprocess.Popen([*COMMAND, word], stdout=sys.stderr.fileno() if json else None)
    code = _wait(child)
    if json:
        emit(_document(running=code == 0 and word != "down"))
    if code == ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if code and word == "status":
        raise typer.Exit(ExitCode.FAILED)
    if code:
        raise Failed(f"`local {word}` failed: see the reason above, and the logs in {paths().home / 'logs'}")


def _wait(child: "subprocess.Popen[bytes]") -> int:
    """Wait for the child, also through Ctrl-C: the terminal sent it to the child as well, which ends in order."""
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


def _document(*, running: bool) -> dict[str, Any]:
    file = paths().env
    return {"running": running, "url": read_env(file).get(URL) if running else None, "settings": str(file)}
