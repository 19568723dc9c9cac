"""The rows of `make bench` that depend on the machine: which benchmark measures which figure, and its goal."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.rig import rows
from benchmarks.rig.rows import Row, named

ROOT: Final = Path(__file__).resolve().parents[2]
SENDER: Final = ("sender", "--messages", "20000")
MANY: Final = ("sender", "--messages", "60000", "--per-call", "0")
US: Final = "{measured:.0f} as measured"
SECONDS: Final = "{measured:.1f} as measured"


@dataclass(frozen=True, slots=True)
class Timed:
    """A row.

    Attributes:
        run: module of `benchmarks` and its arguments.
        figure: key in the line that it prints.
        goal: in `unit`.
        note: beside the result, of the time as `measured` and as `scaled` to the reference's speed.
        scaled: whether the result is the time at the reference's speed.
        more: whether the goal is the least.
    """

    metric: str
    run: tuple[str, ...]
    figure: str
    goal: float
    unit: str
    note: str = ""
    scaled: bool = False
    more: bool = False

    def row(self, line: dict[str, float]) -> Row:
        """Return the row of what a run has printed."""
        measured = line[self.figure]
        scaled = measured / line["slowness"]
        note = f" ({self.note.format(measured=measured, scaled=scaled)})" if self.note else ""
        return Row(self.metric, scaled if self.scaled else measured, self.goal, f"{self.unit}{note}", more=self.more)


TIMED: Final = (
    Timed(rows.SPEED, SENDER, "per_second", 3000, "messages/s", more=True),
    Timed(rows.SPEED_MANY, MANY, "per_second", 5000, "messages/s", more=True),
    Timed(rows.CPU, SENDER, "cpu_us", 250, "us", US, scaled=True),
    Timed(rows.CPU_DEPLOYED, ("deployed",), "cpu_us", 300, "us", US, scaled=True),
    Timed(rows.CPU_SINGLE, ("deployed", "--single", "--messages", "600"), "cpu_us", 8000, "us", US, scaled=True),
    Timed(rows.CPU_OWN, (*SENDER, "--campaign"), "cpu_us", 250, "us", US, scaled=True),
    Timed(rows.FEEDBACK_CPU, ("feedback",), "cpu_us", 100, "us", US, scaled=True),
    Timed(named(rows.UPLOAD, "CPU time"), ("upload",), "cpu_s", 10, "s", "{scaled:.1f} at the reference's speed"),
    Timed(named(rows.UPLOAD, "peak memory"), ("upload",), "rss_mb", 128, "MB"),
    Timed(named(rows.EXPORT, "CPU time"), ("export",), "cpu_s", 120, "s", SECONDS, scaled=True),
    Timed(named(rows.EXPORT, "peak memory"), ("export",), "rss_mb", 128, "MB"),
    Timed(named(rows.DIGEST_MAKING, "CPU time"), ("making",), "cpu_s", 5, "s", SECONDS, scaled=True),
    Timed(named(rows.DIGEST_MAKING, "peak memory"), ("making",), "rss_mb", 256, "MB"),
)


def alone(module: str, *arguments: str) -> dict[str, float]:
    """Run one of the benchmarks in a process of its own."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure() -> list[Row]:
    """Run each benchmark once and return the rows; print what no row has."""
    lines = {run: alone(*run) for run in dict.fromkeys(x.run for x in TIMED)}
    far, adapter = alone(*SENDER, "--distance-ms", "4"), alone("sender", "--adapter")["adapter_ms"]
    print(f"sender, store 4 ms away: {far['per_second']:.0f} messages/s; DynamoDB's client: {adapter:.1f} ms a window")
    print(f"the sender's machine took {lines[SENDER]['slowness']:.2f} of the reference's time for the calibration loop")
    return [x.row(lines[x.run]) for x in TIMED]
