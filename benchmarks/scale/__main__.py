"""`python -m benchmarks.scale`: minutes of a day of 100 million messages, in fake time; see `day`.

Writes what each scene showed to .local/scale, and with `--docs` all of it into docs/scale.md. Exits with 1 if a
message was sent twice or not at all, or a rate was exceeded. `--scenes` runs some of them.
"""

import argparse
import json
import logging
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Final

from benchmarks.__main__ import ROOT, SCALE, insert
from benchmarks.scale import page
from benchmarks.scale.day import DAY, Run
from benchmarks.scale.page import Shown

OUT: Final = ROOT / ".local" / "scale"
MARK: Final = "<!-- simulated: written by make scale -->"
CORES: Final = 2


def show(name: str, part: float) -> Shown:
    """Run a part of a scene, and keep what it showed."""
    logging.disable(logging.CRITICAL)  # faults that a hiccup causes are told by the hundred
    found = Shown.of(Run(DAY[name].part(part)).run())
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.json").write_text(json.dumps(found.document(), indent=1) + "\n", encoding="utf-8")
    return found


def kept(name: str) -> Shown:
    """Read what a scene showed."""
    return Shown(**json.loads((OUT / f"{name}.json").read_text("utf-8")))


def main() -> int:
    """Run, print and write; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--scenes", nargs="*", choices=list(DAY), default=list(DAY))
    parser.add_argument("--docs", action="store_true", help="also write all that is kept into the page")
    parser.add_argument("--part", type=float, default=1.0, help="of each scene's time")
    given = parser.parse_args()
    with ProcessPoolExecutor(CORES) as pool:
        found = list(pool.map(partial(show, part=given.part), given.scenes))
    if found:
        print(page.markdown(found))
    if given.docs:
        insert(SCALE, page.markdown([kept(name) for name in DAY]), MARK)
    return int(any(x.twice or x.left or x.worst > 100 for x in found))  # noqa: PLR2004 - percent


if __name__ == "__main__":
    sys.exit(main())
