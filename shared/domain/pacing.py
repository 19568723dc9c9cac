"""How fast a credential may send: slots, calls and windows. Source: docs/protocol.md, "Pace"."""

import math
from dataclasses import dataclass
from typing import Final

WINDOW: Final = 200
"""The most recipients claimed together: bounds what a crash leaves unknown."""
HEADROOM: Final = 0.97
"""The share of the rate that is used: absorbs ±5 ms of clock skew between workers."""
HORIZON: Final = 2.0
"""Seconds that slots may be reserved ahead."""
LATE: Final = 0.010
"""Seconds after which a missed slot is burned: a tardy worker adds that share of a second's slots to a second."""
SKEW: Final = 0.010
"""Seconds by which two workers' clocks may differ."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The send rate of a credential as slots.

    Attributes:
        rate: messages per second, as declared.
        per_call: the most recipients in one provider call; they leave in one instant.
        slots: slots per second actually given out (R').
        window: the most recipients claimed together.
        late: seconds after which a missed slot is burned.
    """

    rate: float
    per_call: int
    slots: float
    window: int
    late: float = LATE

    @property
    def spacing(self) -> float:
        """Seconds between two slots."""
        return 1 / self.slots


def pace(rate: float, provider_limit: int, per_call: int = 0, job_rate: float | None = None, leases: int = 0) -> Pace:
    """Return the pace of a credential of `rate` messages per second.

    Args:
        rate: messages per second, above 0.
        provider_limit: the most recipients the provider takes in one call.
        per_call: a lower bound set by the operator; 0 for none.
        job_rate: the job's own rate if it is lower; its slots then cost more.
        leases: the most leases that work at once, 0 if not known. Where all their windows together fit the headroom,
            no lateness can exceed the rate, so that none needs to be burned: at 40,000 a second and two workers, say.

    Returns:
        At most ⌊rate/20⌋ recipients a call (at least 1), 0.97 of the rate when calls carry one recipient, and room for
        one call more when they carry several.
    """
    c = min(max(1, math.floor(rate / 20)), provider_limit, per_call or provider_limit)
    slots = HEADROOM * rate if c == 1 else min(HEADROOM * rate, rate - c)
    harmless = 0 < leases * _window(slots) <= rate - slots * (1 + SKEW)
    if job_rate is not None and job_rate < rate:
        slots = min(slots, HEADROOM * job_rate)
        c = min(c, max(1, math.floor(job_rate / 20)))
        harmless = False  # lateness would exceed the job's own rate; the headroom is the other jobs' anyway
    return Pace(rate=rate, per_call=c, slots=slots, window=_window(slots), late=HORIZON if harmless else LATE)


def _window(slots: float) -> int:
    return max(1, min(WINDOW, math.floor(slots)))


@dataclass(frozen=True, slots=True)
class Slots:
    """`count` consecutive slots, the first at `first` (Unix seconds), `spacing` seconds apart."""

    first: float
    spacing: float
    count: int

    def at(self, position: int) -> float:
        """Return the time of a slot."""
        return self.first + position * self.spacing
