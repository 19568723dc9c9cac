"""Delays between rounds over the route, and jitter."""

import random
from typing import Final

ROUND_DELAYS: Final = (10.0, 60.0, 300.0, 900.0, 900.0)
"""Seconds before the second, third, … round over a route: quick for a blip, patient for an outage."""
SOON_DELAYS: Final = (2.0, 5.0, 10.0, 20.0, 30.0)
"""The same while the provider takes most of what it gets. Waiting for it to come back would be in vain. The last of a
thousand messages, a quarter of whose calls fail, needs five rounds. Later delays are as long as ever."""
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


def round_delay(round_number: int, rng: random.Random, *, soon: bool = False) -> float:
    """Return the seconds to wait before a round.

    Args:
        round_number: the first has number 0 and never waits.
        soon: what failed has a good chance at once.
    """
    if round_number <= 0:
        return 0.0
    delays = SOON_DELAYS if soon and round_number <= len(SOON_DELAYS) else ROUND_DELAYS
    base = delays[min(round_number, len(delays)) - 1]
    return base * (1 + SPREAD * (2 * rng.random() - 1))
