"""The state of a credential: its breaker, its slots, and its switches."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.contracts import CredentialQuota
from shared.domain.lanes.breaker import Breaker
from shared.domain.lanes.quotas import Spend, Stored, room
from shared.domain.lanes.switches import AS_DECLARED, Switches


@dataclass(frozen=True, slots=True)
class CredentialState:
    """A credential's state.

    Attributes:
        ahead: seconds of slots reserved and not yet past.
        switches: the pause and the rates that hold it back.
        full_until: Unix milliseconds until which its quota is used up, or was; 0: it never was.
        used: the counters of its quotas.
        at: Unix seconds.
    """

    breaker: Breaker
    ahead: float = 0.0
    switches: Switches = AS_DECLARED
    at: float = 0.0
    full_until: int = 0
    used: Stored = field(default_factory=dict)

    @property
    def full(self) -> bool:
        """Whether its quota is used up."""
        return self.full_until > self.at * 1000

    def left(self, quotas: Sequence[CredentialQuota]) -> list[tuple[CredentialQuota, int]]:
        """Return quotas, and how many units are left of each now."""
        return [(q, max(0, room(Spend((q,), 1), self.at, self.at, self.used).left or 0)) for q in quotas]

    def rate(self, declared: float) -> float:
        """Return the rate in force: what operators have set, and what its provider's refusals have left of that."""
        return self.switches.lowered.within(self.switches.within(declared), self.at)
