"""`python -m benchmarks`: measure, print the table of goals and results, write .local/bench.json.

Exits with 1 if a counted row misses its goal, or if docs/cost.md, docs/performance.md or docs/scale.md differ from the
counted figures. Those figures are the same on every machine. Timed rows only report. A calibration loop in the same
run measures the machine's speed.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import latency, starts
from benchmarks.bills import told
from benchmarks.counting import (
    clinic,
    counted,
    dead,
    digests,
    due,
    express,
    finished,
    hook_delay,
    hooks,
    notices,
    rest,
    sweep,
)
from benchmarks.rig import rows, timed
from benchmarks.rig.machine import REFERENCE_S, calibrate
from benchmarks.rig.rows import Row
from benchmarks.scale import hot

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / ".local" / "bench.json"
COST = ROOT / "docs" / "cost.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
SCALE = ROOT / "docs" / "scale.md"
MARK = "<!-- written by python -m benchmarks --docs -->"
REST_MARK = "<!-- at rest: written by python -m benchmarks --docs -->"
STEADY_MARK = "<!-- steady: written by python -m benchmarks --docs -->"
HOT_MARK = "<!-- hot partitions: written by python -m benchmarks --docs -->"
SINGLES_MARK = "<!-- single messages: written by python -m benchmarks --docs -->"
COUNTED: tuple[Callable[[], list[Row]], ...] = (
    counted.windows,
    counted.one,
    counted.feedback,
    counted.scattered,
    counted.ending,
    dead.measure,
    sweep.measure,
    counted.fairness,
    express.measure,
    counted.limits,
    counted.killed,
    notices.measure,
    clinic.measure,
    due.measure,
    digests.measure,
    finished.measure,
    hooks.measure,
    hook_delay.measure,
    hot.measure,
)
"""The measurements that are counted, in the order of the table."""


def printed(page: Path, mark: str = MARK) -> str:
    """Return what is between a page's two markers. Raises ValueError if it lacks them."""
    return _parts(page, mark)[1].strip("\n")


def insert(page: Path, block: str, mark: str = MARK) -> None:
    """Replace what is between a page's two markers. Raises ValueError if it lacks them.

    Args:
        block: the new text between the markers.
        mark: the marker, before and after it.
    """
    head, _, tail = _parts(page, mark)
    page.write_text(f"{head}{mark}\n{block}\n{mark}{tail}", encoding="utf-8")


def _parts(page: Path, mark: str) -> tuple[str, str, str]:
    head, begin, after = page.read_text(encoding="utf-8").partition(mark)
    block, end, tail = after.partition(mark)
    if not begin or not end:
        raise ValueError(f"{page.name} lacks its markers")
    return head, block, tail


def main() -> int:
    """Measure, print and write; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--counted", action="store_true", help="only the rows that gate: some minutes")
    parser.add_argument("--docs", action="store_true", help="also write the figures into the pages")
    options = parser.parse_args()
    loop = calibrate()
    found = [row for measure in COUNTED for row in measure()]
    bills, priced = told.costs()
    found += bills
    pages = {
        (COST, MARK): told.markdown(priced),
        (COST, REST_MARK): rest.markdown(),
        (COST, STEADY_MARK): told.steady(priced),
        (PERFORMANCE, SINGLES_MARK): express.markdown(),
        (SCALE, HOT_MARK): hot.markdown(),
    }
    print(told.markdown(priced) + "\n")
    if options.docs:
        for (page, mark), block in pages.items():
            insert(page, block, mark)
    if not options.counted:
        found += _measured(loop)
    print(rows.table(found))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps([r.document() for r in found], indent=1) + "\n", encoding="utf-8")
    missed = _missed(found, pages)
    for name in missed:
        print(f"missed: {name}", file=sys.stderr)
    print(f"\n{rows.summary(found)}")
    return 1 if missed else 0


def _missed(found: list[Row], pages: dict[tuple[Path, str], str]) -> list[str]:
    missed = [r.name for r in found if r.counted and not r.met]
    old = dict.fromkeys(page.name for (page, mark), block in pages.items() if printed(page, mark) != block)
    return missed + [f"{name} has other figures: python -m benchmarks --counted --docs" for name in old]


def _measured(loop: float) -> list[Row]:
    """Measure what takes time, and print how quick this machine is. `loop`: seconds of the calibration."""
    cold, bare = starts.measure()
    print(
        f"bare boto3: {bare:.0f} ms; calibration loop: {loop * 1000:.0f} ms "
        f"({loop / REFERENCE_S:.2f} of the reference)\n"
    )
    return [*timed.measure(), *latency.measured(), *cold]


if __name__ == "__main__":
    sys.exit(main())
