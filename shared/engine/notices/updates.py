"""Read a notifier's updates: close what is read, read it, and note how far the log is collected."""

from json import dumps

from shared.domain.hours.zones import SECOND_MS
from shared.domain.notices.notifier import Notifier
from shared.domain.notices.updates import (
    LOG_DAYS,
    MAX_BYTES,
    BadRange,
    Span,
    collected_after,
    cut,
    line,
    read_range,
    settled,
)
from shared.domain.times import DAY_MS
from shared.frozen import dataclass
from shared.ports import Clock, UpdateLog


@dataclass(frozen=True, slots=True)
class UpdatesRead:
    """An answer. `body`: a JSON array; `rest`: the range to ask for next, None if the answer is complete."""

    body: str
    rest: Span | None


class UpdateReader:
    """Reads the updates of notifiers.

    Args:
        limit: bytes of one answer.
    """

    def __init__(self, *, log: UpdateLog, clock: Clock, limit: int = MAX_BYTES) -> None:
        self._log = log
        self._clock = clock
        self._limit = limit

    def read(self, notifier: Notifier, text: str) -> UpdatesRead | BadRange:
        """Return the updates of a range as a notifier writes it, up to what has settled.

        Args:
            text: `FROM-TO`, see `read_range`.
        """
        now = int(self._clock.now() * 1000)
        asked = read_range(text, notifier.zone, now)
        if isinstance(asked, BadRange):
            return asked
        end = min(asked.end, settled(now))
        first = max(asked.start, notifier.created_at, now - LOG_DAYS * DAY_MS)
        if first >= end:
            return UpdatesRead("[]", None)
        return self._answer(notifier, asked, Span(first, end))

    def _answer(self, notifier: Notifier, asked: Span, span: Span) -> UpdatesRead:
        marks = self._log.marks(notifier.name)
        if marks.closed < span.end:
            self._log.close(notifier.name, span.end)
        stamps: list[int] = []
        lines: list[str] = []
        sizes: list[int] = []
        total = 0
        for entry in self._log.read(notifier.name, span):
            stamps.append(entry.stamp)
            lines.append(line(entry, notifier.zone))
            sizes.append(len(dumps(lines[-1])))  # as a string of JSON, which is how Lambda passes it on
            total += sizes[-1] + 1
            if total > self._limit:
                break
        count = cut(stamps, sizes, self._limit)
        whole = count == len(lines)
        read = span if whole else Span(span.start, _end(stamps[count - 1], stamps[count]))
        begins = 0 if span.start > asked.start else span.start  # nothing is older than the first stamp there can be
        collected = collected_after(marks, Span(begins, read.end))
        if collected > marks.collected:
            self._log.collect(notifier.name, collected)
        return UpdatesRead(f"[{','.join(lines[:count])}]", None if whole else Span(read.end, asked.end))


def _end(last: int, following: int) -> int:
    """Return where an answer ends: at a whole second between two stamps, or else at the one that follows."""
    second = following // SECOND_MS * SECOND_MS
    return second if last < second else following
