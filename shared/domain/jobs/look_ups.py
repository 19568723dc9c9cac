"""When to ask a provider for the fate of messages that are UNKNOWN. Source: docs/protocol.md, "Resolve"."""

from typing import Final

LOOKS: Final = (120, 600, 2_100, 3_600, 7_200, 14_400, 28_800, 57_600, 81_000)
"""Seconds after a message became doubtful at which its provider is asked:

- after two minutes, because a webhook mostly settles it sooner
- after half an hour, when a provider's event list is complete
- for a day, as long as keys last
"""


def next_look(elapsed: float) -> float | None:
    """Return the seconds after which to ask next, given those that have passed; None when asking is over."""
    return next((look for look in LOOKS if look > elapsed), None)


def due(elapsed: float, interval: float) -> bool:
    """Tell whether a look fell into the last `interval` seconds of those that have passed."""
    return any(elapsed - interval < look <= elapsed for look in LOOKS)
