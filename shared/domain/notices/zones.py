"""Local times of a notifier's zone."""

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

SECOND_MS: Final = 1000


def instant(local: datetime, zone: ZoneInfo) -> int:
    """Return a local time as Unix ms.

    A time that does not exist moves forward to the first that does; one that exists twice is its first.
    """
    aware = local.replace(tzinfo=zone, fold=0)
    back = aware.astimezone(UTC).astimezone(zone).replace(tzinfo=None)
    if back == local:
        return round(aware.timestamp() * SECOND_MS)
    # In a gap, fold=0 counts with the offset before it and lands behind the gap; what it skips is the gap's length.
    before, after = aware.utcoffset(), aware.replace(fold=1).utcoffset()
    if before is None or after is None:
        raise ValueError("a zone without offsets")
    low, high = (
        round(aware.timestamp() * SECOND_MS) - int((after - before).total_seconds() * SECOND_MS),
        round(aware.timestamp() * SECOND_MS),
    )
    while high - low > 1:  # the moment at which the offset changes
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle / SECOND_MS, zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high
