"""`make model`: every world whole, then every rule left out once, with the shortest way in which that breaks."""

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.model.configurations import RULES, TASKS, sabotaged
from tests.model.explore import search

PROCESSES: Final = 2
PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"
APART: Final = ("notices", "digests", "hooks", "quotas")
"""Kinds of worlds; the names of theirs begin with it. All others are of sending."""


def main() -> int:
    """Search and print; 1 if a promise breaks, or a rule can be left out without harm."""
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of names; all if there are none")
    asked = parser.parse_args()
    tasks = [(f"all rules: {name}", world) for name, world in TASKS.items()]
    tasks += [(f"without {rule.replace('_', ' ')}", sabotaged(rule)) for rule in RULES]
    if asked.only:
        tasks = [t for t in tasks if any(part in t[0] for part in asked.only)]
    failed = steps = worlds = 0
    states: Counter[str] = Counter()
    with multiprocessing.get_context("spawn").Pool(PROCESSES, maxtasksperchild=1) as pool:
        for name, found, seconds in pool.imap(search, tasks):
            whole = name.startswith("all rules")
            good = whole != bool(found.broken)
            failed += not good
            if whole:
                worlds, steps = worlds + 1, steps + found.steps
                states[_kind(name.removeprefix("all rules: "))] += found.states
            _say(f"{'ok    ' if good else 'FAILED'} {found.states:9,} states {seconds:6.1f} s  {name}")
            if found.broken:
                _say("".join(f"\n           {label}" for label in found.trace)[1:] + f"\n           => {found.broken}")
    left_out = len(tasks) - worlds
    _say(f"{worlds} worlds searched whole: {states.total():,} states, {steps:,} steps; {left_out} rules left out")
    if not asked.only and visited(states) not in PAGE.read_text(encoding="utf-8"):
        failed += 1
        _say(f"{PAGE.name} has other figures: {visited(states)}")
    _say(f"{failed} failed")
    return int(failed > 0)


def visited(states: Mapping[str, int]) -> str:
    """Return how docs/protocol.md states the numbers of states by kind of world."""
    first, *others = (f"{states[kind] / 1e6:.2f}" for kind in ("sending", *APART))
    return (
        "{} million states of sending, {} million of notices, {} million of digests, {} million of hooks and {}".format(
            first, *others
        )
    )


def _kind(world: str) -> str:
    return next((kind for kind in APART if world.startswith(f"{kind}: ")), "sending")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
