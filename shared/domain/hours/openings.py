"""Parts of some days of the week, by the clock of a zone. Moments are Unix milliseconds.

They are by the local clock, as notices' hours are. Where a time does not exist on a day, the first moment after it
counts. Times that the clock shows twice count twice. Source: docs/adr/0227.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from functools import cache
from typing import Final

from shared.domain.hours.zones import change_of_offset, moments, same_offset, zone_of
from shared.domain.times import Millis
from shared.frozen import dataclass

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""Days of the week as requests name them, in their order."""
WHOLE_DAY: Final = 24 * 60
LEAST: Final = 15
"""Minutes that hours last, at least."""
_TIME: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)|24:00", re.ASCII)
_LOOK_DAYS: Final = 16
"""Days that are searched. Hours of one day of the week may fall into the hour that summer time leaves out."""
_TURNS: Final = 100
"""Steps towards a moment at which several hours are open: more than there are openings in a month."""
_WINDOWS: Final = 500
"""Openings that are added up, at most: those of more than a year of days."""


class InvalidHoursError(ValueError):
    """A text is no time of day, or hours are too short. The message is a sentence without a full stop."""


def read_time(text: str) -> int:
    """Return the minutes since midnight of `HH:MM`, 0 to 1440.

    Raises:
        InvalidHoursError: it has another form.
    """
    if not _TIME.fullmatch(text):
        raise InvalidHoursError("A time of day has the form HH:MM, from 00:00 to 24:00")
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)


def time_text(minute: int) -> str:
    """Return minutes since midnight as `HH:MM`."""
    return f"{minute // 60:02}:{minute % 60:02}"


@dataclass(frozen=True, slots=True)
class Window:
    """Part of some days of the week.

    Attributes:
        start: minutes since midnight, 0 to 1439.
        end: minutes since midnight, exclusive, 1 to 1440; if it is less than `start`, of the day after.
        days: on which it starts, 0 for Monday; not empty.
    """

    start: int
    end: int
    days: tuple[int, ...] = tuple(range(7))

    def __post_init__(self) -> None:
        if not 0 <= self.start < WHOLE_DAY or not 0 < self.end <= WHOLE_DAY:
            raise InvalidHoursError("Hours begin from 00:00 to 23:59, and end from 00:01 to 24:00")
        if (self.end - self.start) % WHOLE_DAY < LEAST and self.end - self.start != WHOLE_DAY:
            raise InvalidHoursError(f"Hours last {LEAST} minutes at least")
        if not self.days or not set(self.days) <= set(range(7)):
            raise InvalidHoursError("Hours need a day of the week")

    @property
    def always(self) -> bool:
        """Whether it never ends."""
        return self.end - self.start == WHOLE_DAY and len(set(self.days)) == len(DAYS)

    def shows(self, local: datetime) -> bool:
        """Tell whether a local time lies in it."""
        minute, day = local.hour * 60 + local.minute, local.weekday()
        if self.start < self.end:
            return self.start <= minute < self.end and day in self.days
        return (minute >= self.start and day in self.days) or (minute < self.end and (day - 1) % 7 in self.days)

    @property
    def rest(self) -> "Window":
        """The other part of every day. It is only for a window of all days that leaves a part."""
        return Window(self.end % WHOLE_DAY, self.start or WHOLE_DAY)


@dataclass(frozen=True, slots=True)
class Opening:
    """A window by the clock of one zone. `zone`: a name of the IANA database."""

    window: Window
    zone: str

    def is_open(self, at: Millis) -> bool:
        """Tell whether a moment lies in it."""
        return self.window.shows(datetime.fromtimestamp(at // 1000, zone_of(self.zone)))

    def next(self, at: Millis, *, is_open: bool) -> Millis | None:
        """Return the first moment from `at` on at which it is open, or closed; None: there is none within days.

        `is_open`: which of the two.
        """
        if self.is_open(at) is is_open:
            return at
        if self.window.always:
            return None
        today = datetime.fromtimestamp(at // 1000, zone_of(self.zone)).date()
        for n in range(-1, _LOOK_DAYS):
            both = (*self._changes(today + timedelta(days=n)), *self._changes(today + timedelta(days=n + 1)))
            found = [x for x in both if x > at and self.is_open(x) is is_open]
            if found:
                return min(found)
        return None

    def _changes(self, day: date) -> list[Millis]:
        """Return the moments of a local day at which it may open or close."""
        zone, midnight = zone_of(self.zone), datetime(day.year, day.month, day.day)  # noqa: DTZ001 - of the zone
        marks = {0, self.window.start, self.window.end}
        found = [x for minute in marks for x in moments(midnight + timedelta(minutes=minute), zone)]
        low, high = min(found), moments(midnight + timedelta(days=1), zone)[-1]
        if low < high and not same_offset(zone, low, high):
            found.append(change_of_offset(zone, low, high))
        return found


def window_of(start: str, end: str, days: Iterable[str] | None = None) -> Window:
    """Return a window as a request writes it.

    Args:
        start: `HH:MM`; likewise `end`.
        days: names of DAYS; None: all.

    Raises:
        InvalidHoursError: a time has another form, or the hours are too short.
    """
    wanted = DAYS if days is None else set(days)
    return Window(read_time(start), read_time(end), tuple(i for i, name in enumerate(DAYS) if name in wanted))


def opening(of: Sequence[Opening], at: Millis) -> Millis:
    """Return the first moment from `at` on at which all of these are open.

    If there is none within a month, the last moment that it came to, so that the search begins again from there.
    """
    for _ in range(_TURNS):
        later = at
        for one in of:
            found = one.next(later, is_open=True)
            later = later + _LOOK_DAYS * WHOLE_DAY * 60_000 if found is None else found
        if later == at:
            return at
        at = later
    return at


def meets(of: Sequence[Opening], at: Millis) -> bool:
    """Tell whether there is a moment from `at` on at which all of these are open."""
    found = opening(of, at)
    return all(one.is_open(found) for one in of)


def closing(of: Sequence[Opening], at: Millis) -> Millis | None:
    """Return the first moment from `at` on at which one of these is not open; None: there is none within days."""
    found = [x for one in of if (x := one.next(at, is_open=False)) is not None]
    return min(found, default=None)


def after(of: Sequence[Opening], at: Millis, length: Millis) -> Millis:
    """Return when these have been open for some time from `at` on.

    Args:
        length: that time; what is more than a year's openings is not counted.
    """
    for _ in range(_WINDOWS):
        at = opening(of, at)
        end = closing(of, at)
        if end is None or end - at >= length:
            return at + length
        length -= end - at
        at = end
    return at


@cache
def quiet(text: str) -> Opening:
    """Return the time outside of quiet hours, in which messages may be sent. The zone is not checked.

    Args:
        text: the quiet part of each day and its zone, as `21:00-08:00 Europe/Paris`.

    Raises:
        InvalidHoursError: it has another form, or nothing of a day is left.
    """
    times, _, zone = text.partition(" ")
    start, _, end = times.partition("-")
    window = window_of(start, end)
    if window.always:
        raise InvalidHoursError("Quiet hours leave a part of the day")
    return Opening(window.rest, zone)
