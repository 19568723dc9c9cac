"""The switches that hold a credential back, on the item of its slots: the write that reserves slots checks them."""

from collections.abc import Mapping
from typing import Any, Final

from shared.domain.lanes.switches import NOT_LOWERED, Switches, ThrottledRate
from shared.domain.times import Seconds
from shared.ports import Clock

LOWERED: Final = ("lowered", "hold_until", "provider_limit", "refused_share")
"""The attributes of a lowered rate."""
KNOWN: Final[Seconds] = 2.0
"""For so long a process remembers that not everything is paused."""


class Unpaused:
    """A process's memory that not everything is paused, so that not every window reads the one item that says so.

    A pause is never remembered: each window reads whether it has ended, so that a resume holds at once.

    Args:
        clock: None: nothing is remembered.
    """

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock
        self._asked: Seconds | None = None

    def now(self) -> Seconds:
        """Return the time of a read that begins now; 0 without a clock."""
        return self._clock.now() if self._clock is not None else 0.0

    def holds(self, now: Seconds) -> bool:
        """Tell whether a read that began less than KNOWN seconds ago found no pause."""
        return self._asked is not None and 0 <= now - self._asked < KNOWN

    def learn(self, asked: Seconds, *, paused: bool) -> None:
        """Take in what a read found. `asked`: when it began."""
        self._asked = None if paused or self._clock is None else asked


def switches(item: Mapping[str, Any]) -> Switches:
    """Read a credential's switches. A rate that is no number, or not above 0, is a pause: in doubt nothing is sent."""
    lowered = lowered_of(item)
    if "rate" not in item:
        return Switches(paused="paused" in item, lowered=lowered)
    rate = rate_of(item["rate"])
    return Switches(paused="paused" in item or rate <= 0, rate=max(0.0, rate), lowered=lowered)


def lowered_of(item: Mapping[str, Any]) -> ThrottledRate:
    """Read the rate as lowered after refusals; without a hold, or if the rate is no number, nothing is lowered."""
    until = int(rate_of(item["hold_until"])) if "hold_until" in item else 0
    rate, limit, share = (_least(item, name) for name in ("lowered", "provider_limit", "refused_share"))
    return ThrottledRate(rate, until, limit, share) if until > 0 else NOT_LOWERED


def _least(item: Mapping[str, Any], name: str) -> float:
    return max(0.0, rate_of(item[name])) if name in item else 0.0


def rate_of(attribute: Mapping[str, str]) -> float:
    """Return a rate as DynamoDB has it; 0 if it is not a number."""
    return float(attribute["N"]) if "N" in attribute else 0.0
