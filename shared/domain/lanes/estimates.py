"""How long units take within rates and quotas. An estimate: other work of the credential is not known."""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from shared.contracts import CredentialQuota, Per
from shared.domain.lanes.periods import BUCKET, ends, most
from shared.domain.lanes.quotas import Spend, Stored, room
from shared.domain.times import Seconds
from shared.frozen import dataclass

LONGEST: Final = 400 * 86_400.0
"""Seconds: the longest estimate."""
EXACT: Final = 1.0
"""Seconds within which the end is found."""
_SLIDING: Final = 24 * 3600.0 + BUCKET


@dataclass(frozen=True, slots=True)
class Capacity:
    """A credential's capacity.

    Attributes:
        rate: units per second.
        stored: the counters of its quotas.
        full_until: Unix seconds; until then it sends nothing.
    """

    rate: float
    quotas: tuple[CredentialQuota, ...] = ()
    stored: Stored = field(default_factory=dict)
    full_until: Seconds = 0.0

    def by(self, begin: Seconds, end: Seconds) -> float:
        """Return the most units that it sends between two times."""
        begin = max(begin, self.full_until)
        if end <= begin:
            return 0.0
        return min([self.rate * (end - begin), *(self._bound(q, begin, end) for q in self.quotas)])

    def _bound(self, quota: CredentialQuota, begin: Seconds, end: Seconds) -> float:
        left = max(0, room(Spend((quota,), 1), begin, begin, self.stored).left or 0)
        if quota.per is Per.SLIDING:
            return left + quota.messages * (end - begin) / _SLIDING
        total, at, allowed = 0.0, begin, float(left)
        while at < end:
            until = min(end, ends(quota.per, quota.zone, at))
            total += min(allowed, self.rate * (until - at))
            at, allowed = until, float(most(quota, until))
            alike = quota.per is not Per.MONTH and allowed == quota.messages
            if alike and at < end - _DAYS:  # the periods of many days are the same
                whole = int((end - _DAYS - at) // _LENGTHS[quota.per])
                total += whole * min(allowed, self.rate * _LENGTHS[quota.per])
                at += whole * _LENGTHS[quota.per]
        return total


_DAYS: Final = 3 * 86_400.0
_LENGTHS: Final = {Per.HOUR: 3600.0, Per.DAY: 86_400.0}


def _together(lanes: Sequence[Capacity], begin: Seconds, end: Seconds) -> float:
    return sum(x.by(begin, end) for x in lanes)


def finished(units: float, lanes: Sequence[Capacity], begin: Seconds) -> Seconds:
    """Return when credentials together have sent all, Unix seconds; at most LONGEST after the beginning.

    Args:
        units: messages, or segments of SMS.
    """
    low, high = begin, begin + LONGEST
    if _together(lanes, begin, high) < units:
        return high
    quick = sum(x.rate for x in lanes)
    if quick > 0 and not any(x.quotas or x.full_until > begin for x in lanes):
        return begin + units / quick
    while high - low > EXACT:
        middle = (low + high) / 2
        low, high = (low, middle) if _together(lanes, begin, middle) >= units else (middle, high)
    return high
