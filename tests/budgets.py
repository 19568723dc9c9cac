"""Budgets of processor time, in seconds of a machine that does a fixed piece of work in `REFERENCE`.

One processor takes twice as long as another for the same work. So on a slower machine a budget grows with what the work
takes there. On a quicker one it does not shrink.
"""

import time
from functools import cache
from typing import Final

ROUNDS: Final = 500_000
REFERENCE: Final = 0.045
"""Processor seconds."""
TRIES: Final = 3


def seconds(budget: float) -> float:
    """Return a budget in processor seconds of this machine."""
    return budget * max(1.0, work() / REFERENCE)


@cache
def work() -> float:
    """Return the processor seconds of the work here, the least of a few tries."""
    return min(_work() for _ in range(TRIES))


def _work() -> float:
    began, total = time.process_time(), 0
    for number in range(ROUNDS):
        total += number * number % 7
    return time.process_time() - began
