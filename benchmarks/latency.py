"""From a client's 202 to the provider's call, on a local cloud: batches of one, one after the other.

Both clocks are this machine's: the client's at the answer, the simulator's at the arrival, which may come before it.
Uses a local cloud of its own in `.local/bench`: one that runs there is used and left running, else it is started and
stopped again.
"""

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.rig import rows
from benchmarks.rig.rows import Row, named
from examples.demo.api import call
from infra.local import cloud as local_cloud
from infra.local.cloud import Cloud
from infra.local.paths import ENV_LOCAL, Paths, paths
from infra.local.processes import wait_for
from simulator.client import ControlClient

ROOT: Final = Path(__file__).resolve().parent.parent
HOME: Final = ROOT / ".local" / "bench"
WARM: Final = 3
"""Batches before those that count: the functions' first starts are measured elsewhere."""
COUNT: Final = 30
GOAL_MS: Final = 500
SECONDS: Final = 60


def measure(running: Cloud) -> list[float]:
    """Return, for each batch, the seconds from the answer to the arrival; 0 if the call was there first."""
    control = ControlClient(running.env["SIMULATOR_URL"])
    taken = []
    for n in range(WARM + COUNT):
        to = f"silent+{uuid.uuid4().hex[:10]}@example.com"
        since = time.time() - 1
        body = {"from": "news@example.com", "to": [to], "subject": "Hello", "text": "Hello"}
        call(running, "POST", "/batches", body)
        answered = time.time()
        arrived: list[float] = []

        def there(since: float = since, to: str = to, arrived: list[float] = arrived) -> bool:
            arrived.extend(row["at"] for row in control.log(since=since) if row["recipient"] == to)
            return bool(arrived)

        if not wait_for(there, SECONDS, pause=0.02):
            raise RuntimeError("a batch of one was not sent")
        if n >= WARM:
            taken.append(max(0.0, arrived[0] - answered))
    return taken


def row() -> Row:
    """Measure in a cloud of the benchmark's own, in a process that sees nothing of the developer's AWS."""
    command = [sys.executable, "-m", "infra.local", "with", "--", sys.executable, "-m", "benchmarks.latency"]
    environment = {**os.environ, ENV_LOCAL: str(HOME)}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return Row(named(rows.ONE, "time to the provider"), float(done.stdout.split("p50 ")[-1].split()[0]), GOAL_MS, "ms")


def main() -> None:
    """Measure in the cloud that is up."""
    where: Paths = paths()
    taken = sorted(measure(local_cloud.current(where)))
    worst = taken[round(0.95 * (len(taken) - 1))]
    print(f"p50 {median(taken) * 1000:.1f} ms, p95 {worst * 1000:.1f} ms of {len(taken)} batches of one")


if __name__ == "__main__":
    main()
