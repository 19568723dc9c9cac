"""The speed of this machine at this moment, by a fixed loop of plain Python."""

import time
from typing import Final

LOOPS: Final = 2_000_000
REFERENCE_S: Final = 0.10
"""Seconds of the calibration loop on the machine that the goals were set on."""


def calibrate(rounds: int = 3) -> float:
    """Return the seconds of processor time that the loop takes; the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        total = 0
        for i in range(LOOPS):
            total ^= i
        best = min(best, time.process_time() - began)
    return best
