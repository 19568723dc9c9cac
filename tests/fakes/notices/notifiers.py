"""Notifiers in memory."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace

from shared.domain.audit import Event
from shared.domain.notices.notifier import Contact, Notifier
from shared.domain.times import DAY_MS
from tests.fakes.faults import Atomic, Tap
from tests.fakes.journal import FakeJournal
from tests.fakes.notices.updates import FakeUpdates

MINUTE_MS = 60_000


class FakeNotifiers:
    """`ports.Notifiers` in memory. `items`: by name."""

    def __init__(self, journal: FakeJournal, tap: Tap | None = None, updates: FakeUpdates | None = None) -> None:
        self._updates = updates or FakeUpdates()
        self.items: dict[str, Notifier] = {}
        self._contacts: dict[str, Contact] = {}
        self._journal = journal
        self._atomic = Atomic("notifiers", threading.RLock(), tap or Tap())

    def create(self, notifier: Notifier, *, event: Event) -> bool:
        def make() -> bool:
            if notifier.name in self.items:
                return self.items[notifier.name] == notifier
            self._updates.walks[notifier.name] = notifier.created_at + DAY_MS
            return self._keep(notifier, event)

        return self._atomic("create", make)

    def change(self, old: Notifier, new: Notifier, *, event: Event) -> bool:
        def put() -> bool:
            stored = self.items.get(old.name)
            if stored is None or stored.version != old.version:
                return stored == new
            return self._keep(new, event)

        return self._atomic("change", put)

    def _keep(self, notifier: Notifier, event: Event) -> bool:
        self.items[notifier.name] = notifier
        self._journal.keep(event)
        return True

    def get(self, name: str) -> Notifier | None:
        return self._atomic("get", lambda: self.items.get(name))

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[Notifier], str]:
        def found() -> tuple[list[Notifier], str]:
            mine = {
                f"{x.created_at:015d}#{x.name}": x
                for x in self.items.values()
                if x.namespace == namespace and not x.deleted
            }
            places = sorted((p for p in mine if not after or p < after), reverse=True)
            return [mine[p] for p in places[:limit]], places[limit - 1] if len(places) > limit else ""

        return self._atomic("page", found)

    def count(self, namespace: str, most: int) -> int:
        return len(self.page(namespace, after="", limit=most)[0])

    def contacts(self, names: Iterable[str]) -> Mapping[str, Contact]:
        return self._atomic("contacts", lambda: {x: self._contacts[x] for x in names if x in self._contacts})

    def note(self, name: str, now_ms: int, *, status: bool) -> None:
        def put() -> None:
            known = self._contacts.get(name, Contact())
            if now_ms - (known.status_at if status else known.seen_at) < MINUTE_MS:
                return
            self._contacts[name] = replace(known, seen_at=now_ms, status_at=now_ms if status else known.status_at)

        self._atomic("note", put)
