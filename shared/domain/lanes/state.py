"""The state of a credential: its breaker, its slots, and its switches."""

from collections.abc import Sequence
from dataclasses import field
from datetime import date

from shared.contracts import CredentialQuota, Warmup
from shared.domain.lanes.breaker import Breaker
from shared.domain.lanes.periods import local_day, most
from shared.domain.lanes.quotas import Spend, Stored, room
from shared.domain.lanes.switches import AS_DECLARED, Switches
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class QuotaLeft:
    """A quota in its present period.

    Attributes:
        most: its units in this period; fewer than `quota.messages` while it warms up.
        left: units that may still be sent.
        today: the day in the quota's zone.
    """

    quota: CredentialQuota
    most: int
    left: int
    today: date

    @property
    def warmup(self) -> Warmup | None:
        """The warm-up, until it is over."""
        found = self.quota.warmup
        return None if found is None or self.today >= found.full_from else found

    @property
    def day(self) -> int:
        """The number of the present day of a warm-up; 0 before the first, or without one."""
        return 0 if self.warmup is None else max(0, self.warmup.day(self.today))


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

    def left(self, quotas: Sequence[CredentialQuota]) -> list[QuotaLeft]:
        """Return quotas, and how many units are left of each now."""
        return [self._left(q) for q in quotas]

    def _left(self, quota: CredentialQuota) -> QuotaLeft:
        left = room(Spend((quota,), 1), self.at, self.at, self.used).left or 0
        return QuotaLeft(quota, most(quota, self.at), max(0, left), local_day(quota.zone, self.at))

    def rate(self, declared: float) -> float:
        """Return the rate in force: what operators have set, and what its provider's refusals have left of that."""
        return self.switches.lowered.within(self.switches.within(declared), self.at)
