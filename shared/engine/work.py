"""What work under a lease has in common: when it is given up, and how long it rests after a fault."""

from typing import Final

from shared.domain.times import Seconds

MAX_STARTS: Final = 12
"""Leases that may bring work no further before it is given up: six hours of faults."""


def pause(starts: int) -> Seconds:
    """Return how long work rests after a fault, by its leases since it last came further."""
    return min(3600, 30 * 2.0**starts)
