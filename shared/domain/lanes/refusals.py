"""Refusals of a provider because too much came at once, and whether they show a limit below the rate.

A limit shows as a share of the calls. A provider that takes L refuses 1 - L/R of the calls made at R. A few refusals
among many calls show none. Source: docs/protocol.md, "Pace"; docs/adr/0194.
"""

import math
from typing import Final, Self

from shared.domain.lanes.switches import BELOW, ThrottledRate
from shared.domain.times import Seconds
from shared.frozen import dataclass

FEW: Final = 20
"""Calls by which a share is known, at least."""
MANY: Final = 50
"""Calls by which a share is known so well that a later one may be compared to it."""
RARE: Final = 0.05
"""The share of refused calls up to which they show no limit."""
PLAIN: Final = 0.2
"""The same, for a short time after the rate was lowered."""
MOST: Final = 1 / 3
"""The largest share that may be chance."""
HALF: Final = 0.5
"""The same of fewer calls than `FEW`: where a fifth fails, more than a third of ten do once in eight times."""
ALIKE: Final = 0.8
"""Two shares are about the same if the smaller is at least this part of the larger."""
ENOUGH: Final = 4
"""Refused calls that show a limit, at least."""
SURE: Final = 2.5
"""Standard deviations by which the share has to be above `RARE`: in a hundred checks, chance causes at most one."""

GENTLE: Final = 0.9
"""The part of the rate that is left when its provider refuses a call, and too few calls are known to show why."""
STEEP: Final = 0.5
"""The part that is left when few calls show a limit, or all were refused."""
STEEPEST: Final = 1 / 16
"""The least that is left when many do."""
EFFECT: Final = 60.0
"""Seconds in which a lower rate has shown whether it helps: so soon no rate has risen to a limit again."""


@dataclass(frozen=True, slots=True)
class RefusalTally:
    """Calls of a credential that ended at one pace, of late: those that its provider refused to take now, or failed."""

    calls: int = 0
    refused: int = 0
    failed: int = 0

    def __add__(self, other: Self) -> "RefusalTally":
        """Return both together."""
        return RefusalTally(self.calls + other.calls, self.refused + other.refused, self.failed + other.failed)

    def __sub__(self, other: Self) -> "RefusalTally":
        """Return what is left without another."""
        return RefusalTally(self.calls - other.calls, self.refused - other.refused, self.failed - other.failed)

    @property
    def works(self) -> bool:
        """Whether the provider takes most of what it gets: at most a third of the calls failed, of few at most half."""
        judged = self.calls - self.refused
        return judged > 0 and self.failed <= judged * (MOST if judged >= FEW else HALF)

    @property
    def share(self) -> float:
        """The share of the calls that was refused."""
        return self.refused / self.calls if self.calls else 0.0

    @property
    def known(self) -> bool:
        """Whether there are enough calls to judge by."""
        return self.calls >= FEW

    def shows(self, least: float) -> bool:
        """Tell whether the provider surely refuses this share or more: it seems to take less than it is sent."""
        return self.refused >= ENOUGH and self.share - SURE * self._deviation >= least

    @property
    def taken(self) -> float:
        """The share that the provider may well take: somewhat more than what it took of so many calls."""
        return 1 - self.share + self._deviation

    def repeats(self, share: float) -> bool:
        """Tell whether about the same share is refused as before, though calls come more slowly."""
        alike = ALIKE * share <= self.share <= min(share / ALIKE, MOST)
        return self.known and self.refused >= ENOUGH and alike

    @property
    def _deviation(self) -> float:
        return math.sqrt(self.share * (1 - self.share) / self.calls)


NO_CALLS: Final = RefusalTally()


def left(
    rate: float, declared: float, past: ThrottledRate, tally: RefusalTally, *, since: Seconds, stretch: Seconds
) -> ThrottledRate | None:
    """Return what is left of a rate after a refusal, without the hold; None: all of it.

    Args:
        rate: messages per second in force.
        declared: the credential's rate.
        past: what earlier refusals had left.
        tally: the calls at this rate of late, the refused one among them.
        since: seconds since the hold after the last of those.
        stretch: seconds of calls, at least, that a small share is judged by.
    """
    gently = rate * GENTLE
    if rate <= past.limit and stretch <= since < EFFECT and tally.repeats(past.share):
        return ThrottledRate(past.limit / (1 - past.share), limit=declared)  # a lower rate has not helped: it is chance
    if tally.shows(PLAIN if since < stretch else RARE):
        return _by_share(rate, past, tally)
    if tally.refused == 1 and _is_back(rate, declared, past, since):
        return ThrottledRate(gently, limit=gently, share=past.share)
    return (
        None if tally.known or since < 2 * stretch else ThrottledRate(gently, limit=past.known(rate), share=past.share)
    )


def _is_back(rate: float, declared: float, past: ThrottledRate, since: Seconds) -> bool:
    """Tell whether a rate has risen to a limit that is known, below the declared rate.

    Args:
        rate: messages per second in force.
        declared: the credential's rate.
        past: what earlier refusals had left.
        since: seconds since the hold after the last of those.
    """
    return since >= EFFECT and 0 < past.limit < declared and rate >= past.limit


def _by_share(rate: float, past: ThrottledRate, tally: RefusalTally) -> ThrottledRate:
    """Return a rate just below the limit that a share of refusals shows; where all were refused, they show none."""
    most = BELOW * tally.taken
    share = tally.share if tally.calls >= MANY else 0.0
    return ThrottledRate(
        rate * max(most, STEEPEST if tally.known and most else STEEP),
        limit=rate * tally.taken or past.known(rate),
        share=share,
    )
