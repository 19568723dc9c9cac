"""The updates of a notifier: one append-only log, its entries, and the ranges that a reader asks for.

A reader closes what it reads: it first raises the notifier's mark `closed`, and no entry is written with a stamp that
is not later. So no entry appears behind a reader, and reading again from the end of an answer returns every entry
exactly once.
"""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate
from typing import Final
from zoneinfo import ZoneInfo

from shared.domain.hours.zones import SECOND_MS, instant
from shared.domain.jobs.labels import NO_LABELS, Labels
from shared.domain.times import DAY_MS
from shared.frozen import dataclass

SETTLE_MS: Final = 5_000
"""Milliseconds behind the clock up to which updates are read. A later end would only make writers stamp anew."""
MAX_BYTES: Final = 5_000_000
"""Bytes of one answer."""
LOG_DAYS: Final = 120
"""Days that an entry is kept: longer than any notice that has ended."""
_SECONDS: Final = r"\d{14}"
_FORM: Final = re.compile(rf"(\d{{8}})-(\d{{8}})|({_SECONDS})-({_SECONDS})|(\d{{17}})Z-(\d{{17}})Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class UpdateEntry:
    """One line of a notifier's updates.

    Attributes:
        notifier: whose log it is in.
        notice: UUID of the notice, also of one that is not stored.
        id: what the notifier calls the notice.
        stamp: Unix milliseconds, later than the notice's previous one.
        status: the notice's status, in a rejection the stored one, or PERM_FAIL if none is stored.
        action: of a rejection: the action as it was sent, empty if there was none; None: it is no rejection.
        error: code, empty for none.
        message: a sentence for people, empty for none.
        version: the notice's version that the entry was written with; 0: no notice is stored.
        ended: whether the notice ended with this entry.
        labels: the notice's, when it was written.
    """

    notifier: str
    notice: str
    id: str
    stamp: int
    status: str
    action: str | None = None
    error: str = ""
    message: str = ""
    version: int = 0
    ended: bool = False
    labels: Labels = NO_LABELS


@dataclass(frozen=True, slots=True)
class Marks:
    """How far a notifier's log is read. Unix milliseconds.

    Attributes:
        closed: no entry is written with a stamp up to this one.
        collected: the log is read up to here, without a gap from its beginning.
        purged: the daily walk has shortened the life of the notices that were collected up to here.
    """

    closed: int = 0
    collected: int = 0
    purged: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """A range of stamps, half open. Unix milliseconds."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BadRange:
    """Why a range cannot be answered: a sentence for people."""

    text: str


def next_stamp(now_ms: int, previous: int = 0, closed: int = 0) -> int:
    """Return an entry's stamp, Unix ms.

    Args:
        now_ms: the clock.
        previous: the stamp of the notice's last entry; the next one is later, even if the clock is not.
        closed: the notifier's mark, if it is known.
    """
    return max(now_ms, previous + 1, closed + 1)


def settled(now_ms: int) -> int:
    """Return up to when updates may be read now: the last whole second that lies at least SETTLE_MS back."""
    return (now_ms - SETTLE_MS) // SECOND_MS * SECOND_MS


def read_range(text: str, zone: ZoneInfo, now_ms: int) -> Span | BadRange:
    """Return the range that a reader asks for.

    Args:
        text: `FROM-TO`, both `YYYYMMDD` or both `YYYYMMDDHHMMSS` in the notifier's zone. In a link to the rest of an
            answer, both are `YYYYMMDDHHMMSSmmmZ` in UTC.
        now_ms: the clock.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        return BadRange("A range is FROM-TO, both YYYYMMDD or both YYYYMMDDHHMMSS.")
    try:
        if form[1]:
            return _days(form[1], form[2], zone, now_ms)
        span = _exact(form[5], form[6]) if form[5] else _seconds(form[3], form[4], zone)
    except (ValueError, OverflowError):
        return BadRange("There is no such date or time.")
    return span if span.start <= span.end else BadRange("The range ends before it begins.")


def _days(first: str, last: str, zone: ZoneInfo, now_ms: int) -> Span | BadRange:
    start, end = (datetime.combine(_date(x), time()) for x in (first, last))
    if start > end:
        return BadRange("The range ends before it begins.")
    today = datetime.fromtimestamp(now_ms / SECOND_MS, zone).date()
    if end.date() > today:
        return BadRange("A range in days contains neither today nor a later day: its end is at most today.")
    span = Span(instant(start, zone), instant(end, zone))
    if span.end > settled(now_ms):
        return BadRange("The range's last day has only just ended. Ask again in five seconds.")
    return span


def _seconds(first: str, last: str, zone: ZoneInfo) -> Span:
    start, end = (datetime.strptime(x, "%Y%m%d%H%M%S") for x in (first, last))  # noqa: DTZ007 - made aware below
    # A range from the last update + 1 s means the time after that second. If the second exists twice, its first counts.
    before = instant(start - timedelta(seconds=1), zone) + SECOND_MS
    return Span(min(before, instant(start, zone)), instant(end, zone))


def _exact(first: str, last: str) -> Span:
    start, end = (datetime.strptime(x + "000", "%Y%m%d%H%M%S%f").replace(tzinfo=UTC) for x in (first, last))
    return Span(_ms(start), _ms(end))


def _date(text: str) -> date:
    return date(int(text[:4]), int(text[4:6]), int(text[6:]))


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * SECOND_MS)


def link_range(span: Span) -> str:
    """Return a range as a link has it, which means the same in every zone and hour."""
    return "-".join(
        f"{datetime.fromtimestamp(x / SECOND_MS, UTC):%Y%m%d%H%M%S}{x % SECOND_MS:03d}Z" for x in _ends(span)
    )


def _ends(span: Span) -> tuple[int, int]:
    return span.start, span.end


def days_of(span: Span) -> Iterator[str]:
    """Yield the UTC days, `YYYYMMDD`, that stamps of a range lie in, oldest first."""
    for day in range(span.start // DAY_MS, -(-span.end // DAY_MS)):
        yield day_of(day * DAY_MS)


def day_of(stamp: int) -> str:
    """Return the UTC day of a stamp, `YYYYMMDD`: the partition that its entry is in."""
    return f"{datetime.fromtimestamp(stamp / SECOND_MS, UTC):%Y%m%d}"


def local_time(stamp: int, zone: ZoneInfo) -> str:
    """Return a stamp as RFC 3339 with milliseconds and the zone's offset."""
    moment = datetime.fromtimestamp(stamp // SECOND_MS, zone).replace(microsecond=stamp % SECOND_MS * 1000)
    return moment.isoformat(timespec="milliseconds")


def line(entry: UpdateEntry, zone: ZoneInfo) -> str:
    """Return an entry as JSON, as the notifier reads it."""
    shown: dict[str, str | tuple[str, ...] | None] = {"id": entry.id}
    shown |= {} if entry.action is None else {"action": entry.action}
    shown |= {"status": entry.status, "error": entry.error or None, "message": entry.message or None}
    shown |= {"reference": entry.labels.reference} if entry.labels.reference else {}
    shown |= {"tags": entry.labels.tags} if entry.labels.tags else {}
    shown["updated_at"] = local_time(entry.stamp, zone)
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def cut(stamps: Sequence[int], sizes: Sequence[int], limit: int = MAX_BYTES) -> int:
    """Return how many entries an answer holds: up to a whole second, or a stamp if one second is already too much.

    Args:
        sizes: bytes of each.
        limit: bytes of the answer.
    """
    totals = accumulate(size + 1 for size in sizes)  # each with a comma, and the brackets
    fitting = next((i for i, total in enumerate(totals) if total > limit - 1), len(stamps))
    if fitting == len(stamps):
        return fitting
    for unit in (SECOND_MS, 1):
        end = fitting
        while end and stamps[end - 1] // unit == stamps[fitting] // unit:
            end -= 1
        if end:
            return end
    return max(1, fitting)


def collected_after(marks: Marks, read: Span) -> int:
    """Return up to where the log is collected once a range is read; as before if the range leaves a gap."""
    return max(marks.collected, read.end) if read.start <= marks.collected else marks.collected
