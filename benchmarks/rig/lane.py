"""A lane over stores in memory: a batch, what accepts it, and the real sender."""

import random
from collections.abc import Sequence
from typing import Any, Final

from benchmarks.rig.mail import prose, recipients
from shared.adapters.clock import SystemClock
from shared.contracts import Credential, Settings
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.job import Job, Policy
from shared.engine.intake.accept import AcceptedJob, Acceptor, BatchRequest
from shared.engine.lane.access import LaneStores, ProviderAccess
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.lane.recovery import Recovery
from shared.engine.lane.send import Sender
from tests.fakes.breakers import FakeBreakers
from tests.fakes.faults import Tap
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.links import FakeLinks
from tests.fakes.queues import FakeLanes, FakePacer
from tests.fakes.records import FakeRecords
from tests.fakes.standings import FakeStandings

KEY: Final = "SG.bench"
"""The provider's key, as the simulator knows it."""


class MemoryLanes:
    """Stores in memory, on the machine's time, and what accepts batches into them.

    Args:
        credentials: of the settings; all are the route of e-mail.
        tap: sees each call of a store.
    """

    def __init__(self, *credentials: Credential, tap: Tap | None = None) -> None:
        clock: Any = SystemClock()
        self.clock = clock
        self.breakers = FakeBreakers(tap)
        self.ledgers = FakeLedgers(tap)
        self.records = FakeRecords(self.ledgers, tap, self.breakers)
        self.lanes = FakeLanes(clock)
        self._pacer = FakePacer(clock, tap)
        self._route = tuple(c.id for c in credentials)
        settings = Settings("bench", credentials, {"email": self._route})
        self.acceptor = Acceptor(
            records=self.records,
            lanes=self.lanes,
            breaker_cache=self._breaker_cache(),
            settings=settings,
            clock=clock,
        )

    def accept(self, wanted: int | BatchRequest) -> Job:
        """Store a batch, or one to so many recipients."""
        return accepted(self.acceptor, request(wanted, self._route) if isinstance(wanted, int) else wanted)

    def sender(self, credential: Credential, access: ProviderAccess) -> Sender:
        """Return the sender of one worker."""
        known = self._breaker_cache()
        return Sender(
            stores=LaneStores(self.records, self.ledgers, self._pacer, self.lanes, FakeStandings),
            access=access,
            credential=credential,
            recovery=Recovery(
                records=self.records,
                ledgers=self.ledgers,
                lanes=self.lanes,
                breaker_cache=known,
                clock=self.clock,
                rng=random.Random(1),
            ),
            breaker_cache=known,
            clock=self.clock,
            lease_margin=30,
            links=FakeLinks(),
        )

    def _breaker_cache(self) -> BreakerCache:
        return BreakerCache(breakers=self.breakers, clock=self.clock, rng=random.Random(1))


def request(count: int, route: Sequence[str]) -> BatchRequest:
    """Return a batch of 2 KB of HTML to so many recipients."""
    return BatchRequest(
        account="acc_bench",
        test=False,
        channel="email",
        route=tuple(route),
        content=Content(Mailbox("news@example.com", "Example News"), "What is new", prose(2000)),
        recipients=recipients(count),
        duplicates=0,
        policy=Policy(),
    )


def accepted(acceptor: Acceptor, wanted: BatchRequest) -> Job:
    """Store a batch; TypeError if it is not accepted."""
    found = acceptor.accept(wanted)
    if not isinstance(found, AcceptedJob):
        raise TypeError("not accepted")
    return found.job
