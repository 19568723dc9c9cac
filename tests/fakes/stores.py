"""The stores in memory, with the same handles as the real ones in `tests.fakes.tables`."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.lanes.switches import Switches
from shared.domain.recipients.suppressions import Reach
from shared.ports import (
    Acceptances,
    Agenda,
    Bookmarks,
    BouncingDays,
    Breakers,
    Hints,
    Holds,
    Journal,
    Lists,
    Pacer,
    Records,
    SearchPages,
)
from tests.fakes.bookmarks import FakeBookmarks
from tests.fakes.bouncing import FakeBouncingDays
from tests.fakes.breakers import FakeBreakers
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Tap
from tests.fakes.holds import FakeHolds
from tests.fakes.journal import FakeAcceptances
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.queues import FakeHints, FakePacer
from tests.fakes.records import FakeRecords
from tests.fakes.schedules import FakeAgenda


class Stores(Protocol):
    """All stores of a world, and what operators and tests see of them."""

    tap: Tap
    listener: Callable[[Ledger], None]
    """Told of every ledger that is updated, as it then is."""
    heard: set[str]
    """Namespaces that have endpoints."""

    @property
    def ledgers(self) -> LedgerQueue: ...
    @property
    def records(self) -> Records: ...
    @property
    def pacer(self) -> Pacer: ...
    @property
    def hints(self) -> Hints: ...
    @property
    def holds(self) -> Holds: ...
    @property
    def bookmarks(self) -> Bookmarks: ...
    @property
    def breakers(self) -> Breakers: ...
    @property
    def agenda(self) -> Agenda: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def acceptances(self) -> Acceptances: ...
    @property
    def lists(self) -> Lists: ...
    @property
    def bouncing(self) -> BouncingDays: ...
    @property
    def search_pages(self) -> SearchPages: ...

    def pause(self, account: str) -> None:
        """Pause an account, or everything if the name is empty."""

    def unpause(self, account: str) -> None:
        """End a pause."""

    def hear(self, namespace: str) -> None:
        """Let a namespace have an endpoint."""

    def quiet(self, account: str, channel: str, text: str) -> None:
        """Set an account's quiet hours of a channel."""

    def switch(self, credential: str, switches: Switches) -> None:
        """Set what operators may set of a credential."""

    def expire(self, job: str) -> None:
        """Remove a job, as happens when its retention is over."""

    def stats(self, account: str) -> dict[str, int]:
        """Return the sums of all stats of an account, without zeros."""

    def suppressed(self, account: str, reach: Reach = Reach.ALL) -> dict[str, tuple[str, int]]:
        """Return address key → (reason, since) of an account."""


class FakeLists:
    """Campaigns' jobs by what the jobs say: a world has no items of campaigns."""

    def __init__(self, records: FakeRecords, tap: Tap) -> None:
        self._jobs = records.jobs
        self._tap = tap

    def sent(self, campaign: str) -> Sequence[str]:
        return self._tap("lists.sent", lambda: [x.id for x in self._jobs.values() if x.campaign == campaign])


class FakeStores:
    """The fakes over one memory."""

    def __init__(self, clock: FakeClock, tap: Tap | None = None) -> None:
        self.tap = tap or Tap()
        self.ledgers = FakeLedgers(self.tap)
        self.breakers = FakeBreakers(self.tap)
        self.bookmarks = FakeBookmarks(self.tap)
        self.records = FakeRecords(self.ledgers, self.tap, self.breakers)
        self.search_pages = self.records.search_pages
        self.heard = self.records.heard
        self.journal = self.records.journal
        self.acceptances = FakeAcceptances(self.journal, clock, self.tap)
        self.lists = FakeLists(self.records, self.tap)
        self.bouncing = FakeBouncingDays(self.records, self.tap)
        self.pacer = FakePacer(clock, self.tap)
        self.hints = FakeHints(self.pacer, self.tap)
        self.holds = FakeHolds(self.records, self.pacer, clock, self.tap)
        self.agenda = FakeAgenda(self.records, self.tap)
        self.listener: Callable[[Ledger], None] = lambda _ledger: None
        self.ledgers.listener = self._tell

    def _tell(self, ledger: Ledger) -> None:
        self.listener(ledger)

    def pause(self, account: str) -> None:
        self.holds.pause(account)

    def hear(self, namespace: str) -> None:
        self.heard.add(namespace)

    def switch(self, credential: str, switches: Switches) -> None:
        self.holds.switch(credential, switches)

    def expire(self, job: str) -> None:
        del self.records.jobs[job]

    def quiet(self, account: str, channel: str, text: str) -> None:
        """Set an account's quiet hours of a channel."""
        self.records.quiet.setdefault(account, {})[channel] = text

    def unpause(self, account: str) -> None:
        self.holds.resume(account)

    def stats(self, account: str) -> dict[str, int]:
        out: Counter[str] = Counter()
        for place, amounts in self.records.stats.items():
            if place[0] == account:
                out.update(amounts)
        return {k: v for k, v in out.items() if v}

    def suppressed(self, account: str, reach: Reach = Reach.ALL) -> dict[str, tuple[str, int]]:
        there = self.records.suppressions.items()
        return {key: (x.reason, x.at) for (owner, r, key), x in there if (owner, r) == (account, reach)}
