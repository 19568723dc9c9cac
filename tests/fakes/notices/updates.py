"""The updates of notifiers in memory."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from shared.domain.audit import Event
from shared.domain.notices.days import NotifierDay
from shared.domain.notices.updates import Marks, Span, UpdateEntry
from shared.domain.times import DAY_MS
from tests.fakes.faults import Atomic, Tap
from tests.fakes.journal import FakeJournal


class FakeUpdates:
    """`ports.UpdateLog` in memory.

    Attributes:
        items: entries by notifier, stamp and beginning of the notice's id.
        walks: notifier → when its log is walked next, Unix milliseconds.
        kept: what days count, by notifier and day.
    """

    def __init__(
        self,
        tap: Tap | None = None,
        lock: AbstractContextManager[object] | None = None,
        journal: FakeJournal | None = None,
    ) -> None:
        self.items: dict[tuple[str, int, str], UpdateEntry] = {}
        self.walks: dict[str, int] = {}
        self.kept: dict[tuple[str, str], NotifierDay] = {}
        self._marks: dict[str, Marks] = {}
        self._journal = journal or FakeJournal()
        self._atomic = Atomic("updates", lock or threading.RLock(), tap or Tap())

    def closed(self, notifier: str) -> int:
        """Return up to when a notifier's log takes no more entries, within somebody's transaction."""
        return self._marks.get(notifier, Marks()).closed

    def admits(self, entries: Sequence[UpdateEntry]) -> bool:
        """Tell whether somebody's transaction may add entries."""
        places = [(x.notifier, x.stamp, x.notice[:8]) for x in entries]
        free = len(set(places)) == len(places) and not any(place in self.items for place in places)
        return free and all(self.closed(x.notifier) < x.stamp for x in entries)

    def add(self, entries: Sequence[UpdateEntry]) -> None:
        """Add entries within somebody's transaction."""
        self.items |= {(x.notifier, x.stamp, x.notice[:8]): x for x in entries}

    def marks(self, notifier: str) -> Marks:
        return self._atomic("marks", lambda: self._marks.get(notifier, Marks()))

    def close(self, notifier: str, until: int) -> None:
        self._raise("close", notifier, "closed", until)

    def collect(self, notifier: str, until: int) -> None:
        self._raise("collect", notifier, "collected", until)

    def to_purge(self, now: int) -> Iterator[str]:
        yield from self._atomic("to_purge", lambda: [x for x, at in sorted(self.walks.items()) if at <= now])

    def purge(self, notifier: str, until: int, *, again: int | None, event: Event | None = None) -> None:
        def put() -> None:
            known = self._marks.get(notifier, Marks())
            if known.purged > until:
                return
            self._marks[notifier] = replace(known, purged=until)
            self.walks.pop(notifier, None)
            if again is not None:
                self.walks[notifier] = again
            if event is not None:
                self._journal.keep(event)

        self._atomic("purge", put)

    def _raise(self, call: str, notifier: str, mark: str, until: int) -> None:
        def put() -> None:
            known = self._marks.get(notifier, Marks())
            if getattr(known, mark) < until:
                self._marks[notifier] = replace(known, **{mark: until})
                self.walks.setdefault(notifier, until + DAY_MS)

        self._atomic(call, put)

    def days(self, notifier: str, days: Sequence[str]) -> Mapping[str, NotifierDay]:
        return self._atomic("days", lambda: {x: self.kept[notifier, x] for x in days if (notifier, x) in self.kept})

    def keep_day(self, notifier: str, day: NotifierDay) -> None:
        self._atomic("keep_day", lambda: self.kept.update({(notifier, day.day): day}))

    def read(self, notifier: str, span: Span) -> Iterator[UpdateEntry]:
        def found() -> list[UpdateEntry]:
            mine = sorted(k for k in self.items if k[0] == notifier and span.start <= k[1] < span.end)
            return [self.items[k] for k in mine]

        yield from self._atomic("read", found)
