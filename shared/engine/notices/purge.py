"""The daily walk of each notifier's log: notices that were collected go sooner, and uncollected ones are recorded.

The mark `purged` says how far the walk is. A walk that stops in the middle, or that two processes make at once, sees
some entries again, which changes nothing. Source: docs/adr/0110.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from shared.domain.audit import SYSTEM, Act, Event, audited
from shared.domain.notices.notifier import Notifier
from shared.domain.notices.purge import shortened, to_walk
from shared.domain.notices.updates import Span, UpdateEntry
from shared.domain.times import DAY_MS, Seconds
from shared.frozen import dataclass
from shared.ports import Clock, Notices, Notifiers, UpdateLog

PART: Final = 200
"""Entries between two notes of how far a walk is: a second or two of single writes."""


@dataclass(frozen=True, slots=True)
class NoticePurge:
    """The walk of the notifiers whose day is over.

    Attributes:
        log: their updates.
        notices: what the updates are about.
        notifiers: whose they are.
        clock: the time.
        part: entries between two notes of how far a walk is.
    """

    log: UpdateLog
    notices: Notices
    notifiers: Notifiers
    clock: Clock
    part: int = PART

    def walk(self, deadline: Seconds) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield the notifiers whose next walk is due, each with what continues it until the deadline (Unix s)."""
        for name in self.log.to_purge(int(self.clock.now() * 1000)):
            yield name, partial(self.one, name, deadline)

    def one(self, name: str, deadline: Seconds) -> None:
        """Continue a notifier's walk until it is over or time is up (Unix seconds)."""
        while not self._part(name) and self.clock.now() < deadline:
            pass

    def _part(self, name: str) -> bool:
        """Walk some entries of a notifier; tell whether its walk of today is over."""
        notifier, marks = self.notifiers.get(name), self.log.marks(name)
        now = int(self.clock.now() * 1000)
        if notifier is None:
            self.log.purge(name, marks.purged, again=None)
            return True
        span = to_walk(marks, notifier.created_at, now)
        some, until = _some(self.log.read(name, span), self.part, span.end)
        unread = self._look_at(some, marks.collected)
        over = until == span.end
        again = self._next(notifier, until, now, over=over)
        self.log.purge(name, until, again=again, event=_event(notifier, unread, now))
        return over

    def _look_at(self, entries: Sequence[UpdateEntry], collected: int) -> int:
        """Shorten the life of notices whose last entry is collected; return how many expired uncollected."""
        last = {x.notice: x for x in entries if x.ended}
        found = self.notices.read(tuple(last))
        unread = 0
        for uuid, entry in last.items():
            notice = found.get(uuid)
            if entry.stamp >= collected:
                unread += notice is None or notice.version == entry.version
            elif notice is not None and (until := shortened(notice, entry)) is not None:
                self.notices.shorten(notice, until)
        return unread

    def _next(self, notifier: Notifier, until: int, now: int, *, over: bool) -> int | None:
        """Return when the walk continues (Unix ms); None: the notifier is deleted, and its log holds nothing more."""
        if not over:
            return now
        ended = notifier.deleted and next(self.log.read(notifier.name, Span(until, now)), None) is None
        return None if ended else now + DAY_MS


def _some(entries: Iterable[UpdateEntry], count: int, end: int) -> tuple[list[UpdateEntry], int]:
    """Return about `count` entries and the stamp up to which they are all, `end` if none is left."""
    found: list[UpdateEntry] = []
    for entry in entries:
        if len(found) >= count and entry.stamp != found[-1].stamp:
            return found, entry.stamp
        found.append(entry)
    return found, end


def _event(notifier: Notifier, unread: int, now: int) -> Event | None:
    """Return the entry of the audit log about notices that went uncollected; None: there are none."""
    if not unread:
        return None
    return audited(notifier.namespace, now, notifier.name, Act.NOTICES_UNREAD, SYSTEM, {"notices": unread})
