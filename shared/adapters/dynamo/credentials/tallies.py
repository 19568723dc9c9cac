"""Calls that ended at a credential's pace, counted on the item of its slots by the writes that reserve some.

The name of an attribute says what it counts, and in which stretch of time (`Pace.stretches`). Readers add up two
stretches: the present one and the one before.
"""

from collections.abc import Mapping
from typing import Any, Final

from shared.adapters.dynamo.codec import number
from shared.domain.lanes.pacing import Pace
from shared.domain.lanes.refusals import NO_CALLS, RefusalTally
from shared.domain.times import Seconds

CALLS: Final = "calls_"
REFUSED: Final = "refusals_"
FAILED: Final = "failures_"
_ALL: Final = (CALLS, REFUSED, FAILED)


def of_late(item: Mapping[str, Any], pace: Pace, now: Seconds) -> RefusalTally:
    """Read the calls of the present stretch of time and of the one before."""
    return sum((_read(item, name) for name in pace.stretches(now)), NO_CALLS)


def stale(item: Mapping[str, Any], pace: Pace, now: Seconds) -> list[str]:
    """Return the attributes that count calls of earlier stretches."""
    kept = {prefix + name for name in pace.stretches(now) for prefix in _ALL}
    return sorted(name for name in item if name.startswith(_ALL) and name not in kept)


def _read(item: Mapping[str, Any], name: str) -> RefusalTally:
    return RefusalTally(*(number(item, prefix + name) for prefix in _ALL))
