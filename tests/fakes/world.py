"""The engine over fakes, or over the real stores on moto, with every step callable by itself.

A step is what one invocation does: a pointer served, a stream record folded, a job planned, a sweep. `run` takes steps
until nothing is left to do but wait for the sweeper; `settle` sweeps too, until every job is LOGGED.
"""

import json
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from shared.adapters.dynamo import keys
from shared.contracts import Credential, Settings, Waking, Word
from shared.domain.content.content import Content, Mailbox
from shared.domain.ids import Ref
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.feedback import SOFT
from shared.domain.jobs.job import SHARDS, Job, Policy
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.states import Cell, JobState
from shared.domain.lanes.backoff import redelivery_delay
from shared.domain.lanes.switches import Switch
from shared.engine.intake.accept import AcceptedJob, Acceptor, BatchRequest
from shared.engine.intake.schedules import Schedules
from shared.engine.jobs.control import JobControl
from shared.engine.jobs.plan import Planner
from shared.engine.jobs.retry import Retrier
from shared.engine.jobs.wake import SECONDS, Waker
from shared.engine.lane.breaker_cache import BreakerCache
from shared.engine.lane.recovery import Recovery
from shared.engine.lane.send import Sender
from shared.engine.lane.start import PointerResult
from shared.engine.outcome.fold import Folded, Logger
from shared.engine.outcome.resolve import Resolution, Resolved
from shared.engine.outcome.track import LATER, Tracked, Tracker
from shared.engine.pool import Pool
from shared.engine.reports.message_log import MessageLog
from shared.engine.sweeper.expired import ExpiredLeases
from shared.engine.sweeper.sweep import Sweeper, Swept
from shared.engine.walks import Walk
from shared.engine.walks.doubts import Asking, Doubts
from shared.engine.walks.jobs import OpenJobs
from shared.ports import Clock, Links, Pacer, Resolver, Retriable, Wire
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.links import FakeLinks
from tests.fakes.provider import FakeProvider, Oracle
from tests.fakes.queues import FakeLanes, FakeQueue, following
from tests.fakes.schedules import FakeScheduler
from tests.fakes.standings import FakeStandings
from tests.fakes.stores import FakeStores, Stores

ACCOUNT = "acc_000000000001"
LEASE_MARGIN = 30.0
INVOCATION = 120.0
"""Seconds that a sender's invocation lasts at the most."""
RECEIVES = 5
"""How often a pointer that fails is delivered before it is a dead letter."""
VISIBILITY = 150.0
"""Seconds after which a pointer that was not acknowledged is delivered again."""
CONTENT = Content(Mailbox("news@example.com", "News"), "Hello", text="Hello!")


def _tried(step: Callable[[], object]) -> bool:
    """Take a step; a retriable fault counts as something done, since its event source repeats it."""
    try:
        return bool(step())
    except Retriable:
        return True


@dataclass(frozen=True, slots=True)
class _Held:
    """Words that are looked at again at `due` (Unix seconds)."""

    due: float
    credential: str
    words: tuple[Word, ...]


def credential(name: str, rate: float = 100, per_call: int = 0) -> Credential:
    """Return a credential whose provider bears its name."""
    return Credential(name, name, "email", rate, per_call=per_call)


def recipients(n: int, skip: Iterable[int] = ()) -> tuple[Recipient, ...]:
    """Return n recipients; those at the given places are not to be sent to."""
    left_out = frozenset(skip)
    return tuple(
        Recipient(f"r{i}@example.com", f"r{i}@example.com", skip="suppressed" if i in left_out else "")
        for i in range(n)
    )


class World:
    """A deployment in memory. Everything in it is public: tests look at and touch what they like."""

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
        self.settings = Settings("test", declared, {"email": tuple(c.id for c in declared)})
        self.stores = stores(self.clock)
        self.tap = self.stores.tap
        self.ledgers, self.records, self.pacer = self.stores.ledgers, self.stores.records, self.stores.pacer
        self.lanes = FakeLanes(self.clock, self.tap)
        self.due_queue = FakeQueue(self.clock, self.tap)
        self.scheduler = FakeScheduler(self.tap)
        self.standings = FakeStandings(self.tap)
        self.oracle = Oracle()
        self.providers = {
            c.id: provider(self.clock, self.oracle, name=c.id, per_call=provider_limit, tap=self.tap) for c in declared
        }
        self.stream: deque[Ledger] = deque()
        self.stores.listener = self._streamed
        self.jobs: list[str] = []
        self.held: list[_Held] = []
        self.failed: set[str] = set()
        """Refs of attempts that a provider took and then gave up."""
        self._owners = count(1)
        self._seed = seed
        self.reboot()

    def reboot(self) -> None:
        """Start all functions anew: what they knew in memory is gone, what is stored stays."""
        stores = {"records": self.records, "ledgers": self.ledgers}
        common: dict[str, Any] = {**stores, "clock": self.clock}
        self.circuits = self.process()
        self.recovery = self.recovering(self.circuits)
        self.expired = ExpiredLeases(
            recovery=self.recovery,
            hints=self.stores.hints,
            credentials=lambda: [c.id for c in self.settings.credentials],
            queue=self.due_queue,
            **common,
        )
        self.planner = Planner(lanes=self.lanes, standings=self.standings, **common)
        self.logger = Logger(lists=self.stores.lists, recovery=self.recovery, **common)
        self.tracker = Tracker(recovery=self.recovery, pool=FakePool, **common)
        self.retrier = Retrier(recovery=self.recovery, **common)
        self.schedules = Schedules(
            records=self.records,
            agenda=self.stores.agenda,
            scheduler=self.scheduler,
            due_queue=self.due_queue,
            clock=self.clock,
        )
        self.control = JobControl(planner=self.planner, retrier=self.retrier, schedules=self.schedules, **common)
        self.logs = MessageLog(**common)
        self.acceptor = Acceptor(
            records=self.records,
            lanes=self.lanes,
            circuits=self.circuits,
            settings=self.settings,
            clock=self.clock,
            schedules=self.schedules,
        )
        owners = [None, *(c.id for c in self.settings.credentials)]
        slots = [
            keys.open_slot(c, shard, running=running)
            for c in owners
            for shard in range(SHARDS if c is None else 1)
            for running in (False, True)
        ]
        self.waker = Waker(
            planner=self.planner,
            lanes=self.lanes,
            slots=lambda credential: [x for x in slots if keys.waits_for(x, credential)],
            queue=self.due_queue,
            pool=FakePool,
            **common,
        )
        self.sweeper = self.sweeping(slots)
        self.senders = {c.id: self.sender(c.id) for c in self.settings.credentials}

    def sweeping(self, slots: Sequence[str], *others: Walk) -> Sweeper:
        """Return a sweeper that walks jobs and doubts."""
        asking = Asking(self.records, self.lanes, self.answers)
        jobs = OpenJobs(
            records=self.records,
            ledgers=self.ledgers,
            holds=self.stores.holds,
            lanes=self.lanes,
            planner=self.planner,
            recovery=self.recovery,
            logger=self.logger,
            retrier=self.retrier,
            clock=self.clock,
            asking=asking,
            slots=slots,
        )
        doubts = Doubts(self.records, self.ledgers, self.clock, asking)
        walks = [Walk("doubts", 10, doubts.looks), *others, Walk("jobs", 90, jobs.looks, jobs.ended)]
        return Sweeper(walks=walks, bookmarks=self.stores.bookmarks, clock=self.clock, pool=FakePool)

    def answers(self, credential: str) -> bool:
        """Tell whether a credential's provider can be asked about doubts."""
        return isinstance(self.providers[credential], Resolver)

    def process(self) -> BreakerCache:
        """Return what a new process knows of the breakers."""
        return BreakerCache(breakers=self.stores.breakers, clock=self.clock, rng=random.Random(self._seed))  # noqa: S311

    def recovering(self, circuits: BreakerCache) -> Recovery:
        """Return the recovery of a process."""
        return Recovery(
            records=self.records,
            ledgers=self.ledgers,
            lanes=self.lanes,
            circuits=circuits,
            clock=self.clock,
            rng=random.Random(self._seed),  # noqa: S311 - jitter
        )

    def sender(
        self,
        lane: str,
        *,
        clock: Clock | None = None,
        pacer: Pacer | None = None,
        circuits: BreakerCache | None = None,
        pool: Callable[[int], Pool] = FakePool,
        declared: Credential | None = None,
        wire: Callable[[], Wire] | None = None,
        links: Links | None = None,
    ) -> Sender:
        """Return a new sender of a lane: a worker with a clock or a credential of its own, if given."""
        return Sender(
            records=self.records,
            ledgers=self.ledgers,
            pacer=pacer or self.pacer,
            lanes=self.lanes,
            provider=self.providers[lane],
            credential=declared or self.settings.credential(lane),
            recovery=self.recovery if circuits is None else self.recovering(circuits),
            circuits=circuits or self.circuits,
            clock=clock or self.clock,
            lease_margin=LEASE_MARGIN,
            pool=pool,
            wire=wire,
            links=links or FakeLinks(),
        )

    def slow_down(self, shortest: float, longest: float) -> None:
        """Let every call take some seconds, so that workers side by side meet in every way."""
        rng = random.Random(self._seed)  # noqa: S311 - a network's whims
        self.tap.delay = lambda: self.clock.sleep(rng.uniform(shortest, longest))

    def _streamed(self, ledger: Ledger) -> None:
        if ledger.dirty and ledger.status is not LedgerStatus.BUSY:
            self.stream.append(ledger)

    # Steps

    def request(self, who: int | Sequence[Recipient] = 1, **changes: Any) -> BatchRequest:
        """Return a batch to n recipients, or to those given."""
        people = recipients(who) if isinstance(who, int) else tuple(who)
        route = tuple(c.id for c in self.settings.credentials)
        fields: dict[str, Any] = {
            "account": ACCOUNT,
            "test": False,
            "channel": "email",
            "route": route,
            "content": CONTENT,
            "recipients": people,
            "duplicates": 0,
            "policy": Policy(),
        }
        return BatchRequest(**{**fields, **changes})

    def accept(self, who: int | Sequence[Recipient] = 1, **changes: Any) -> Job:
        """Accept a batch and return its job."""
        accepted = self.acceptor.accept(self.request(who, **changes))
        assert isinstance(accepted, AcceptedJob), accepted
        self.jobs.append(accepted.job.id)
        return accepted.job

    def send(self, lane: str, sender: Sender | None = None, *, express: bool | None = None) -> PointerResult | None:
        """Serve the next pointer that is due, of one of the lane's queues or of both; None if there is none.

        A crash leaves the pointer in flight until its visibility ends. After a fault it is delivered again, later each
        time, and in the end it is a dead letter.
        """
        message = self.lanes[lane].receive(express=express)
        if message is None:
            return None
        where = json.loads(message.body)
        if where.get("resolve"):
            self.lanes[lane].delete(message)
            with following(message):
                self.resolve(lane, where["job"], where["chunk"])
            return PointerResult.NOTHING
        visible_at = self.clock.now() + VISIBILITY
        deadline = self.clock.now() + INVOCATION
        worker = sender or self.senders[lane]
        try:
            with following(message):
                did = worker.work(where["job"], where["chunk"], owner=f"owner-{next(self._owners)}", deadline=deadline)
        except Exception:
            if message.receives < RECEIVES:
                visible_at = self.clock.now() + redelivery_delay(message.receives)
                self.lanes[lane].restore(message, visible_at)
            else:
                self.lanes[lane].bury(message)
            raise
        except BaseException:
            self.lanes[lane].restore(message, visible_at)
            raise
        self.lanes[lane].delete(message)
        return did

    def resolve(self, lane: str, job: str, chunk: int) -> Resolved:
        """Ask a lane's provider about the doubts of a chunk."""
        resolution = Resolution(
            records=self.records,
            ledgers=self.ledgers,
            tracker=self.tracker,
            pacer=self.pacer,
            provider=self.providers[lane],
            credential=self.settings.credential(lane),
            circuits=self.circuits,
            clock=self.clock,
            links=FakeLinks(),
        )
        return resolution.resolve(job, chunk, deadline=self.clock.now() + INVOCATION)

    def log(self) -> Folded | None:
        """Fold the next record of the ledgers' stream; None if there is none."""
        if not self.stream:
            return None
        folded = self.logger.fold(self.stream[0])
        if folded.retrying:
            self.retrier.carry_on(self.stream[0].job, self.clock.now() + 20)
        self.stream.popleft()
        return folded

    def plan(self) -> int:
        """Plan the jobs that are READY and due, as the stream of jobs would have it; returns how many were."""
        return sum(len(self.planner.react(job)) for job in self.jobs)

    def sweep(self) -> Swept:
        """Let the sweeper run for a minute at most."""
        return self.sweeper.sweep(self.clock.now() + 60)

    def wake(self, switch: Switch) -> int:
        """Wake what a switch held back, by as many messages as it takes; returns how many pointers were sent."""
        self.waker.begin(switch)
        return sum(self.waken(seconds=SECONDS))

    def waken(self, seconds: float) -> Iterator[int]:
        """Take the messages of wakings, with some seconds for each; yields how many pointers each sent."""
        while (message := self.due_queue.receive()) is not None:
            way = Waking.loads(message.body)
            assert way is not None
            try:
                yield self.waker.go_on(way, until=self.clock.now() + seconds)
            except BaseException:
                self.due_queue.restore(message, self.clock.now())
                raise
            self.due_queue.delete(message)

    def track(self, lane: str, *words: Word) -> Tracked:
        """Join a provider's words; those that must wait are kept for later."""
        self.failed |= {w.ref for w in words if w.word in SOFT}
        tracked = self.tracker.track(lane, words)
        if tracked.later:
            self.held.append(_Held(self.clock.now() + LATER, lane, tracked.later))
        return tracked

    def again(self) -> int:
        """Join the words that had to wait and are due; returns how many deliveries that were."""
        now = self.clock.now()
        due = [h for h in self.held if h.due <= now]
        for h in due:
            self.track(h.credential, *h.words)
            self.held.remove(h)
        return len(due)

    def step(self) -> bool:
        """Do whatever is due now; False if nothing was."""
        steps: list[Callable[[], object]] = [partial(self.send, lane) for lane in self.senders]
        done = [_tried(step) for step in (*steps, self.log, self.plan, self.again)]
        return any(done)

    def run(self, seconds: float = 7200) -> None:
        """Take steps until nothing is due, waiting for what comes within `seconds`."""
        end = self.clock.now() + seconds
        for _ in range(100_000):
            if self.step():
                continue
            coming = [q.waiting[0].due for q in self.lanes.values() if q.waiting] + [h.due for h in self.held]
            if not coming or min(coming) > end:
                return
            self.clock.sleep(min(coming) - self.clock.now())
        raise AssertionError("the world never becomes quiet")

    def settle(self, *, seconds: float = 60, sweeps: int = 180) -> None:
        """Run, with the sweeper every some seconds, until every job is LOGGED for good and the stream is empty.

        A job with a recorded retry is LOGGED, too, but not for good.
        """
        for _ in range(sweeps):
            self.run(seconds=seconds)
            if all(self._ended(self.job(j)) for j in self.jobs) and not self.stream:
                return
            self.clock.sleep(seconds)
            _tried(self.sweep)
        raise AssertionError(f"not LOGGED: {[self.job(j) for j in self.jobs]}")

    def _ended(self, job: Job) -> bool:
        return job.state is JobState.LOGGED and job.retry is None

    # What a test sees

    def longest_chain(self) -> int:
        """Return how many invocations of lanes' functions followed one another by messages of their own, at the most.

        AWS ends a chain after 16, unless the function's recursive loops are allowed.
        """
        return max((m.link for q in self.lanes.values() for m in q.sent), default=0)

    def job(self, job: str) -> Job:
        """Return a job as it is stored."""
        found = self.records.job(job)
        if found is None:
            raise AssertionError("no such job")
        return found

    def cells(self, job: str) -> list[tuple[Cell, int]]:
        """Return (state, attempt) of every recipient, in list order."""
        return [x.cell(i) for x in self.ledgers.read_all(job) for i in range(len(x.cells))]

    def states(self, job: str) -> list[Cell]:
        """Return the state of every recipient, in list order."""
        return [state for state, _ in self.cells(job)]

    def counts(self, job: str) -> dict[str, int]:
        """Return the live counts without zeros, having checked that they add up."""
        found = self.job(job)
        counts = self.logs.counts(found).counts
        if sum(counts.values()) != found.total:
            raise AssertionError(f"{counts} do not add up to {found.total}")
        return {k: v for k, v in counts.items() if v}

    def word(self, job: str, index: int, word: str, *, attempt: int = 1, chunk: int = 0, **fields: Any) -> Word:
        """Return a provider's word about an attempt."""
        at = fields.pop("at", int(self.clock.now()))
        return Word(str(Ref(job, chunk, index, attempt)), word, at, **fields)

    def check(self) -> None:
        """Check what holds at every instant.

        Counts add up, folded ones too, and nothing was taken twice unless it had failed between.
        """
        for name in self.jobs:
            self.counts(name)
            job = self.job(name)
            if sum(job.counts.values()) != job.total or min(job.counts.values()) < 0:
                raise AssertionError(f"folded counts {job.counts} of {job.total}")
            twice = {k: n for k, n in self.oracle.times(name, but=self.failed).items() if n > 1}
            if twice:
                raise AssertionError(f"taken more than once: {twice}")
