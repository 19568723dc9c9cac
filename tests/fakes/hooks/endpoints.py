"""Endpoints in memory."""

import threading
from collections.abc import Sequence

from shared.domain.audit import Event
from shared.domain.hooks.endpoint import MAX_ENDPOINTS, Endpoint
from shared.ports import Idempotency, Mismatch, Replay, Stored
from tests.fakes.faults import Atomic, Tap
from tests.fakes.hooks.queue import FakeHookQueue
from tests.fakes.journal import FakeJournal


class FakeEndpoints:
    """`ports.Endpoints` and `ports.Listeners` in memory, but for idempotency keys, which it does not keep.

    Attributes:
        items: endpoints by id.
    """

    def __init__(
        self, journal: FakeJournal | None = None, tap: Tap | None = None, queue: FakeHookQueue | None = None
    ) -> None:
        self.items: dict[str, Endpoint] = {}
        self._journal = journal
        self._queue = queue
        self._atomic = Atomic("endpoints", threading.RLock(), tap or Tap())

    def put(self, endpoint: Endpoint) -> Endpoint:
        """Store an endpoint as it is."""
        self.items[endpoint.id] = endpoint
        return endpoint

    def _note(self, event: Event | None) -> None:
        if self._journal is not None and event is not None:
            self._journal.keep(event)

    def create(
        self, endpoint: Endpoint, key: Idempotency | None, *, event: Event | None
    ) -> Stored | Replay | Mismatch | None:
        def step() -> Stored | None:
            if endpoint.id not in self.items:
                if len(self._of(endpoint.namespace)) >= MAX_ENDPOINTS:
                    return None
                self.put(endpoint)
                self._note(event)
            return Stored()

        return self._atomic("create", step)

    def get(self, endpoint: str) -> Endpoint | None:
        return self._atomic("get", lambda: self.items.get(endpoint))

    def _of(self, namespace: str) -> list[Endpoint]:
        there = [x for x in self.items.values() if x.namespace == namespace]
        return sorted(there, key=lambda x: (x.created_at, x.id))

    def of(self, namespace: str) -> Sequence[Endpoint]:
        return self._atomic("of", lambda: self._of(namespace))

    def change(self, old: Endpoint, new: Endpoint, *, event: Event | None) -> bool:
        def step() -> bool:
            there = self.items.get(new.id)
            if there == new:
                return True
            if there is None or there.version != old.version:
                return False
            self.put(new)
            self._note(event)
            return True

        return self._atomic("change", step)

    def delete(self, endpoint: Endpoint, *, event: Event | None) -> None:
        def step() -> None:
            if self.items.pop(endpoint.id, None) is not None:
                self._note(event)
            if self._queue is not None:
                self._queue.works.pop(endpoint.id, None)

        self._atomic("delete", step)

    def has(self, namespace: str) -> bool:
        """Tell whether a namespace has endpoints; no call."""
        return bool(self._of(namespace))
