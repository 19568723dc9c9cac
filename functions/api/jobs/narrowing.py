"""Lists that are narrowed: by day of acceptance, and by what their rows say. A page reads a bounded number of rows."""

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Final, Protocol, TypeVar

from pydantic import Field

from functions.api.requests import Day
from shared.domain.jobs.labels import MAX_REFERENCE
from shared.domain.times import Millis, day_begins
from shared.web.inputs import Paging
from shared.web.problems import invalid

PAGES: Final = 10
"""Pages of a list that are read for one of a narrowed one."""


class AcceptedRow(Protocol):
    """Something that was accepted. Times are Unix milliseconds."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def created_at(self) -> Millis:
        """When it was accepted."""


T = TypeVar("T", bound=AcceptedRow)


class DayPaging(Paging):
    """Rows of some days."""

    from_: Day | None = Field(None, alias="from", description="First UTC day of acceptance.")
    to: Day | None = Field(None, description="Last UTC day of acceptance, included.")

    def span(self) -> tuple[Millis, Millis]:
        """Return when the days begin, and when they are over; 0 for a bound that is not given.

        Raises:
            Problem: validation_failed.
        """
        first, last = self.from_, self.to
        if first is not None and last is not None and last < first:
            raise invalid("from", "The first day must not be after the last.")
        until = day_begins(last + timedelta(days=1)) if last is not None and last < date.max else 0
        return max(0, day_begins(first)) if first is not None else 0, max(0, until)


class ListQuery(DayPaging):
    """Rows of some days, or with some words."""

    reference: str | None = Field(None, min_length=1, max_length=MAX_REFERENCE, description="Its own reference.")


def narrowed(
    query: DayPaging,
    place: str,
    read: Callable[[str], tuple[Sequence[T], str]],
    fits: Callable[[T], bool],
) -> tuple[list[T], str]:
    """Return rows that fit, newest first, and the place to continue from; empty at the end.

    Args:
        place: where the page begins; empty: at the beginning.
        read: returns a page of the whole list after a place, and the place of the next one.
    """
    since, until = query.span()
    if until:
        place = min(place or "9", f"{until:015d}")
    found: list[T] = []
    for _ in range(PAGES):
        some, place = read(place)
        for row in some:
            if row.created_at < since:
                return found, ""
            if fits(row):
                found.append(row)
            if len(found) == query.limit:
                return found, place if row is some[-1] else f"{row.created_at:015d}#{row.id}"
        if not place:
            break
    return found, place
