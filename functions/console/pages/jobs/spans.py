"""The days that figures are of, and the fates that they tell apart: those of the first page and of the list of jobs."""

from datetime import UTC, date, datetime, timedelta
from typing import Final

from shared.domain.times import Millis, day_begins

DAYS: Final = 14
TODAY: Final = "today"
DAYS_SPAN: Final = f"the last {DAYS} days"
SPANS: Final = {TODAY: 1, DAYS_SPAN: DAYS}
"""Spans of time, and their days; a day is that of UTC on which a job was taken, as in the stats."""
FATES: Final = {
    "success": ("delivered", "relayed"),
    "queued": ("queued", "sending", "sent", "unknown"),
    "failed": ("failed", "bounced"),
    "skipped": ("skipped",),
}
"""Fates of messages, and the counts of a job that add up to each, as in the stats. `queued` has all without an end."""


def today(now: Millis) -> date:
    """Return the day of a time. `now`: Unix milliseconds."""
    return datetime.fromtimestamp(now / 1000, UTC).date()


def since(span: str, now: Millis) -> Millis:
    """Return when a span of SPANS began, in Unix milliseconds. `now`: the same."""
    return day_begins(today(now) - timedelta(days=SPANS[span] - 1))
