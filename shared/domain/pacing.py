"""How fast a credential may send: slots, calls and windows. Source: docs/protocol.md, "Pace"."""

import math
from dataclasses import dataclass, replace
from typing import Final

from shared.domain.switches import Switches

WINDOW: Final = 200
"""The most recipients claimed together: bounds what a crash leaves unknown."""
FEW: Final = 10
"""So many are claimed together where a quarter of a second holds fewer: each window costs a claim and a detail."""
QUARTERS: Final = 4
"""A window is this part of a second's slots: what is claimed and not called yet is unknown after a crash, too."""
HEADROOM: Final = 0.97
"""The most of the rate that is used: absorbs lateness and clock skew where calls carry one recipient."""
SHARE: Final = 25
"""A call carries at most this fraction of a second's recipients: what leaves in one instant has to be kept free."""
HORIZON: Final = 2.0
"""Seconds that slots may be reserved ahead."""
NEAR: Final = 0.5
"""Seconds, for a lease that yields: what is reserved ahead is what a single mail waits, whoever reserved it."""
PATIENCE: Final = 2.0
"""Seconds that a lease yields; then it is served like all others, since small jobs may never end."""
LATE: Final = 0.010
"""Seconds after which a missed slot is burned: a tardy worker adds that share of a second's slots to a second."""
SKEW: Final = 0.010
"""Seconds by which two workers' clocks may differ."""
_STRETCH: Final = 1 + LATE + SKEW + 0.001
"""A second on a provider's clock holds the slots of so many seconds: the first call late, the last by a clock that is
ahead, and a millisecond for rounding."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The send rate of a credential as slots.

    Attributes:
        rate: messages per second in force.
        per_call: the most recipients in one provider call; they leave in one instant.
        slots: slots per second actually given out (R').
        window: the most recipients claimed together: a quarter of a second's slots or 10, whichever is more, but never
            more than a second's, or 200.
        room: the most slots that messages which count as several may take in a window: a second's, at most 200, for
            before each such window some stay empty.
        late: seconds after which a missed slot is burned.
        present: what operators have set as the present rate, as known when it was made; 0: nothing.
        yields: whether slots are for a large job, and those of small ones go first.
    """

    rate: float
    per_call: int
    slots: float
    window: int
    room: int
    late: float = LATE
    present: float = 0.0
    yields: bool = False

    def ahead(self, waited: float) -> float:
        """Return the seconds that slots may be reserved ahead by a lease that has waited so long for them."""
        return NEAR if self.yields and waited < PATIENCE else HORIZON

    @property
    def spacing(self) -> float:
        """Seconds between two slots."""
        return 1 / self.slots

    def lull(self, weight: int) -> int:
        """Return the slots that stay empty before a message that counts as several, so that no second exceeds the rate.

        It leaves in one instant and its own slots follow it, so that the second it ends would hold its weight, less
        one, too much. One that is heavier than the whole rate has its second to itself. The same holds for the
        credential's rate, where a job has a lower one: others' slots come faster than its own.
        """
        if weight <= 1:
            return 0
        full = HEADROOM * self.rate
        own = min(weight - 1, math.floor(_STRETCH * self.slots))
        others = min(weight - 1, math.floor(_STRETCH * full))
        return max(own, math.ceil(others * self.slots / full))

    def widened(self, lag: float, leases: int) -> "Pace":
        """Return the pace with windows as large as slow answers need, but of no more than `room`.

        A lease claims its next window once the last call of this one has ended; the other leases use the slots until
        then. So one call in twenty that hangs would leave most of the rate unused.

        Args:
            lag: seconds from the last slot of a window to the end of its last call, of late.
            leases: how many share the credential.
        """
        needed = math.ceil(lag * self.slots / max(1, leases - 1))
        return replace(self, window=max(self.window, min(self.room, needed)))

    @property
    def burns(self) -> bool:
        """Tell whether a tardy worker loses its slots, so that it has to reserve them early enough."""
        return self.late < HORIZON


def pace(
    rate: float,
    provider_limit: int,
    per_call: int = 0,
    job_rate: float | None = None,
    leases: int = 0,
    *,
    present: float = 0.0,
) -> Pace:
    """Return the pace of a credential of `rate` messages per second.

    Args:
        rate: messages per second as declared, above 0.
        provider_limit: the most recipients the provider takes in one call.
        per_call: a lower bound set by the operator; 0 for none.
        job_rate: the job's own rate if it is lower; its slots then cost more.
        leases: the most leases that work at once, 0 if not known. Where all their windows together fit the headroom,
            no lateness can exceed the rate, so that none needs to be burned: at 40,000 a second and two workers, say.
        present: the present rate as operators have set it, 0 for none; what exceeds the declared one is that one.

    Returns:
        At most ⌊rate/25⌋ recipients a call (at least 1), and 0.97 of the rate, or less to leave room for the largest
        call. The operator's bound makes calls smaller and not faster: workers that have read different bounds share
        the slots. Why and how much: docs/adr/0030.
    """
    rate = Switches(rate=present).within(rate)
    most = min(_share(rate), provider_limit)
    slots = _slots(rate, most)
    c = min(most, per_call or most)
    harmless = 0 < leases * _room(slots) <= rate - most - slots * (1 + SKEW)
    if job_rate is not None and job_rate < rate:
        own = min(_share(job_rate), most)
        slots = min(slots, _slots(job_rate, own))
        c = min(c, own)
        harmless = False  # lateness would exceed the job's own rate; the headroom is the other jobs' anyway
    late = HORIZON if harmless else LATE
    window, room = _window(slots), _room(slots)
    return Pace(rate=rate, per_call=c, slots=slots, window=window, room=room, late=late, present=present)


def _share(rate: float) -> int:
    return max(1, math.floor(rate / SHARE))


def _slots(rate: float, most: int) -> float:
    """Return the slots per second of which any second holds at most `rate`, in calls of up to `most` recipients."""
    return min(HEADROOM * rate, (rate + 1 - most) / _STRETCH) if most > 1 else HEADROOM * rate


def _window(slots: float) -> int:
    return min(_room(slots), max(FEW, math.floor(slots) // QUARTERS))


def _room(slots: float) -> int:
    return max(1, min(WINDOW, math.floor(slots)))


@dataclass(frozen=True, slots=True)
class Slots:
    """`count` consecutive slots, the first at `first` (Unix seconds), `spacing` seconds apart.

    `switches`: why there is none: the credential is paused, or the pace was made by another rate than is set now.
    """

    first: float
    spacing: float
    count: int
    switches: Switches | None = None

    def at(self, position: int) -> float:
        """Return the time of a slot."""
        return self.first + position * self.spacing
