"""The parts of a deployment over fakes, or over the real stores on moto."""

import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from shared.adapters.dynamo import indices
from shared.contracts import Credential, ProviderEvent, Settings
from shared.domain.campaigns.campaign import Campaign
from shared.domain.jobs.job import SHARDS
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.engine.intake.accept import Acceptor
from shared.engine.intake.schedules import Schedules
from shared.engine.jobs.campaign_queue import CampaignQueue
from shared.engine.jobs.control import JobControl
from shared.engine.jobs.plan import Planner
from shared.engine.jobs.rescheduling import Rescheduler
from shared.engine.jobs.retry import Retrier
from shared.engine.jobs.wake import PauseResumer
from shared.engine.lane.access import LaneStores, ProviderAccess
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.lane.group import GroupSender
from shared.engine.lane.recovery import Recovery
from shared.engine.outcome.announcer import Announcing
from shared.engine.outcome.fold import LedgerFolder
from shared.engine.outcome.track import Tracker
from shared.engine.pool import Pool
from shared.engine.reports.message_log import MessageLog
from shared.engine.spender import Spender
from shared.engine.sweeper.expired import ExpiredLeases
from shared.engine.sweeper.sweep import Sweeper
from shared.engine.walks import Walk
from shared.engine.walks.doubts import Asking, Doubts
from shared.engine.walks.jobs import JobActions, OpenJobs
from shared.engine.walks.unlisted import UnlistedJobs
from shared.ports import Clock, Links, Pacer, Resolver, Wire
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.finished import FakeMessages
from tests.fakes.links import FakeLinks
from tests.fakes.provider import FakeProvider, Oracle
from tests.fakes.queues import FakeLanes, FakeQueue
from tests.fakes.schedules import FakeScheduler
from tests.fakes.standings import FakeStandings
from tests.fakes.stores import FakeStores, Stores

LEASE_MARGIN = 5.0


@dataclass(frozen=True, slots=True)
class Held:
    """Words that are looked at again at `due` (Unix seconds)."""

    due: float
    credential: str
    words: tuple[ProviderEvent, ...]


def credential(name: str, rate: float = 100, per_call: int = 0) -> Credential:
    """Return a credential whose provider bears its name."""
    return Credential(name, name, "email", rate, per_call=per_call)


@dataclass(frozen=True)
class FakeListeners:
    """`ports.Listeners` in memory."""

    namespaces: Collection[str]

    def has(self, namespace: str) -> bool:
        return namespace in self.namespaces


class Parts:
    """Everything that a deployment in memory is made of; public, so that tests look at and touch what they like."""

    announcer: Announcing | None = None
    """What webhooks hear of changes from."""
    spender: Spender | None = None
    """Counts what accounts spend; of no account unless a test sets it, and reboots."""

    unlists: bool = False
    """Whether small jobs come into the index of open jobs only once they have waited."""

    def __init__(
        self,
        *credentials: Credential,
        stores: Callable[[FakeClock], Stores] = FakeStores,
        seed: int = 0,
        clock: FakeClock | None = None,
        provider_limit: int = 1,
        provider: type[FakeProvider] = FakeProvider,
    ) -> None:
        declared = credentials or (credential("one"), credential("two"))
        self.clock = clock or FakeClock()
        self.settings = Settings("test", declared, {"email": tuple(c.id for c in declared)}, images=(3, 1))
        self.stores = stores(self.clock)
        self.tap = self.stores.tap
        self.ledgers, self.records, self.pacer = self.stores.ledgers, self.stores.records, self.stores.pacer
        self.lanes = FakeLanes(self.clock, self.tap)
        self.due_queue = FakeQueue(self.clock, self.tap)
        self.scheduler = FakeScheduler(self.tap)
        self.standings = FakeStandings(self.tap)
        self.oracle = Oracle()
        self.messages = FakeMessages(self.clock)
        self.providers = {
            c.id: provider(self.clock, self.oracle, name=c.id, per_call=provider_limit, tap=self.tap) for c in declared
        }
        self.stream: deque[Ledger] = deque()
        self.stores.listener = self._streamed
        self.jobs: list[str] = []
        self.held: list[Held] = []
        self.failed: set[str] = set()
        """Refs of attempts that a provider took and then gave up."""
        self._owners = count(1)
        self._seed = seed
        self.reboot()

    def reboot(self) -> None:
        """Start all functions anew: what they knew in memory is gone, what is stored stays."""
        stores = {"records": self.records, "ledgers": self.ledgers}
        common: dict[str, Any] = {**stores, "clock": self.clock}
        self.breaker_cache = self.process()
        self.recovery = self.recovering(self.breaker_cache)
        self.expired = self.expired_of(lambda: [c.id for c in self.settings.credentials], self.recovery)
        self.planner = Planner(lanes=self.lanes, standings=self.standings, **common)
        self.campaign_queue = CampaignQueue(
            ledgers=self.ledgers,
            records=self.records,
            credentials=lambda: [c.id for c in self.settings.credentials],
            queue=self.due_queue,
            clock=self.clock,
        )
        told: dict[str, Any] = {"announcer": self.announcer, "bouncing": self.stores.bouncing}
        self.logger = LedgerFolder(lists=self.stores.lists, recovery=self.recovery, **told, **common)
        quiet = None if self.announcer is not None else FakeListeners(self.stores.heard)
        self.tracker = Tracker(recovery=self.recovery, pool=FakePool, listeners=quiet, **common)
        self.retrier = Retrier(recovery=self.recovery, **common)
        self.schedules = Schedules(
            records=self.records,
            agenda=self.stores.agenda,
            scheduler=self.scheduler,
            due_queue=self.due_queue,
            clock=self.clock,
        )
        self.control = JobControl(
            planner=self.planner, retrier=self.retrier, schedules=self.schedules, spender=self.spender, **common
        )
        self.logs = MessageLog(**common)
        self.acceptor = Acceptor(
            records=self.records,
            lanes=self.lanes,
            breaker_cache=self.breaker_cache,
            settings=self.settings,
            clock=self.clock,
            schedules=self.schedules,
            acceptances=self.stores.acceptances,
            spender=self.spender,
            unlists=lambda: self.unlists,
        )
        owners = [None, *(c.id for c in self.settings.credentials)]
        slots = [
            indices.open_slot(c, shard, running=running)
            for c in owners
            for shard in range(SHARDS if c is None else 1)
            for running in (False, True)
        ]
        self.waker = PauseResumer(
            planner=self.planner,
            lanes=self.lanes,
            slots=lambda credential: [x for x in slots if indices.waits_for(x, credential)],
            queue=self.due_queue,
            pool=FakePool,
            **common,
        )
        self.sweeper = self.sweeping(slots)
        self.senders = {c.id: self.sender(c.id) for c in self.settings.credentials}

    def rescheduler_of(self, campaign_of: Callable[[str], Campaign | None] = lambda _: None) -> Rescheduler:
        """Return what gives jobs another time."""
        return Rescheduler(
            records=self.records,
            ledgers=self.ledgers,
            planner=self.planner,
            schedules=self.schedules,
            clock=self.clock,
            campaign_of=campaign_of,
            kept_days=self.settings.kept_days,
        )

    def sweeping(self, slots: Sequence[str], *others: Walk) -> Sweeper:
        """Return a sweeper that walks jobs and doubts."""
        asking = Asking(self.records, self.lanes, self.answers)
        jobs = OpenJobs(
            records=self.records,
            ledgers=self.ledgers,
            holds=self.stores.holds,
            lanes=self.lanes,
            actions=JobActions(self.planner, self.recovery, self.logger, self.retrier),
            clock=self.clock,
            asking=asking,
            slots=slots,
        )
        doubts = Doubts(self.records, self.ledgers, self.clock, asking)
        walks = [Walk("jobs", 90, jobs.looks, jobs.ended), *others, Walk("doubts", 10, doubts.looks)]
        if self.unlists:
            late = UnlistedJobs(self.records, lambda: None)
            walks = [Walk("unlisted", 10, late.looks, late.ended), *walks]
        return Sweeper(walks=walks, bookmarks=self.stores.bookmarks, clock=self.clock, pool=FakePool)

    def answers(self, credential: str) -> bool:
        """Tell whether a credential's provider can be asked about doubts."""
        return isinstance(self.providers[credential], Resolver)

    def process(self) -> BreakerCache:
        """Return what a new process knows of the breakers."""
        return BreakerCache(breakers=self.stores.breakers, clock=self.clock, rng=random.Random(self._seed))  # noqa: S311

    def recovering(self, breaker_cache: BreakerCache) -> Recovery:
        """Return the recovery of a process."""
        return Recovery(
            records=self.records,
            ledgers=self.ledgers,
            lanes=self.lanes,
            breaker_cache=breaker_cache,
            clock=self.clock,
            rng=random.Random(self._seed),  # noqa: S311 - jitter
        )

    def sender(
        self,
        lane: str,
        *,
        clock: Clock | None = None,
        pacer: Pacer | None = None,
        breaker_cache: BreakerCache | None = None,
        pool: Callable[[int], Pool] = FakePool,
        declared: Credential | None = None,
        wire: Callable[[], Wire] | None = None,
        links: Links | None = None,
    ) -> GroupSender:
        """Return a new sender of a lane: a worker with a clock or a credential of its own, if given."""
        own = self.recovery if breaker_cache is None else self.recovering(breaker_cache)
        return GroupSender(
            stores=LaneStores(
                self.records,
                self.ledgers,
                pacer or self.pacer,
                self.lanes,
                lambda: self.standings,
                lambda other: self.settings.credential(other).quotas,
            ),
            access=ProviderAccess(self.providers[lane], wire=wire, messages=self.messages),
            credential=declared or self.settings.credential(lane),
            recovery=own,
            breaker_cache=breaker_cache or self.breaker_cache,
            clock=clock or self.clock,
            lease_margin=LEASE_MARGIN,
            pool=pool,
            links=links or FakeLinks(),
            glance=self.expired_of(lambda: [lane], own).glance,
        )

    def expired_of(self, lanes: Callable[[], Sequence[str]], recovery: Recovery) -> ExpiredLeases:
        """Return what one process knows of the leases of some lanes."""
        return ExpiredLeases(
            records=self.records,
            ledgers=self.ledgers,
            recovery=recovery,
            hints=self.stores.hints,
            credentials=lanes,
            clock=self.clock,
            lanes=self.lanes,
        )

    def slow_down(self, shortest: float, longest: float) -> None:
        """Let every call take some seconds, so that workers side by side meet in every way."""
        rng = random.Random(self._seed)  # noqa: S311 - a network's whims
        self.tap.delay = lambda: self.clock.sleep(rng.uniform(shortest, longest))

    def _streamed(self, ledger: Ledger) -> None:
        if ledger.dirty and ledger.status is not LedgerStatus.BUSY:
            self.stream.append(ledger)
