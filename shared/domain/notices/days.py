"""Counts of a notifier's updates, by UTC day."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import UTC, date, datetime

from shared.domain.hours.zones import SECOND_MS
from shared.domain.notices.updates import Span, UpdateEntry, day_of
from shared.domain.times import DAY_MS
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class NotifierDay:
    """The counts of one UTC day's updates.

    Attributes:
        day: `YYYYMMDD`.
        statuses: status → number of entries.
        errors: code → number of entries.
        rejected: number of rejected records.
    """

    day: str
    statuses: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    rejected: int = 0


def span_of(day: date) -> Span:
    """Return the stamps of a UTC day."""
    start = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * SECOND_MS
    return Span(start, start + DAY_MS)


def counted(span: Span, entries: Iterable[UpdateEntry]) -> NotifierDay:
    """Return what the updates of a UTC day count. `span`: the day's stamps; `entries`: all of them."""
    statuses: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    rejected = 0
    for entry in entries:
        rejected += entry.action is not None
        if entry.action is None:
            statuses[entry.status] += 1
        if entry.error:
            errors[entry.error] += 1
    return NotifierDay(day_of(span.start), statuses, errors, rejected)
