"""The state of a credential: its breaker, its slots, and its switches."""

from dataclasses import dataclass

from shared.domain.lanes.breaker import Breaker
from shared.domain.lanes.switches import AS_DECLARED, Switches


@dataclass(frozen=True, slots=True)
class CredentialState:
    """A credential's state.

    Attributes:
        ahead: seconds of slots reserved and not yet past.
        switches: the pause and the rates that hold it back.
        at: Unix seconds.
    """

    breaker: Breaker
    ahead: float = 0.0
    switches: Switches = AS_DECLARED
    at: float = 0.0

    def rate(self, declared: float) -> float:
        """Return the rate in force: what operators have set, and what its provider's refusals have left of that."""
        return self.switches.lowered.within(self.switches.within(declared), self.at)
