"""Periods in which a credential may send a number of messages: an hour, a day or a month of a zone, or 24 hours.

A calendar period is all moments with the same local hour, day or month. So an hour that a zone has twice is one period
of two hours. It suits providers that count by the local clock, and those that count by hours.
"""

from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from shared.contracts import CredentialQuota, Per
from shared.domain.times import Seconds

BUCKET: Final = 1200
"""Seconds that one counter of the sliding 24 hours holds. Of counters of an hour, 4 % of a quota would stay unused."""
BUCKETS: Final = 24 * 3600 // BUCKET
"""Counters before the present one that 24 hours may reach into."""
_LABELS: Final = {Per.HOUR: "%Y%m%d%H", Per.DAY: "%Y%m%d", Per.MONTH: "%Y%m"}


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def bucket(at: Seconds) -> int:
    """Return the number of the counter of a moment, for 24 hours that slide."""
    return int(at // BUCKET)


def label(per: Per, zone: str, at: Seconds) -> str:
    """Return the name of a moment's calendar period: its local hour, day or month."""
    return datetime.fromtimestamp(at, _zone(zone)).strftime(_LABELS[per])


def local_day(zone: str, at: Seconds) -> date:
    """Return the local day of a moment."""
    return datetime.fromtimestamp(at, _zone(zone)).date()


def most(quota: CredentialQuota, at: Seconds) -> int:
    """Return the units of a quota in the period of a moment: fewer than in others while it warms up."""
    return quota.messages if quota.warmup is None else quota.most(local_day(quota.zone, at))


def ends(per: Per, zone: str, at: Seconds) -> Seconds:
    """Return when the calendar period of a moment ends: another begins there.

    Where clocks are set back, some minutes of the ended period may follow.
    """
    wall = datetime.fromtimestamp(at, _zone(zone)).replace(minute=0, second=0, microsecond=0)
    if per is Per.HOUR:
        following = wall.replace(tzinfo=None) + timedelta(hours=1)
    elif per is Per.DAY:
        following = wall.replace(tzinfo=None, hour=0) + timedelta(days=1)
    else:
        following = (wall.replace(tzinfo=None, hour=0, day=1) + timedelta(days=32)).replace(day=1)
    end = following.replace(tzinfo=_zone(zone)).astimezone(UTC).timestamp()
    while end <= at or label(per, zone, end) == label(per, zone, at):
        end += 1800  # clocks change there, by half an hour at the least
    return end
