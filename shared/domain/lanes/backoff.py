"""Delays between rounds over the route, and jitter."""

import random
from collections.abc import Mapping
from enum import Enum
from typing import Final


class Chance(Enum):
    """The chance of the next try, as far as a process knows the provider."""

    GOOD = "good"
    """It takes most of what it gets. Waiting for it to come back would be in vain."""
    UNKNOWN = "unknown"
    """Nothing shows that it works, or that it does not: the process is young, or the lane is quiet."""
    POOR = "poor"
    """It fails much of what it gets, or it refused this message for the moment."""


# change: how long a failed message waits for its next attempt
ROUND_DELAYS: Final[Mapping[Chance, tuple[float, ...]]] = {
    Chance.GOOD: (1.0, 2.0, 4.0, 8.0, 16.0, 900.0),
    Chance.UNKNOWN: (1.0, 5.0, 20.0, 120.0, 900.0),
    Chance.POOR: (10.0, 60.0, 300.0, 900.0),
}
"""Seconds before the second, third, … round over a route; the last is that of all later ones.

The last of a thousand messages, a quarter of whose calls fail, needs five rounds. A message whose tries all meet an
outage of a quarter of an hour has one left afterwards, unless the chance was good.
"""
SPREAD: Final = 0.2
"""± share of a delay, so that not all lanes call a provider that comes back at the same moment."""
MAX_QUEUE_DELAY: Final = 900
"""Seconds; the most that SQS delays a message."""

REDELIVERIES: Final = (5.0, 15.0, 60.0, 180.0)
"""Seconds before a failed pointer is delivered for the second, third, … time. A short fault costs seconds, and one of
four minutes makes no dead letters. The sweeper points again to chunks whose pointer became a dead letter."""


def redelivery_delay(receives: int) -> float:
    """Return the seconds until a pointer that failed is delivered again.

    Args:
        receives: how often it has been delivered, from 1. After the last delivery it becomes a dead letter at once.
            While a pointer waits, its lane is not empty, and the sweeper would send no other.
    """
    return REDELIVERIES[receives - 1] if 1 <= receives <= len(REDELIVERIES) else 0.0


def round_delay(round_number: int, rng: random.Random, chance: Chance) -> float:
    """Return the seconds to wait before a round.

    Args:
        round_number: the first has number 0 and never waits.
    """
    if round_number <= 0:
        return 0.0
    delays = ROUND_DELAYS[chance]
    base = delays[min(round_number, len(delays)) - 1]
    return base * (1 + SPREAD * (2 * rng.random() - 1))
