"""The stats of a notifier by UTC day: a day that is over is counted once and stored, today is counted each time.

Before a day is counted for good, the log is closed up to its end. So no entry is ever added to it.
Source: docs/adr/0114.
"""

from collections.abc import Mapping, Sequence
from datetime import date

from shared.domain.notices.days import NotifierDay, counted, span_of
from shared.domain.notices.notifier import Notifier
from shared.domain.notices.updates import Span, day_of, settled
from shared.ports import Clock, UpdateLog


class NotifierDays:
    """Counts the updates of notifiers."""

    def __init__(self, *, log: UpdateLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock

    def of(self, notifier: Notifier, days: Sequence[date]) -> list[NotifierDay]:
        """Return what the updates of some UTC days count, in their order; of today those so far.

        Days before the notifier was made are empty and cost nothing, stored days one read together.

        Args:
            days: in UTC, within the last `updates.LOG_DAYS` days.
        """
        spans = [span_of(day) for day in days]
        stored = self._stored(notifier.name, [x for x in spans if x.end > notifier.created_at])
        return [stored.get(day_of(x.start), NotifierDay(day_of(x.start))) for x in spans]

    def _stored(self, name: str, spans: Sequence[Span]) -> Mapping[str, NotifierDay]:
        """Return the figures of each day: those that are stored, and the others as they are counted now."""
        stored = dict(self._log.days(name, [day_of(x.start) for x in spans]))
        missing = [x for x in spans if day_of(x.start) not in stored]
        over = [x for x in missing if x.end <= settled(int(self._clock.now() * 1000))]
        if over:
            self._close(name, max(x.end for x in over))
        for span in missing:
            found = counted(span, self._log.read(name, span))
            stored[found.day] = found
            if span in over:
                self._log.keep_day(name, found)
        return stored

    def _close(self, name: str, until: int) -> None:
        if self._log.marks(name).closed < until:
            self._log.close(name, until)
