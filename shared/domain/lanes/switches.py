"""Causes that hold back a working credential: operators, who pause and slow, and its provider, who throttles.

Source: docs/adr/0043, docs/adr/0052.
"""

import math
from dataclasses import replace
from typing import Final

from shared.contracts import MIN_RATE
from shared.domain.times import Millis, Seconds
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Switch:
    """The thing that is switched: a credential, or an account; everything if both are empty."""

    credential: str = ""
    account: str = ""


EVERYTHING: Final = Switch()

DOUBLING: Final = 300.0
"""Seconds after which a rate that was lowered has doubled; after twice as many it is sixteen times what it was."""
BACK: Final = 10.0
"""Seconds in which a rate doubles until it is just below where the provider's limit was last seen."""
BELOW: Final = 0.97
"""The share of that limit at which the provider is called next."""


@dataclass(frozen=True, slots=True)
class ThrottledRate:
    """A credential's rate as its provider's refusals have left it. Each change has another `until`, which names it.

    Attributes:
        rate: messages per second at the end of the hold; 0: nothing was lowered.
        until: Unix milliseconds when the hold ends; no slot is before it.
        limit: messages per second that the provider takes, as far as is known; 0: not known. The rate soon returns to
            the limit, and then rises with care. Without one it rises with care from the start.
        share: the share of refused calls that showed this limit; 0: none has been shown.
    """

    rate: float = 0.0
    until: int = 0
    limit: float = 0.0
    share: float = 0.0

    def known(self, rate: float) -> float:
        """Return the limit that is known; a rate where none is."""
        return self.limit or rate

    def within(self, ceiling: float, now: Seconds) -> float:
        """Return the rate in force at `now` (Unix seconds): the longer nothing is refused, the faster it rises."""
        if self.rate <= 0:
            return ceiling
        passed, known = max(0.0, now - self.until / 1000), max(self.rate, BELOW * self.limit)
        back = BACK * math.log2(known / self.rate)
        if passed < back:
            return min(ceiling, self.rate * 2 ** (passed / BACK))
        rounds = (passed - back) / DOUBLING
        return ceiling if rounds > _RECOVERED else min(ceiling, known * 2 ** (rounds * rounds))


_RECOVERED: Final = 6.0
"""Doublings' worth of time after which no lowered rate is below any declared one; keeps the power in bounds."""
NOT_LOWERED: Final = ThrottledRate()


@dataclass(frozen=True, slots=True)
class Switches:
    """What holds a credential back.

    Attributes:
        paused: by operators; nothing is to be sent through it.
        rate: the present rate that operators have set, in messages per second, as it is stored; 0: none is set.
        lowered: what its provider's refusals have left of the rate.
    """

    paused: bool = False
    rate: float = 0.0
    lowered: ThrottledRate = NOT_LOWERED

    def within(self, ceiling: float) -> float:
        """Return the rate in force: never above the declared one, even if a higher one is stored."""
        return min(ceiling, max(self.rate, MIN_RATE)) if self.rate > 0 else ceiling


AS_DECLARED: Final = Switches()
"""Nothing is set."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Whether an account's work on a lane is held back.

    Attributes:
        paused: by any of the switches, or the account is suspended.
        resumed_at: Unix milliseconds when the last of them was taken back, 0 for never. Pointers from before then may
            be lost.
        full_until: Unix milliseconds until which the lane's quota is used up, or was; 0: it never was.
    """

    paused: bool = False
    resumed_at: int = 0
    full_until: int = 0

    def at(self, now: Millis) -> "Hold":
        """Return it as it is at a time: a lane that is full is held back, and resumes by itself."""
        if self.full_until > now:
            return replace(self, paused=True)
        return replace(self, resumed_at=max(self.resumed_at, self.full_until))
