"""From a client's 202 to the provider's call, on a local cloud: batches of one, one after the other, then many at once.

Both clocks are this machine's: the client's at the answer, the simulator's at the arrival, which may come before it.
Uses a local cloud of its own in `.local/bench`: one that runs there is used and left running, else it is started and
stopped again.
"""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from threading import Event
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
MANY: Final = 600
MANY_SECONDS: Final = 24.0
"""In which so many batches of one are posted, to one credential."""
MANY_CLIENTS: Final = 8
MANY_PATIENCE: Final = 300
"""Seconds within which their calls come."""
TAIL: Final = "from the last 202 to the last call "
TAIL_GOAL: Final = 3.0
"""Seconds from the last of their 202 to the last call."""
CREDENTIAL: Final = "sendgrid-main"
"""It may send 150 messages a second."""


def measure(running: Cloud) -> list[float]:
    """Return, for each batch, the seconds from the answer to the arrival; 0 if the call was there first."""
    control = ControlClient(running.env["SIMULATOR_URL"])
    taken = []
    for n in range(WARM + COUNT):
        to, since = _stranger(), time.time() - 1
        answered = _post(running, to)
        arrived: list[float] = []

        def there(since: float = since, to: str = to, arrived: list[float] = arrived) -> bool:
            arrived.extend(row["at"] for row in control.log(since=since) if row["recipient"] == to)
            return bool(arrived)

        if not wait_for(there, SECONDS, pause=0.02):
            raise RuntimeError("a batch of one was not sent")
        if n >= WARM:
            taken.append(max(0.0, arrived[0] - answered))
    return taken


def measure_many(running: Cloud) -> tuple[list[float], float, float]:
    """Post many batches of one at an even rate.

    Returns:
        For each batch, the seconds from the answer to the arrival, at least 0. The seconds of posting. The seconds from
        the last answer to the last arrival.
    """
    control, since = ControlClient(running.env["SIMULATOR_URL"]), time.time() - 1
    began, waiting = time.monotonic(), Event()

    def post(n: int) -> tuple[str, float]:
        waiting.wait(max(0.0, began + n * MANY_SECONDS / MANY - time.monotonic()))
        to = _stranger()
        return to, _post(running, to)

    with ThreadPoolExecutor(MANY_CLIENTS) as pool:
        answered = dict(pool.map(post, range(MANY)))
    posting = time.monotonic() - began
    arrived: dict[str, float] = {}

    def there() -> bool:
        arrived.update({x["recipient"]: x["at"] for x in control.log(since=since) if x["recipient"] in answered})
        return len(arrived) == MANY

    if not wait_for(there, MANY_PATIENCE, pause=1):
        raise RuntimeError(f"only {len(arrived)} of {MANY} batches of one were sent")
    waits = [max(0.0, arrived[to] - at) for to, at in answered.items()]
    return waits, posting, max(arrived.values()) - max(answered.values())


def _stranger() -> str:
    return f"silent+{uuid.uuid4().hex[:10]}@example.com"


def _post(running: Cloud, to: str) -> float:
    """Post a batch of one; return when it was answered, in Unix seconds."""
    body = {"from": "news@example.com", "to": [to], "subject": "Hello", "text": "Hello", "route": [CREDENTIAL]}
    call(running, "POST", "/batches", body)
    return time.time()


def measured() -> list[Row]:
    """Measure in a cloud of the benchmark's own, in a process that sees nothing of the developer's AWS."""
    command = [sys.executable, "-m", "infra.local", "with", "--", sys.executable, "-m", "benchmarks.latency"]
    environment = {**os.environ, ENV_LOCAL: str(HOME)}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    p50, tail = (float(done.stdout.split(word)[1].split()[0]) for word in ("p50 ", TAIL))
    return [
        Row(named(rows.ONE, "time to the provider"), p50, GOAL_MS, "ms"),
        Row(rows.MANY_SINGLES, tail, TAIL_GOAL, "s"),
    ]


def main() -> None:
    """Measure in the cloud that is up."""
    where: Paths = paths()
    running = local_cloud.current(where)
    taken = measure(running)
    print(f"{_percentiles(taken)} of {len(taken)} batches of one")
    waits, posting, tail = measure_many(running)
    print(f"{_percentiles(waits)} of {len(waits)} batches of one posted in {posting:.0f} s; {TAIL}{tail:.1f} s")


def _percentiles(some: Sequence[float]) -> str:
    """Return p50 and p95 of some seconds as a line shows them."""
    worst = sorted(some)[round(0.95 * (len(some) - 1))]
    return f"p50 {median(some) * 1000:.1f} ms, p95 {worst * 1000:.1f} ms"


if __name__ == "__main__":
    main()
