"""`make model`: every world whole, then every rule left out once, with the shortest way in which that breaks."""

import argparse
import multiprocessing
import sys
from typing import Final

from tests.model.configurations import RULES, TASKS, sabotaged
from tests.model.explore import search

PROCESSES: Final = 2


def main() -> int:
    """Search and print; 1 if a promise breaks, or a rule can be left out without harm."""
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of names; all if there are none")
    asked = parser.parse_args()
    tasks = [(f"all rules: {name}", world) for name, world in TASKS.items()]
    tasks += [(f"without {rule.replace('_', ' ')}", sabotaged(rule)) for rule in RULES]
    if asked.only:
        tasks = [t for t in tasks if any(part in t[0] for part in asked.only)]
    failed = states = steps = worlds = 0
    with multiprocessing.get_context("spawn").Pool(PROCESSES, maxtasksperchild=1) as pool:
        for name, found, seconds in pool.imap(search, tasks):
            whole = name.startswith("all rules")
            good = whole != bool(found.broken)
            failed += not good
            if whole:
                worlds, states, steps = worlds + 1, states + found.states, steps + found.steps
            _say(f"{'ok    ' if good else 'FAILED'} {found.states:9,} states {seconds:6.1f} s  {name}")
            if found.broken:
                _say("".join(f"\n           {label}" for label in found.trace)[1:] + f"\n           => {found.broken}")
    _say(f"{worlds} worlds searched whole: {states:,} states, {steps:,} steps; {len(tasks) - worlds} rules left out")
    _say(f"{failed} failed")
    return int(failed > 0)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
