"""What operators switch while all is in use: a credential, an account or everything paused, a credential slowed.

Source: docs/adr/0043.
"""

from dataclasses import dataclass
from typing import Final

from shared.contracts import MIN_RATE


@dataclass(frozen=True, slots=True)
class Switch:
    """What is switched: a credential, or an account; everything if neither is named."""

    credential: str = ""
    account: str = ""


EVERYTHING: Final = Switch()


@dataclass(frozen=True, slots=True)
class Switches:
    """A credential's switches.

    Attributes:
        paused: nothing is to be sent through it.
        rate: the present rate in messages per second, as it is stored; 0: none is set.
    """

    paused: bool = False
    rate: float = 0.0

    def within(self, ceiling: float) -> float:
        """Return the rate in force: never above the declared one, whatever is stored."""
        return min(ceiling, max(self.rate, MIN_RATE)) if self.rate > 0 else ceiling


AS_DECLARED: Final = Switches()
"""Nothing is set."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Whether an account's work on a lane is held back.

    Attributes:
        paused: by any of the switches, or the account is suspended.
        resumed_at: Unix milliseconds when the last of them was taken back, 0 for never. Pointers that came before
            then may be gone.
    """

    paused: bool = False
    resumed_at: int = 0
