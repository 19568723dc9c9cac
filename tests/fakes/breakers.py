"""Circuit breakers in memory."""

import threading
from collections.abc import Sequence

from shared.domain.lanes.breaker import Breaker
from tests.fakes.faults import Tap


class FakeBreakers:
    """`ports.Breakers` in memory; thread-safe.

    Attributes:
        items: credential → what is stored.
    """

    def __init__(self, tap: Tap | None = None) -> None:
        self.items: dict[str, Breaker] = {}
        self._tap = tap or Tap()
        self._lock = threading.Lock()

    def of(self, credential: str) -> Breaker:
        """Return one breaker as part of another read."""
        return self.items.get(credential, Breaker(credential))

    def read(self, credentials: Sequence[str]) -> dict[str, Breaker]:
        return self._tap("breakers.read", lambda: {c: self.of(c) for c in credentials})

    def swap(self, old: Breaker, new: Breaker) -> Breaker:
        def write() -> Breaker:
            with self._lock:
                stored = self.of(new.credential)
                if stored.version == old.version:
                    self.items[new.credential] = stored = new
                return stored

        return self._tap("breakers.swap", write)
