"""Units and lengths of time, and times as clients write them."""

import re
from datetime import UTC, date, datetime, time
from typing import Final, TypeAlias

Seconds: TypeAlias = float
"""A length of time, or a Unix time, in seconds."""
Millis: TypeAlias = int
"""A length of time, or a Unix time, in whole milliseconds. mypy refuses Seconds here (docs/adr/0096)."""

MINUTE_MS: Final[Millis] = 60_000
DAY_MS: Final[Millis] = 86_400_000
"""Milliseconds."""
# change: how long an idempotency key lives
KEY_LIFE_MS: Final[Millis] = DAY_MS
"""Milliseconds that an idempotency key is kept: after the request, or after the last scheduled send."""

USE_WITHIN_DAYS: Final = 30
"""Days after its upload within which the sending of a list must begin. Until then its recipients are kept, and from
then on as long as those of a job."""
PAST: Final[Seconds] = 300
"""Seconds that a time to send at may lie in the past, for clocks that are late; then it means now."""
FUTURE: Final[Seconds] = 366 * 86_400
"""Seconds that a job may wait for its time."""
_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def day_begins(day: date) -> Millis:
    """Return when a UTC day begins, Unix milliseconds."""
    return int(datetime.combine(day, time(), UTC).timestamp()) * 1000


def is_rfc_3339(text: str) -> bool:
    """Return whether a text has the form of a time of RFC 3339, with its offset."""
    return _RFC_3339.fullmatch(text) is not None


def may_begin(wanted: datetime, now: Seconds) -> bool:
    """Return whether a job may wait for a time.

    Args:
        wanted: the time, with its offset.
    """
    return now - PAST <= wanted.timestamp() <= now + FUTURE
