"""Budgets of processor time, in seconds of a machine that does a fixed piece of work in `REFERENCE`.

One processor takes twice as long as another for the same work, and longer while another process uses its core. So on a
slower machine a budget grows with what the work takes there just now. On a quicker one it does not shrink.
"""

import time
from typing import Final

ROUNDS: Final = 500_000
REFERENCE: Final = 0.045
"""Processor seconds."""
TRIES: Final = 3


def seconds(budget: float) -> float:
    """Return a budget in processor seconds of this machine."""
    return budget * max(1.0, work() / REFERENCE)


def kept(took: float, budget: float) -> bool:
    """Tell whether a budget is kept; the work is done only if it seems not to be.

    Args:
        took: processor seconds, just now.
        budget: likewise, of the reference.
    """
    return took <= budget or took <= seconds(budget)


def work() -> float:
    """Return the processor seconds of the work here and now, the least of a few tries."""
    return min(_work() for _ in range(TRIES))


def _work() -> float:
    began, total = time.process_time(), 0
    for number in range(ROUNDS):
        total += number * number % 7
    return time.process_time() - began
