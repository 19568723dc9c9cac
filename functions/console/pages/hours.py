"""Hours in which a campaign is sent, as people type and read them."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from shared.domain.hours.hours import RECIPIENT, OpenHours
from shared.domain.hours.openings import DAYS, InvalidHoursError, time_text, window_of
from shared.domain.hours.zones import is_zone
from shared.frozen import dataclass

NAMES: Final[Mapping[str, str]] = {
    "mon": "Monday",
    "tue": "Tuesday",
    "wed": "Wednesday",
    "thu": "Thursday",
    "fri": "Friday",
    "sat": "Saturday",
    "sun": "Sunday",
}
MAX_TYPED: Final = 64
"""Characters of a time or a zone."""


@dataclass(frozen=True, slots=True)
class TypedHours:
    """The hours of a form; all empty: at any time.

    Attributes:
        days: names of DAYS.
        own: each recipient's own zone counts, and `zone` only for the others.
    """

    start: str = ""
    end: str = ""
    zone: str = ""
    days: tuple[str, ...] = field(default=DAYS)
    own: bool = False

    @property
    def hours(self) -> OpenHours | None:
        """The hours.

        Raises:
            ValueError: they make no sense; the message is a sentence.
        """
        if not (self.start or self.end):
            return None
        if not is_zone(self.zone):
            raise ValueError("This time zone is unknown. Type one such as Europe/Berlin.")
        try:
            window = window_of(self.start, self.end, self.days)
        except InvalidHoursError as fault:
            raise ValueError(f"{fault}.") from None
        return OpenHours(window, RECIPIENT, self.zone) if self.own else OpenHours(window, self.zone)


def typed(form: Mapping[str, str]) -> TypedHours:
    """Read the fields of a form."""
    start, end, zone = (form.get(f"hours_{name}", "").strip()[:MAX_TYPED] for name in ("from", "to", "zone"))
    end = "24:00" if end == "00:00" else end  # a browser's field of a time has no 24:00
    days = tuple(day for day in DAYS if form.get(f"day_{day}"))
    return TypedHours(start, end, zone, days, own=form.get("hours_own", "") == "1")


def again(hours: OpenHours | None) -> TypedHours:
    """Return hours as a form has them."""
    if hours is None:
        return TypedHours()
    window = hours.window
    days = tuple(DAYS[day] for day in window.days)
    zone = hours.fallback if hours.by_recipient else hours.zone
    return TypedHours(time_text(window.start), time_text(window.end), zone, days, own=hours.by_recipient)


def words(hours: OpenHours | None) -> str:
    """Return hours for people; empty for any time."""
    if hours is None:
        return ""
    found = again(hours)
    days = "every day" if len(found.days) == len(DAYS) else ", ".join(NAMES[day] for day in found.days)
    where = f"each recipient's own time zone, or else {found.zone}" if found.own else found.zone
    return f"{found.start} to {found.end} in {where}, {days}"
