"""`posthaste local up | down | status`: the cloud on this machine."""

import subprocess
import sys
from typing import Any, Final

import typer

from cli.environment import URL
from cli.errors import ExitCode, Failed
from cli.output import Json, emit
from cli.parts import check_checkout
from infra.local.paths import paths, read_env

app = typer.Typer(
    help="The cloud on this machine: emulator, real deployment, simulated providers.", no_args_is_help=True
)

# -P: whatever lies in the current folder is not imported.
MODULE: Final = "infra.local"
COMMAND: Final = (sys.executable, "-P", "-m", MODULE)


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
