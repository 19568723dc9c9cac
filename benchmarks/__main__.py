"""`python -m benchmarks`: measure, print the table of goals and results, write .local/bench.json.

Exits with 1 if a counted row misses its goal, or if docs/cost.md differs from the counted figures. Those figures are
the same on every machine. Timed rows only report. A calibration loop in the same run measures the machine's speed.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benchmarks import latency, starts
from benchmarks.counting import clinic, cost, counted, digests, due, finished, hook_delay, hooks, notices, rest
from benchmarks.rig import rows
from benchmarks.rig.machine import REFERENCE_S, calibrate
from benchmarks.rig.rows import Row

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / ".local" / "bench.json"
COST = ROOT / "docs" / "cost.md"
MARK = "<!-- written by python -m benchmarks --docs -->"
REST_MARK = "<!-- at rest: written by python -m benchmarks --docs -->"


def alone(module: str, *arguments: str) -> dict[str, float]:
    """Run one of the benchmarks in a process of its own."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def timed() -> list[Row]:
    """The rows that depend on the machine."""
    single = alone("sender", "--messages", "20000")
    own = alone("sender", "--messages", "20000", "--campaign")
    real = alone("deployed")
    far = alone("sender", "--messages", "20000", "--distance-ms", "4")
    many = alone("sender", "--messages", "60000", "--per-call", "0")
    adapter = alone("sender", "--adapter")["adapter_ms"]
    print(f"sender, store 4 ms away: {far['per_second']:.0f} messages/s; DynamoDB's client: {adapter:.1f} ms a window")
    print(f"the sender's machine took {single['slowness']:.2f} of the reference's time for the calibration loop")
    event = alone("feedback")
    event_us = event["cpu_us"] / event["slowness"]
    upload = alone("upload")
    upload_s = upload["cpu_s"] / upload["slowness"]
    export = alone("export")
    export_s = export["cpu_s"] / export["slowness"]
    window = alone("making")
    window_s = window["cpu_s"] / window["slowness"]
    return [
        Row(rows.SPEED, single["per_second"], 3000, "messages/s", more=True),
        Row(rows.SPEED_MANY, many["per_second"], 5000, "messages/s", more=True),
        Row(rows.CPU, single["cpu_us"] / single["slowness"], 250, f"us ({single['cpu_us']:.0f} as measured)"),
        Row(rows.CPU_DEPLOYED, real["cpu_us"] / real["slowness"], 300, f"us ({real['cpu_us']:.0f} as measured)"),
        Row(rows.CPU_OWN, own["cpu_us"] / own["slowness"], 250, f"us ({own['cpu_us']:.0f} as measured)"),
        Row(rows.FEEDBACK_CPU, event_us, 100, f"us ({event['cpu_us']:.0f} as measured)"),
        Row(rows.named(rows.UPLOAD, "CPU time"), upload["cpu_s"], 10, f"s ({upload_s:.1f} at the reference's speed)"),
        Row(rows.named(rows.UPLOAD, "peak memory"), upload["rss_mb"], 128, "MB"),
        Row(rows.named(rows.EXPORT, "CPU time"), export_s, 120, f"s ({export['cpu_s']:.1f} as measured)"),
        Row(rows.named(rows.EXPORT, "peak memory"), export["rss_mb"], 128, "MB"),
        Row(rows.named(rows.DIGEST_MAKING, "CPU time"), window_s, 5, f"s ({window['cpu_s']:.1f} as measured)"),
        Row(rows.named(rows.DIGEST_MAKING, "peak memory"), window["rss_mb"], 256, "MB"),
    ]


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
    parser.add_argument("--docs", action="store_true", help="also write the figures into docs/cost.md")
    options = parser.parse_args()
    loop = calibrate()
    found = _counted()
    bills, priced = counted.costs()
    found += bills
    pages = {MARK: cost.markdown(priced), REST_MARK: rest.markdown()}
    print(cost.table(priced) + "\n")
    if options.docs:
        for mark, block in pages.items():
            insert(COST, block, mark)
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


def _missed(found: list[Row], pages: dict[str, str]) -> list[str]:
    missed = [r.name for r in found if r.counted and not r.met]
    if any(printed(COST, mark) != block for mark, block in pages.items()):
        missed.append(f"{COST.name} has other figures: python -m benchmarks --counted --docs")
    return missed


def _counted() -> list[Row]:
    return (
        counted.windows()
        + counted.one()
        + counted.feedback()
        + counted.scattered()
        + counted.ending()
        + counted.dead_provider()
        + counted.sweeping()
        + counted.fairness()
        + counted.limits()
        + counted.killed()
        + notices.measure()
        + clinic.measure()
        + due.measure()
        + digests.measure()
        + finished.measure()
        + hooks.measure()
        + hook_delay.measure()
    )


def _measured(loop: float) -> list[Row]:
    """Measure what takes time, and print how quick this machine is. `loop`: seconds of the calibration."""
    cold, bare = starts.measure()
    print(
        f"bare boto3: {bare:.0f} ms; calibration loop: {loop * 1000:.0f} ms "
        f"({loop / REFERENCE_S:.2f} of the reference)\n"
    )
    return [*timed(), latency.row(), *cold]


if __name__ == "__main__":
    sys.exit(main())
