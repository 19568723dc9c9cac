"""Local times of a zone. Every moment is Unix milliseconds UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

SECOND_MS: Final = 1000


@cache
def zone_of(name: str) -> ZoneInfo:
    """Return a zone by its name; KeyError if there is none."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - it takes 6 ms, and most jobs have no hours

    return ZoneInfo(name)


@cache
def _names() -> frozenset[str]:
    from zoneinfo import available_timezones  # noqa: PLC0415 - as above

    return frozenset(available_timezones())


def is_zone(name: str) -> bool:
    """Tell whether a text is a name of the IANA database. The first call of a process reads all names."""
    return name in _names()


def instant(local: datetime, zone: ZoneInfo) -> int:
    """Return the moment of a local time: its first if there are two, the first one after it if there is none."""
    return moments(local, zone)[0]


def moments(local: datetime, zone: ZoneInfo) -> tuple[int, ...]:
    """Return every moment of a local time, the first one first. `local`: to the second, without a zone of its own."""
    early, late = (int(local.replace(tzinfo=zone, fold=fold).timestamp()) for fold in (0, 1))
    if early == late:
        return (early * SECOND_MS,)
    if early < late:
        return early * SECOND_MS, late * SECOND_MS
    return (change_of_offset(zone, late * SECOND_MS, early * SECOND_MS),)


def change_of_offset(zone: ZoneInfo, low: int, high: int) -> int:
    """Return the first second, after `low` and at most `high`, at which the zone's offset is that of `high`.

    Args:
        zone: a zone whose offset changes once between the two.
        low: a moment.
        high: a later one.
    """
    low, high = low // SECOND_MS, high // SECOND_MS
    after = _offset(zone, high)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, middle) == after:
            high = middle
        else:
            low = middle
    return high * SECOND_MS


def same_offset(zone: ZoneInfo, one: int, other: int) -> bool:
    """Tell whether a zone has the same offset at two moments.

    Args:
        one: a moment.
        other: another one.
    """
    return _offset(zone, one // SECOND_MS) == _offset(zone, other // SECOND_MS)


def _offset(zone: ZoneInfo, second: int) -> timedelta | None:
    return datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset()
