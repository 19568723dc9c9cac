"""`python -m infra.local up | down | status | with -- COMMAND`: the laptop cloud from the command line."""

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from infra.local import cloud
from infra.local.command import at_terminal, show
from infra.local.paths import ENV_CLOUDS, ENV_LOCAL, Paths, several


def main(arguments: Sequence[str]) -> int:
    """Run one command; return the exit code."""
    options = _options(arguments)
    return at_terminal(lambda where: _carried_out(options, where))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the command, and what is given with it."""
    parser = argparse.ArgumentParser(prog="python -m infra.local", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, meaning in (
        ("up", "start the local cloud, or bring it up to date"),
        ("down", "stop it"),
        ("status", "show what runs"),
    ):
        commands.add_parser(name, help=meaning)
    within = commands.add_parser("with", help="start it, run a command, stop it")
    for parsed in (commands.choices["up"], within):
        parsed.add_argument(
            "--lanes",
            type=Path,
            help="a JSON list of credentials beside those of cdk.json",
        )
    within.add_argument(
        "--clouds",
        type=int,
        default=1,
        help=f"start so many, each in a folder of its own; the command finds them in {ENV_CLOUDS}",
    )
    within.add_argument("words", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def _carried_out(options: argparse.Namespace, where: Paths) -> int:
    """Carry out a command; return the exit code."""
    match options.command:
        case "up":
            show(cloud.up(where, options.lanes))
        case "down":
            cloud.down(where)
        case "status":
            return 0 if cloud.status(where) else 1
        case _:
            words = [w for w in options.words if w != "--"] or ["true"]
            return run_with(several(where, options.clouds), words, options.lanes)
    return 0


def run_with(wheres: Sequence[Paths], words: Sequence[str], lanes: Path | None) -> int:
    """Run a command with the settings of the first cloud; the folders of all are in ENV_CLOUDS.

    Args:
        wheres: the clouds; those that did not run before end with the command.
        lanes: a file with credentials that each cloud has beside those of `cdk.json`.

    Returns:
        The command's exit code.
    """
    with contextlib.ExitStack() as stack:
        for where in wheres:
            stack.enter_context(cloud.ended(where))
        with ThreadPoolExecutor(len(wheres)) as pool:
            first, *_ = list(pool.map(lambda where: cloud.up(where, lanes), wheres))
        environment = {
            **os.environ,
            **first.env,
            ENV_LOCAL: str(first.paths.home),
            ENV_CLOUDS: os.pathsep.join(str(x.home) for x in wheres),
        }
        return subprocess.run(words, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
