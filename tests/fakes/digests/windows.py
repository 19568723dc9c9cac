"""Windows, parts and their index in memory."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from shared.domain.audit import Event
from shared.domain.digests import window as rules
from shared.domain.digests.window import DigestWindow, EventPart, Join, WindowState, place_of, shard_of
from tests.fakes.faults import Atomic, Tap
from tests.fakes.journal import FakeJournal

ENDED = (WindowState.PROCESSED, WindowState.CANCELLED)


class FakeWindows:
    """`ports.Windows`, `ports.WindowRetention` and `ports.WindowPages` in memory; thread-safe.

    Attributes:
        items: windows by id.
        stored: parts by id.
        ids_kept: window → ids of its events, and until when they are kept.
        urgent: place and event id → window, when it closed, and the event's content.
        journal: entries of windows that their owners ended.
    """

    def __init__(self, tap: Tap | None = None) -> None:
        self.items: dict[str, DigestWindow] = {}
        self.stored: dict[str, EventPart] = {}
        self.ids_kept: dict[str, tuple[bytes, int]] = {}
        self.urgent: dict[tuple[str, str], tuple[str, int, bytes]] = {}
        self.lock = threading.RLock()
        self.journal = FakeJournal()
        self._atomic = Atomic("windows", self.lock, tap or Tap())

    def put_parts(self, parts: Sequence[EventPart]) -> None:
        def put() -> None:
            self.stored |= {x.id: x for x in parts}

        self._atomic("put_parts", put)

    def parts(self, ids: Collection[str]) -> Mapping[str, bytes]:
        return self._atomic("parts", lambda: {x: self.stored[x].data for x in ids if x in self.stored})

    def get(self, window_id: str) -> DigestWindow | None:
        return self._atomic("get", lambda: self.items.get(window_id))

    def last(self, namespace: str, key: str) -> DigestWindow | None:
        def found() -> DigestWindow | None:
            place = rules.place(namespace, key)
            return max(self._numbered(place), key=lambda x: x.number, default=None)

        return self._atomic("last", found)

    def open(self, window: DigestWindow) -> DigestWindow:
        return self._atomic("open", lambda: self.items.setdefault(window.id, window))

    def open_urgent(self, window: DigestWindow, event: str, since: int, content: bytes = b"") -> DigestWindow:
        def stored() -> DigestWindow:
            place = place_of(window.id), event
            known, at, said = self.urgent.get(place, ("", 0, b""))
            other = bool(content and said and content != said)
            if event and known and at > since and not other:
                return self.items[known]
            if event and not (known and at > since):
                self.urgent[place] = window.id, window.closed_at, content
            return self.items.setdefault(window.id, window)

        return self._atomic("open_urgent", stored)

    def urgent_contents(self, namespace: str, key: str, events: Collection[str], since: int) -> Mapping[str, bytes]:
        def found() -> dict[str, bytes]:
            there = {x: self.urgent.get((rules.place(namespace, key), x), ("", 0, b"")) for x in events}
            return {x: content for x, (_, at, content) in there.items() if at > since}

        return self._atomic("urgent_contents", found)

    def join(self, window_id: str, join: Join) -> tuple[bool, DigestWindow | None]:
        def step() -> tuple[bool, DigestWindow | None]:
            there = self.items.get(window_id)
            if there is None or not rules.admits(there, join):
                return False, there
            self.items[window_id] = rules.joined(there, join)
            return True, None

        return self._atomic("join", step)

    def close(
        self, window_id: str, now: int, *, early: bool = False, event: Event | None = None
    ) -> DigestWindow | None:
        def step() -> DigestWindow | None:
            there = self.items.get(window_id)
            if there is not None and there.state is WindowState.OPEN and (early or there.closes_at <= now):
                self.items[window_id] = rules.closed(there, now, early=early)
                self._note(event)
            return self.items.get(window_id)

        return self._atomic("close", step)

    def cancel(self, window_id: str, now: int, *, event: Event | None = None) -> DigestWindow | None:
        def step() -> DigestWindow | None:
            there = self.items.get(window_id)
            if there is not None and there.state is WindowState.OPEN:
                self.items[window_id] = rules.cancelled(there, now)
                self._note(event)
            return self.items.get(window_id)

        return self._atomic("cancel", step)

    def _note(self, event: Event | None) -> None:
        if event is not None:
            self.journal.keep(event)

    # Keeping

    def due(self, shard: int, now: int) -> Iterable[str]:
        yield from self._atomic("due", lambda: self._walk(shard, now, ended=False))

    def ending(self, shard: int, since: int, until: int) -> Iterable[tuple[str, int]]:
        def found() -> list[tuple[str, int]]:
            return [(x, self.items[x].due_at) for x in self._walk(shard, until - 1, ended=False)]

        yield from ((x, at) for x, at in self._atomic("ending", found) if at >= since)

    def over(self, shard: int, now: int) -> Iterable[str]:
        yield from self._atomic("over", lambda: self._walk(shard, now, ended=True))

    def _walk(self, shard: int, now: int, *, ended: bool) -> list[str]:
        there = [x for x in self.items.values() if shard_of(x.id) == shard and (x.state in ENDED) is ended]
        return [x.id for x in sorted(there, key=lambda x: (x.due_at, x.id)) if 0 < x.due_at <= now]

    def numbered(self, window: DigestWindow, first: int, last: int) -> Sequence[DigestWindow]:
        def found() -> list[DigestWindow]:
            there = [x for x in self._numbered(place_of(window.id)) if first <= x.number <= last]
            return sorted(there, key=lambda x: x.number)

        return self._atomic("numbered", found)

    def change(self, old: DigestWindow, new: DigestWindow) -> bool:
        return self._atomic("change", lambda: self.write(old, new))

    def write(self, old: DigestWindow, new: DigestWindow, *, versioned: bool = True) -> bool:
        """Write a window whose state, and version, are as read, within the lock."""
        there = self.items.get(old.id)
        if there is None or there.state is not old.state or (versioned and there.version != old.version):
            return versioned and there == new  # ours, whose answer was lost
        self.items[old.id] = new
        return True

    def ids(self, window_ids: Collection[str]) -> Mapping[str, bytes]:
        return self._atomic("ids", lambda: {x: self.ids_kept[x][0] for x in window_ids if x in self.ids_kept})

    def keep_ids(self, window_id: str, data: bytes, ttl: int) -> None:
        self._atomic("keep_ids", lambda: self.ids_kept.__setitem__(window_id, (data, ttl)))

    def keep_parts(self, ids: Collection[str], ttl: int) -> None:
        def kept() -> None:
            for x in [self.stored[name] for name in ids if name in self.stored]:
                self.stored[x.id] = replace(x, ttl=max(x.ttl, ttl))

        self._atomic("keep_parts", kept)

    def remove(self, window: DigestWindow) -> bool:
        def step() -> bool:
            there = self.items.get(window.id)
            if window.state not in ENDED or (there is not None and there.version != window.version):
                return False
            self.items.pop(window.id, None)
            self.ids_kept.pop(window.id, None)
            return True

        return self._atomic("remove", step)

    def _numbered(self, place: str) -> list[DigestWindow]:
        return [x for x in self.items.values() if place_of(x.id) == place and x.number]

    # Pages

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[DigestWindow], str]:
        return self._atomic("page", lambda: self._page(lambda x: x.namespace == namespace, after, limit))

    def of_key(self, namespace: str, key: str, *, after: str, limit: int) -> tuple[list[DigestWindow], str]:
        place = rules.place(namespace, key)
        return self._atomic("of_key", lambda: self._page(lambda x: place_of(x.id) == place, after, limit))

    def _page(self, wanted: Callable[[DigestWindow], bool], after: str, limit: int) -> tuple[list[DigestWindow], str]:
        places = {f"{x.opened_at:015d}#{x.id}": x for x in self.items.values() if wanted(x)}
        found = [x for x in sorted(places, reverse=True) if not after or x < after]
        page = [replace(places[x], parts=()) for x in found[:limit]]
        return page, found[limit - 1] if len(found) > limit else ""


class FakeDigestHints:
    """`ports.NewWindowHints` in memory: `sent` has each window with its moment."""

    def __init__(self, tap: Tap | None = None) -> None:
        self.sent: list[tuple[str, int]] = []
        self._tap = tap or Tap()

    def at(self, window_id: str, at: int) -> None:
        self._tap("digest_hints.at", lambda: self.sent.append((window_id, at)))

    def opened(self, window_id: str, at: int) -> None:
        self.at(window_id, at)

    def all(self, found: Iterable[tuple[str, int]]) -> int:
        some = list(found)
        for window_id, at in some:
            self.at(window_id, at)
        return len(some)
