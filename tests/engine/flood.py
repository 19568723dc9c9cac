"""A large job under a flood of feedback, in fake time: its ledgers, their stream and the function that folds them.

A call takes as long as measured for a function of 512 MB: CALL seconds, and LEDGER for each ledger that it reads.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from shared.domain.jobs import ledger as rules
from shared.domain.jobs.job import stats_of
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.states import COUNT_KEYS, Cell, JobState
from tests.contracts.conftest import Parts
from tests.fakes.stores import FakeStores
from tests.fakes.world import World, credential

CALL = 0.006
LEDGER = 0.000_22
WINDOW = 1.0
"""Seconds that the event source waits for a fuller batch."""
BATCH = 100
LATE = 5.0
"""Seconds from which on the log function takes records for old (`functions.dispatch.log.LATE_MS`)."""
MAX_AGE = 600.0
"""Seconds after which the event source drops a record."""


@dataclass(frozen=True, slots=True)
class Record:
    """A stream record: a ledger as it was written at a time."""

    at: float
    ledger: Ledger


class Flood:
    """A job of many small chunks that is being sent.

    Attributes:
        records: of the stream, not read yet.
        dropped: records that the event source gave up.
        logged_at: when the job became LOGGED.
        folded_at: when the last record was folded.
        longest: seconds of the longest invocation.
    """

    def __init__(self, chunks: int, messages: int = 2) -> None:
        self.world = World(credential("one"), credential("two"))
        self.clock = self.world.clock
        stores = self.world.stores
        assert isinstance(stores, FakeStores)
        self.ledgers = stores.ledgers
        self.parts = Parts(self.clock, [messages] * chunks, state=JobState.SENDING)
        self.name = self.parts.job.id
        self.messages = messages
        self.parts.store(self.world.stores)
        self.world.jobs.append(self.name)
        self._turn = count()
        self.records: deque[Record] = deque()
        self.dropped: list[Record] = []
        self.logged_at = 0.0
        self.folded_at = 0.0
        self.longest = 0.0
        self.world.stores.listener = self._written
        self.world.tap.delay = lambda: self.clock.sleep(CALL)
        self._list = self.ledgers._list
        self.ledgers._list = self._slow(self._list)  # type: ignore[method-assign]
        self.ledgers._read_these = self._slow(self.ledgers._read_these)  # type: ignore[method-assign]

    def _slow(self, read: Callable[..., list[Ledger]]) -> Callable[..., list[Ledger]]:
        def reading(*what: object) -> list[Ledger]:
            found = read(*what)
            self.clock.sleep(LEDGER * len(found))
            return found

        return reading

    def _written(self, x: Ledger) -> None:
        if x.dirty and x.status is not LedgerStatus.BUSY:
            self.records.append(Record(self.clock.now(), x))

    # What happens side by side

    def send(self, first: int, last: int, seconds: float) -> None:
        """Release chunk after chunk, all accepted, evenly over some seconds."""
        for n in range(first, last):
            old = self.ledgers._read(self.name, n)
            assert old is not None
            cells = bytes([1 << 4 | Cell.SENT] * len(old.cells))
            released = self.clock.ms
            done = replace(old, cells=cells, status=LedgerStatus.DONE, dirty=True, released_at=released, version=2)
            assert self.ledgers._swap(old, done) is done
            self.clock.sleep(seconds / (last - first) - 2 * CALL)

    def say(self, rate: float, seconds: float, chunks: int) -> None:
        """Join `rate` words a second about messages that were sent, each another, one write a word."""
        end = self.clock.now() + seconds
        while self.clock.now() < end:
            n = next(self._turn)
            index, chunk = divmod(n, chunks)
            if index >= self.messages:
                return
            words = [(index, 1, Cell.DELIVERED)]
            self.ledgers.join(self.name, chunk, words, route=self.parts.job.route, credential="one")
            self.clock.sleep(1 / rate - 2 * CALL)

    def log(self, seconds: float, *, closed: Callable[[float], bool] = lambda _now: False) -> None:
        """Be the stream lane of the job for some seconds; `closed` tells when its function is not invoked."""
        end = self.clock.now() + seconds
        while self.clock.now() < end:
            if closed(self.clock.now()) or not self.records:
                self.clock.sleep(WINDOW / 4)
                continue
            if len(self.records) < BATCH:
                self.clock.sleep(max(0.0, self.records[0].at + WINDOW - self.clock.now()))
            began = self.clock.now()
            while self.records and began - self.records[0].at > MAX_AGE:
                self.dropped.append(self.records.popleft())
            some = [self.records.popleft() for _ in range(min(BATCH, len(self.records)))]
            newest = {x.ledger.chunk: x.ledger for x in some}
            late = bool(some) and began - some[0].at > LATE
            for _, fold in self.world.logger.batch(list(newest.values()), late=late):
                if fold().state is JobState.LOGGED and not self.logged_at:
                    self.logged_at = self.clock.now()
            self.folded_at = self.clock.now()
            self.longest = max(self.longest, self.folded_at - began)

    # What came of it

    def exact(self) -> bool:
        """Tell whether the job's own counts, and its stats, are what its ledgers say."""
        ledgers = self._list(self.name)
        totals = [sum(column) for column in zip(*(rules.histogram(x.cells) for x in ledgers), strict=True)]
        job = self.world.job(self.name)
        if [job.counts[k] for k in COUNT_KEYS] != totals:
            return False
        sums = self.world.stores.stats(job.account)
        return {k: v for k, v in sums.items() if "." not in k} == stats_of(totals)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a large job ended. `seconds`: from its last accepted message to LOGGED."""

    flood: Flood
    seconds: float


def ending() -> Ending:
    """Send a job of 2,000 chunks whose feedback comes at 30 writes a second, before and after its end."""
    flood = Flood(2000)
    flood.send(0, 1500, 60)
    sent = flood.clock.now() + 20
    flood.clock.run(
        partial(flood.send, 1500, 2000, 20),
        partial(flood.say, 30, 40, 1500),
        partial(flood.log, 60),
    )
    return Ending(flood, flood.logged_at - sent)
