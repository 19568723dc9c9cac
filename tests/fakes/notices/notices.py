"""Notices, their update log and inboxes in memory."""

import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from shared.adapters.dynamo.notices.keys import shard_of
from shared.domain.notices.inbox import MAX_ITEMS, InboxState
from shared.domain.notices.notice import Notice, NoticeChange
from shared.domain.notices.updates import UpdateEntry
from shared.ports import InboxStep
from tests.fakes.faults import Atomic, Tap
from tests.fakes.notices.updates import FakeUpdates

T = TypeVar("T")


class FakeNotices:
    """`ports.Notices` in memory; thread-safe.

    Attributes:
        items: notices by key.
        log: every entry, in the order of writing.
        closed: notifier → up to when readers have closed its log.
    """

    def __init__(self, tap: Tap | None = None, updates: FakeUpdates | None = None) -> None:
        self._updates = updates
        self.items: dict[str, Notice] = {}
        self.log: list[UpdateEntry] = []
        self.closed: dict[str, int] = {}
        self.lock = threading.RLock()
        self._atomic = Atomic("notices", self.lock, tap or Tap())

    def read(self, uuids: Collection[str]) -> dict[str, Notice]:
        return self._atomic("read", lambda: {x: self.items[x] for x in uuids if x in self.items})

    def write(self, old: Notice | None, change: NoticeChange) -> bool:
        return self._atomic("write", lambda: self._write(old, change))

    def _write(self, old: Notice | None, change: NoticeChange) -> bool:
        if not self.unchanged(old, change):
            stored = self.items.get(change.notice.uuid) if change.notice else None
            return stored is not None and stored == change.notice  # ours, whose answer was lost
        self.apply([(old, change)])
        return True

    def write_all(self, changes: Sequence[tuple[Notice, NoticeChange]]) -> bool:
        entries = sum(len(x.entries) for _, x in changes)
        assert len(changes) + entries + (entries > 0) <= MAX_ITEMS
        assert len({old.uuid for old, _ in changes}) == len(changes), "one notice twice in a transaction"

        def written() -> bool:
            if not all(self.unchanged(*x) for x in changes):
                return False
            self.apply(changes)
            return True

        return self._atomic("write_all", written)

    def unchanged(self, old: Notice | None, change: NoticeChange) -> bool:
        """Tell whether a notice is as read."""
        if change.notice is None:
            return True
        stored = self.items.get(change.notice.uuid)
        if stored is None:
            return old is None or old.ttl > 0
        return old is not None and stored.version == old.version

    def apply(self, changes: Sequence[tuple[Notice | None, NoticeChange]]) -> None:
        """Write changes that are unchanged, within the lock."""
        for _, change in changes:
            after = change
            while not self._admits(after):
                taken = max((x.stamp for x in after.entries if self._taken(x)), default=0)
                after = after.after(max(taken, self._closed(after.entries[0].notifier)))
            if after.notice is not None:
                self.items[after.notice.uuid] = after.notice
            self.log += after.entries
            if self._updates is not None:
                self._updates.add(after.entries)

    def _closed(self, notifier: str) -> int:
        there = 0 if self._updates is None else self._updates.closed(notifier)
        return max(there, self.closed.get(notifier, 0))

    def _admits(self, change: NoticeChange) -> bool:
        return not any(x.stamp <= self._closed(x.notifier) or self._taken(x) for x in change.entries)

    def _taken(self, entry: UpdateEntry) -> bool:
        return any((x.stamp, x.notice) == (entry.stamp, entry.notice) for x in self.log)

    def shorten(self, notice: Notice, until: int) -> None:
        def put() -> None:
            stored = self.items.get(notice.uuid)
            if stored is not None and stored.version == notice.version and stored.ttl > until:
                self.items[notice.uuid] = replace(stored, ttl=until)

        self._atomic("shorten", put)

    def due(self, shard: int, now: int) -> Iterable[str]:
        def found() -> list[str]:
            there = [x for x in self.items.values() if shard_of(x.notifier) == shard]
            places = sorted((x.due, x.uuid) for x in there if x.due is not None and x.due <= now)
            return [uuid for _, uuid in places]

        yield from self._atomic("due", found)

    def of_number(self, account: str, phone: str) -> Iterable[str]:
        def found() -> list[str]:
            there = [x for x in self.items.values() if (x.account, x.data.phone) == (account, phone)]
            return [x.uuid for x in sorted(there, key=lambda x: (x.created_at, x.uuid), reverse=True)]

        yield from self._atomic("of_number", found)


class FakeInboxes:
    """`ports.Inboxes` in memory, atomic with the notices it is given.

    Attributes:
        states: notifier → how far its inbox is; `since`: since when it is not empty.
        payloads: by notifier and number.
    """

    def __init__(self, notices: FakeNotices, tap: Tap | None = None) -> None:
        self.notices = notices
        self.states: dict[str, InboxState] = {}
        self.since: dict[str, int] = {}
        self.payloads: dict[tuple[str, int], bytes] = {}
        self._atomic = Atomic("inboxes", notices.lock, tap or Tap())

    def add(self, notifier: str, body: bytes, now: int) -> int:
        self._atomic("add.body", lambda: None)

        made: list[int] = []

        def numbered() -> int:
            if made:
                return made[0]  # ours, whose answer was lost
            old = self.states.get(notifier, InboxState(notifier))
            last = old.last + 1
            self.states[notifier] = InboxState(notifier, last, old.payload, old.record)
            self.payloads[notifier, last] = body
            self.since.setdefault(notifier, now)
            made.append(last)
            return last

        return self._atomic("add", numbered)

    def state(self, notifier: str) -> InboxState:
        return self._atomic("state", lambda: self.states.get(notifier, InboxState(notifier)))

    def payload(self, notifier: str, number: int) -> bytes:
        return self._atomic("payload", lambda: self.payloads[notifier, number])

    def advance(
        self, old: InboxState, new: InboxState, changes: Sequence[tuple[Notice | None, NoticeChange]]
    ) -> InboxStep:
        return self._atomic("advance", lambda: self._advance(old, new, changes))

    def _advance(
        self, old: InboxState, new: InboxState, changes: Sequence[tuple[Notice | None, NoticeChange]]
    ) -> InboxStep:
        entries = sum(len(x.entries) for _, x in changes)
        items = 1 + sum(x.notice is not None for _, x in changes) + entries + (entries > 0)
        assert items <= MAX_ITEMS, f"a transaction of {items} items"
        written = [x.notice.uuid for _, x in changes if x.notice is not None]
        assert len(set(written)) == len(written), "one notice twice in a transaction"
        stored = self.states.get(old.notifier, InboxState(old.notifier))
        there = stored.payload, stored.record
        if there == (new.payload, new.record):
            return InboxStep.TAKEN  # ours, whose answer was lost
        if there != (old.payload, old.record):
            return InboxStep.LATE
        if stored.last != old.last or not all(self.notices.unchanged(*x) for x in changes):
            return InboxStep.CHANGED
        self.notices.apply(changes)
        self.states[old.notifier] = new
        if new.empty:
            self.since.pop(old.notifier, None)
        return InboxStep.TAKEN

    def waiting(self, now: int, older: int) -> Iterable[str]:
        def found() -> list[str]:
            return [x for x, at in sorted(self.since.items(), key=lambda x: (x[1], x[0])) if at <= now - older]

        yield from self._atomic("waiting", found)
