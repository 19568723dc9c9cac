"""A list of a million rows beside a partition's limit of 1,000 write units a second, in fake time.

All chunks of a list are in one partition. Each step of the reader takes its processor time and stores its chunks
through the real store. A step that fails ends the invocation, and the list waits as it does after a fault.
"""

import argparse
import random
from typing import Any, Final

from shared.adapters.dynamo.campaigns.uploads import DynamoUploads
from shared.adapters.dynamo.client import Dynamo
from shared.domain.campaigns.campaign import Upload, UploadState
from shared.domain.lists.uploads import PackedChunk
from shared.ports import Retriable
from tests.fakes.clock import FakeClock
from tests.fakes.partitions import Throttling

CHUNKS: Final = 2000
"""Of a million rows."""
STEP: Final = 20
"""Chunks that a step brings: a block of 1 MB."""
CPU_S: Final = 25.0
"""Processor time of a million rows in a function of 1,769 MB, at the most."""
CALL_S: Final = 0.006
KB: Final = 1024


class Nowhere:
    """A client that keeps nothing; each call takes its time."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.calls = 0

    def batch_write_item(self, **_: Any) -> dict[str, Any]:
        """Take items."""
        self.calls += 1
        self._clock.sleep(CALL_S)
        return {}


def run(units: int, seed: int) -> tuple[float, int]:
    """Return the seconds that the list takes, and how many invocations failed. `units`: of a chunk."""
    random.seed(seed)
    clock = FakeClock()
    client = Nowhere(clock)
    store = DynamoUploads(Dynamo(Throttling(client, clock), sleep=clock.sleep), records="records", ops="ops")
    upload = Upload(
        *("0" * 26, "1" * 26, "acc_bench", False, "email", "main", "x", UploadState.READING, 0, 10**10, ""), size=1
    )
    data = b"x" * (units * KB - 128)
    began, failed, starts, number = clock.now(), 0, 0, 0
    while number < CHUNKS:
        clock.sleep(CPU_S * STEP / CHUNKS)
        try:
            store.store(upload, [PackedChunk(number + i, 500, data, ()) for i in range(STEP)], ())
        except Retriable:
            failed += 1
            starts += 1
            clock.sleep(30 * 2**starts)
        else:
            number += STEP
            starts = 0
    return clock.now() - began, failed


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.partition", description=__doc__)
    parser.add_argument("--units", type=int, nargs="+", default=[9, 12, 25, 44])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for units in options.units:
        found = [run(units, seed) for seed in range(options.seeds)]
        seconds = ", ".join(f"{s:.0f}" for s, _ in found)
        failures = ", ".join(str(f) for _, f in found)
        print(f"{units:3} units a chunk: {seconds} s, failed invocations: {failures}")


if __name__ == "__main__":
    main()
