"""The ledger store in memory."""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from shared.domain.jobs import ledger as rules
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.queue import LedgerQueue
from tests.fakes.faults import Tap
from tests.fakes.grouped import Grouped


class FakeLedgers(LedgerQueue):
    """Ledgers by job and number; thread-safe.

    Attributes:
        items: what is stored.
        lock: held during each step; `FakeRecords` takes it for its transactions.
        listener: told of every ledger as it was written, as a stream would be.
        left_waiting: told of the job of each lease that leaves something waiting.
    """

    def __init__(self, tap: Tap | None = None) -> None:
        self.items: Grouped[tuple[str, int], Ledger] = Grouped(1)
        self.lock = threading.RLock()
        self.listener: Callable[[Ledger], None] = lambda _ledger: None
        self.left_waiting: Callable[[str], None] = lambda _job: None
        self._tap = tap or Tap()

    def store(self, x: Ledger) -> None:
        """Write without a condition; the caller holds the lock."""
        old = self.items.get((x.job, x.chunk))
        self.items[x.job, x.chunk] = x
        if old is not None and old.status is LedgerStatus.BUSY and x.status is LedgerStatus.IDLE:
            self.left_waiting(x.job)
        self.listener(x)

    def _read(self, job: str, chunk: int) -> Ledger | None:
        return self._tap("ledgers.read", lambda: self.items.get((job, chunk)))

    def _read_these(self, places: Collection[tuple[str, int]]) -> list[Ledger]:
        def found() -> list[Ledger]:
            with self.lock:
                return [self.items[place] for place in dict.fromkeys(places) if place in self.items]

        return self._tap("ledgers.read_these", found)

    def _list(self, job: str) -> list[Ledger]:
        def found() -> list[Ledger]:
            with self.lock:
                return [self.items[k] for k in self.items.of(job)]

        return self._tap("ledgers.list", found)

    def _list_some(self, job: str, first: int, count: int) -> list[Ledger]:
        def found() -> list[Ledger]:
            with self.lock:
                return [self.items[k] for k in self.items.of(job) if first <= k[1] < first + count]

        return self._tap("ledgers.list_some", found)

    def _put(self, ledgers: Sequence[Ledger]) -> None:
        def put() -> None:
            with self.lock:
                for x in ledgers:
                    self.store(x)

        self._tap("ledgers.put", put)

    def _swap(self, old: Ledger, new: Ledger) -> Ledger | None:
        def swap() -> Ledger | None:
            with self.lock:
                stored = self.items.get((old.job, old.chunk))
                if stored is None or stored.version != old.version:
                    return replace(stored) if stored else None  # as read: never `new` itself, even if it is our own
                self.store(new)
                return new

        return self._tap("ledgers.swap", swap)

    def _lease(self, job: str, chunk: int, lane: str, owner: str, now: int, until: int) -> tuple[bool, Ledger | None]:
        def lease() -> tuple[bool, Ledger | None]:
            with self.lock:
                stored = self.items.get((job, chunk))
                new = rules.acquire(stored, lane=lane, owner=owner, now=now, until=until) if stored else None
                if new is None:
                    return False, stored
                self.store(new)
                return True, new

        return self._tap("ledgers.lease", lease)
