"""Times to send at, as people type them: a day, a time of day and a zone."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from shared.domain.hours import zones
from shared.domain.times import Millis

MAX_TIME: Final = 40
"""Characters of a time."""


@dataclass(frozen=True, slots=True)
class TypedTime:
    """A time as it was typed.

    Attributes:
        begin: Unix milliseconds.
        zone: in which it was given.
        local: the time there, to be read.
        note: what to know about it; empty: nothing.
    """

    begin: Millis
    zone: str
    local: str
    note: str = ""


def typed_time(fields: Mapping[str, str]) -> TypedTime:
    """Read the fields `at` and `zone` as typed. Raises ValueError with a sentence."""
    zone = fields.get("zone", "").strip() or "UTC"
    if not zones.is_zone(zone):
        raise ValueError("This time zone is unknown. Type one such as Europe/Berlin.")
    try:
        local = datetime.fromisoformat(fields.get("at", "").strip()[:MAX_TIME])
    except ValueError:
        raise ValueError("This is no time. Choose a day and a time.") from None
    if local.tzinfo is not None:
        raise ValueError("Choose the time without an offset: the zone has it.")
    return _at(local, zone)


def _at(local: datetime, zone: str) -> TypedTime:
    """Return a local time: clocks that change make some times twice, and some never."""
    place = ZoneInfo(zone)
    local = local.replace(microsecond=0)
    moments = zones.moments(local, place)
    begin = moments[0]
    there = datetime.fromtimestamp(begin / 1000, UTC).astimezone(place)
    note = ""
    if len(moments) > 1:
        note = "The clocks are put back then: this time comes twice, and the first one counts."
    elif there.replace(tzinfo=None) != local:
        note = "The clocks are put forward then: this time does not exist, and the first one after it counts."
    return TypedTime(begin, zone, f"{there:%A, %-d %B %Y, %H:%M}", note)
