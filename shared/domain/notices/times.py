"""When a notice may be sent: dates, hours and waits in a notifier's zone. Every moment is Unix milliseconds UTC.

Hours are those of the local clock. A local time that does not exist moves forward to the first that does. Of one that
exists twice, the first counts. Source: docs/adr/0111.
"""

import re
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from shared.domain.hours.zones import change_of_offset, moments, same_offset, zone_of
from shared.domain.times import Millis
from shared.frozen import dataclass

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
HOUR_MINUTES: Final = 60
ROUND_MS: Final = 5 * MINUTE_MS
"""Attempts after a failure begin at multiples of this, so that they gather in few jobs."""
LEAST_WAIT_MS: Final = 10 * MINUTE_MS
# change: the longest wait of a notice after a failure
LONGEST_WAIT_MS: Final = 24 * HOUR_MS
WIDEST_MS: Final = 24 * HOUR_MS
"""With so much time left, or less, all reasonable hours are permitted."""
NARROW_MS: Final = 72 * HOUR_MS
"""With so much time left, or more, only the preferred hours are."""
YEARS_AHEAD: Final = 2
FIRST_YEAR: Final = 2000
_DATE: Final = re.compile(r"(\d{4})(-?)(\d{2})\2(\d{2})(?:[T ].*)?", re.ASCII | re.DOTALL)
_HOUR: Final = re.compile(r"\d{1,2}", re.ASCII)
_RANGE: Final = re.compile(r"(\d{1,2}) *- *(\d{1,2})", re.ASCII)
_LOOK_DAYS: Final = 4
"""Days that are searched for a window. A day may be missing, in a zone that crosses the date line. On another, summer
time may leave nothing of the window."""


class DayWindow(NamedTuple):
    """Part of a day, in minutes since local midnight: from `start` until `end`, which is exclusive."""

    start: int
    end: int

    def within(self, other: "DayWindow") -> "DayWindow":
        """Return what both have in common; its end may lie before its start."""
        return DayWindow(max(self.start, other.start), min(self.end, other.end))


@dataclass(frozen=True, slots=True)
class Hours:
    """A notifier's reasonable hours.

    Attributes:
        timezone: a name of the IANA database, as `Australia/Sydney`.
        first: the hour from which on messages may be sent, 0 to 23.
        last: the hour from which on none may, more than `first`, at most 24.
    """

    timezone: str
    first: int = 9
    last: int = 21

    @property
    def window(self) -> DayWindow:
        """The reasonable hours of a day."""
        return DayWindow(self.first * HOUR_MINUTES, self.last * HOUR_MINUTES)

    def preferred(self, start: int | None, end: int | None) -> DayWindow:
        """Return the preferred hours of a day, clipped; all reasonable hours if less than an hour is left."""
        if start is None or end is None:
            return self.window
        clipped = DayWindow(start * HOUR_MINUTES, end * HOUR_MINUTES).within(self.window)
        return clipped if clipped.end - clipped.start >= HOUR_MINUTES else self.window


def read_date(text: str, today: date) -> date | None:
    """Read `YYYY-MM-DD` or `YYYYMMDD`; a time that follows after `T` or a space is ignored.

    Args:
        today: the date from which at most two years are allowed.

    Returns:
        None if it is no such date, or too far away.
    """
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return None
    try:
        day = date(int(found[1]), int(found[3]), int(found[4]))
    except ValueError:
        return None
    return day if day.year >= FIRST_YEAR and day <= _years_after(today) else None


def _years_after(day: date) -> date:
    """Return the last date that is at most two years after a day."""
    leap = (day.month, day.day) == (2, 29)
    return day.replace(year=day.year + YEARS_AHEAD, day=28 if leap else day.day)


def read_hours(text: str) -> tuple[int, int] | None:
    """Read a preferred time, `9` or `9-12`, into the hours that it spans; None if it has another form."""
    text = text.strip()
    if _HOUR.fullmatch(text):
        start, end = int(text), int(text) + 1
    elif found := _RANGE.fullmatch(text):
        start, end = int(found[1]), int(found[2])
    else:
        return None
    return (start, end) if start < end <= 24 else None  # noqa: PLR2004 - hours of a day


def local(timezone: str, at: int) -> datetime:
    """Return the local time of a moment, to the second."""
    return datetime.fromtimestamp(at // 1000, zone_of(timezone))


def local_date(timezone: str, at: int) -> date:
    """Return the local date of a moment."""
    return local(timezone, at).date()


def moment(timezone: str, day: date, minute: int = 0) -> int:
    """Return the moment of a local time: its first if there are two, the first one after it if there is none.

    Args:
        timezone: the zone's name.
        minute: minutes since its midnight, 0 to 1440.
    """
    return _moments(zone_of(timezone), day, minute)[0]


def _moments(zone: ZoneInfo, day: date, minute: int) -> tuple[int, ...]:
    """Return every moment of a local time, the first one first."""
    return moments(datetime(day.year, day.month, day.day) + timedelta(minutes=minute), zone)  # noqa: DTZ001 - of the zone


def contains(timezone: str, window: DayWindow, at: int) -> bool:
    """Tell whether a moment lies in a window by its local time.

    Args:
        timezone: the zone's name.
        window: part of a day.
        at: a moment.
    """
    wall = local(timezone, at)
    return window.start <= wall.hour * HOUR_MINUTES + wall.minute < window.end


def first_in(timezone: str, window: DayWindow, at: int, day: date | None = None) -> int:
    """Return the first moment of a window that is neither before `at` nor before a local date.

    Args:
        timezone: the zone's name.
        window: not empty.
        at: a moment.
        day: a date; None: any.
    """
    zone = zone_of(timezone)
    today = local_date(timezone, at)
    if day is None or today >= day:
        if contains(timezone, window, at):
            return at
        day = today
    for n in range(_LOOK_DAYS):
        for start in _moments(zone, day + timedelta(days=n), window.start):
            if start >= at and contains(timezone, window, start):
                return start
    raise ValueError(f"{timezone} has no {window} from {day} on")


def end_of(timezone: str, window: DayWindow, at: int) -> int:
    """Return the first moment after `at` that does not lie in a window.

    Args:
        timezone: the zone's name.
        window: part of a day.
        at: a moment that lies in it.
    """
    zone = zone_of(timezone)
    day = local_date(timezone, at)
    ends = [x for n in (0, 1) for x in _moments(zone, day + timedelta(days=n), window.end) if x > at]
    end = min(ends)
    if not same_offset(zone, at, end):
        change = change_of_offset(zone, at, end)
        if not contains(timezone, window, change):
            return change
    return end


def first_attempt(hours: Hours, preferred: DayWindow, now: int, expires: Millis, delivery: date) -> int | None:
    """Return when to try first: in preferred hours, or in reasonable ones if no preferred hour comes before the expiry.

    Args:
        hours: the reasonable hours.
        now: the earliest moment.

    Returns:
        None: no reasonable hour comes before the expiry.
    """
    return _before(hours, preferred, now, expires, delivery)


def _before(hours: Hours, window: DayWindow, earliest: int, expires: Millis, day: date | None) -> int | None:
    """Return the first moment of a window before the expiry, else that of the reasonable hours; None: neither comes.

    Args:
        hours: the reasonable hours.
        earliest: a moment.
        day: the earliest local date; None: any.
    """
    found = (first_in(hours.timezone, x, earliest, day) for x in (window, hours.window))
    return next((at for at in found if at < expires), None)


def wait(left: int) -> int:
    """Return how long to wait after a failure, in milliseconds; `left`: milliseconds until the expiry."""
    return max(LEAST_WAIT_MS, min(LONGEST_WAIT_MS, left // 4))


def permitted(hours: Hours, preferred: DayWindow, left: int) -> DayWindow:
    """Return the preferred hours, widened towards the reasonable ones as the expiry comes nearer.

    Args:
        hours: the reasonable hours.
        left: milliseconds until the expiry.
    """
    share = min(max(NARROW_MS - left, 0), NARROW_MS - WIDEST_MS)
    whole = hours.window
    start = preferred.start - (preferred.start - whole.start) * share // (NARROW_MS - WIDEST_MS)
    end = preferred.end + (whole.end - preferred.end) * share // (NARROW_MS - WIDEST_MS)
    return DayWindow(start, end)


def next_attempt(hours: Hours, preferred: DayWindow, failed_at: int, expires: Millis) -> int | None:
    """Return when to try again after a temporary failure; None if no moment is left before the expiry.

    Args:
        hours: the reasonable hours.
        failed_at: the moment of the failure.
    """
    left = expires - failed_at
    earliest = -(-(failed_at + wait(left)) // ROUND_MS) * ROUND_MS
    at = first_in(hours.timezone, permitted(hours, preferred, left), earliest)
    if at < expires:
        return at
    at = first_in(hours.timezone, hours.window, failed_at + LEAST_WAIT_MS)
    return at if at < expires else None


def resumed(hours: Hours, preferred: DayWindow, now: int, expires: Millis, day: date | None = None) -> int | None:
    """Return when to try again after a run that ended without a failure, or an update; None if no moment is left.

    Args:
        hours: the reasonable hours.
        now: the earliest moment.
        day: the earliest local date; None: any.
    """
    return _before(hours, permitted(hours, preferred, expires - now), now, expires, day)


def run_end(hours: Hours, now: int, expires: Millis) -> int:
    """Return from when on a run's messages are not sent: the end of the present reasonable hours, or the expiry.

    Outside of the reasonable hours it is `now`: nothing of such a run is sent.

    Args:
        hours: the reasonable hours.
        now: when the run begins.
    """
    if not contains(hours.timezone, hours.window, now):
        return min(now, expires)
    return min(end_of(hours.timezone, hours.window, now), expires)


def days_after(day: date, days: int) -> date:
    """Return a date some days later."""
    return day + timedelta(days=days)
