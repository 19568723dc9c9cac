"""`python -m benchmarks.scale`: minutes of a day of 100 million messages, in fake time; see `day`.

Writes what each scene showed to .local/scale, and with `--docs` all of it into docs/scale.md. At the end it prints each
goal with what was found. Exits with 1 if one is missed. `--scenes` runs some of the scenes, and checks their goals.
"""

import argparse
import json
import logging
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Final

from benchmarks.__main__ import ROOT, SCALE, insert
from benchmarks.scale import bounds, goals, hot, page
from benchmarks.scale.day import Run
from benchmarks.scale.page import Shown
from benchmarks.scale.scenes import DAY

OUT: Final = ROOT / ".local" / "scale"
MARK: Final = "<!-- simulated: written by make scale -->"
BOUNDS_MARK: Final = "<!-- bounds: written by make scale -->"
CORES: Final = 2
NOON: Final = "busiest"
"""The scene whose write units are those of noon."""


def show(name: str, part: float) -> Shown:
    """Run a part of a scene, and keep what it showed."""
    logging.disable(logging.CRITICAL)  # faults that a hiccup causes are told by the hundred
    begun = time.process_time()
    found = Shown.of(Run(DAY[name].part(part)).run())
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.json").write_text(json.dumps(found.document(), indent=1) + "\n", encoding="utf-8")
    print(f"{name}: {found.messages:,} messages in {time.process_time() - begun:.0f} s of a processor", flush=True)
    return found


def kept(name: str) -> Shown:
    """Read what a scene showed."""
    return Shown(**json.loads((OUT / f"{name}.json").read_text("utf-8")))


def run(names: Sequence[str], part: float) -> dict[str, Shown]:
    """Run scenes, those that take the longest first; a fault of one is raised."""
    with ProcessPoolExecutor(CORES) as pool:
        begun: dict[str, Future[Shown]] = {}
        for name in sorted(names, key=lambda x: -DAY[x].work):
            begun[name] = pool.submit(show, name, part)
        return {name: begun[name].result() for name in names}


def main() -> int:
    """Run, print and write; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--scenes", nargs="*", choices=list(DAY), default=list(DAY))
    parser.add_argument("--docs", action="store_true", help="also write all that is kept into the page")
    parser.add_argument("--part", type=float, default=1.0, help="of each scene's time")
    given = parser.parse_args()
    found = run(given.scenes, given.part)
    shown = {name: kept(name) for name in DAY} if given.docs else found
    print(page.markdown(list(shown.values())))
    met = goals.goals(shown)
    print(f"\n{goals.markdown(met)}")
    if given.docs:
        insert(SCALE, f"{page.markdown(list(shown.values()))}\n\n{goals.markdown(met)}", MARK)
        insert(SCALE, bounds.markdown(bounds.bounds(hot.measured(), shown[NOON].written)), BOUNDS_MARK)
    return int(not all(x.met for x in met))


if __name__ == "__main__":
    sys.exit(main())
