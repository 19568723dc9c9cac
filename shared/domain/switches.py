"""What operators have set of a credential that is in use: paused, or slower than declared. Source: docs/adr/0043."""

from dataclasses import dataclass
from typing import Final

MIN_RATE: Final = 0.02
"""Messages per second: one in 50 s, since a sender that waits for its slot lives for two minutes."""


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
