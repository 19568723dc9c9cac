"""Minutes of a day of 100 million messages, in fake time: the real use cases over a modelled AWS.

A day cannot be run message by message. Lanes are bulkheads, so a *scene* runs some of them at their full rate: the
credential with the largest share, or others. All accounts that post to them do so. A scene lasts some minutes of noon,
of the night or of a trouble. Acceptance, senders, trackers, loggers and the sweeper are the real ones, over the real
stores and `ModelDynamo`. Functions that all lanes share have the scene's part of their workers there, and one at least.
"""

import heapq
import random
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import accumulate
from math import ceil, inf
from typing import Any, Final
from unittest.mock import patch
from uuid import UUID

from benchmarks.counting import cost
from benchmarks.rig import prices
from benchmarks.rig.sizes import KB
from benchmarks.scale.cloud import Busy, Function, Processor, QuickLanes
from benchmarks.scale.deployment import deployment
from benchmarks.scale.hearing import HEARD, Hearing, HintQueues
from benchmarks.scale.hot import ACCOUNTS, PEAK, SINGLE
from benchmarks.scale.products import TEXTS, Products
from benchmarks.scale.result import Result, Sample
from benchmarks.scale.scenes import Scene
from benchmarks.scale.table import ModelDynamo, Usage
from cli.checks.account import SINGLES_PER_WORKER
from infra.functions.lane import BUSY_RATE, FAST_MB, SLOW_MB
from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.credentials.pacer import DynamoPacer
from shared.contracts import Credential, CredentialQuota, Per, ProviderEvent
from shared.domain.ids import is_small, message_id
from shared.domain.jobs.job import EXPRESS, NOTICE
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import Rejected
from shared.domain.times import Seconds
from shared.engine.lane import slots
from shared.engine.lane.group import GroupSender
from shared.engine.lane.send import LEASES
from shared.ports import Retriable
from tests.engine.measuring import worst_second
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.parts import Held
from tests.fakes.provider import FinishedProvider, Oracle, Taken
from tests.fakes.queues import Message
from tests.fakes.tables import MotoStores, Tables
from tests.fakes.world import INVOCATION, World

HEADROOM: Final = 2.0
"""Declared rate of a credential, as a multiple of its load at noon: each can carry its partner's messages besides."""
SPARE: Final = 1.5
"""Workers that a credential has, as a multiple of those that its single messages need at noon."""
LATENCY: Final = 0.1
"""Seconds of a provider's call."""
BATCH_S: Final = 5.0
"""Seconds of a credential's other messages that a batch is, up to a chunk."""
CHUNK: Final = 500
WARM: Final = 0.25
"""Share of a scene whose messages have no part in the waits: functions start there, and are warm all day."""
EVENT_S: Final = (2.0, 20.0)
"""Seconds from a provider's call to its event: at the least, and on average besides."""
POLL: Final = 0.05
TRACKERS: Final = 10
TRACKED: Final = 500
TRACK_S: Final = 5.0
TRACK_CPU: Final = 1 / 170
"""Seconds of a tracker of 512 MB for an event about a single message (docs/performance.md)."""
TRACK_BULK_CPU: Final = TRACK_CPU / 10
LOG_S: Final = 1.0
LOGGED: Final = 100
SHARDS: Final = 40
"""Of a table's stream: a shard for each partition of a table that takes 40,000 write units."""
API_CPU: Final = 0.012
WEBHOOK_S: Final = 0.011
SWEEP_S: Final = 60.0
SAMPLE_S: Final = 10.0
SAMPLES: Final = 20
"""Looks at the backlog while messages are posted, at least one each SAMPLE_S."""
AGAIN_S: Final = 1.0
"""Seconds after which a client repeats a request that was refused."""
TABLES: Final = Tables("")
DOWN: Final = Rejected("http_503", permanent=False)


KINDS: Final = ("single", "bulk", "notice", "digest", "mail", "webhook")
"""Of messages, and of events that endpoints hear."""
PRODUCER: Final = 5
"""The account with a notifier, digests and mails; it has no endpoint."""
TEXTS_S: Final = 5.0
"""Seconds in which the notices of an hour are sent."""


class _Stores(MotoStores):
    """The real stores over the model; the listener hears of ledgers without a call."""

    def _updated(self, table: str, key: Any) -> None:
        if keys.ledger_place(key) is not None and (table == self.tables.ops or keys.is_job(key)):
            self.listener(codec.ledger(self.client.peek(table, key)))


class _Seen(Oracle):
    """Notes what providers took, and has them say so later."""

    def __init__(self, run: "Run") -> None:
        super().__init__()
        self._run = run

    def take(self, taken: Taken) -> None:
        self._run.took(taken)


class Run:
    """A run of a scene; the same seed is always the same run."""

    def __init__(self, scene: Scene, seed: int = 1) -> None:
        self.scene = scene
        self._over = False
        self._rng = random.Random(seed)
        self.clock = FakeClock(scene.begins)
        self._begun = self.clock.now()
        self.dynamo = ModelDynamo(self.clock, records=TABLES.records, seed=seed, trouble=self._hiccup)
        self.credentials = {rank: declared(scene, rank) for rank in scene.ranks}
        if scene.products:
            self.credentials[0] = _texts(scene)
        self._email = tuple(c.id for rank, c in self.credentials.items() if rank)
        self.world = self._world(seed)
        stores: Any = self.world.stores
        hints, part = HintQueues(self.clock), scene.share
        self.deployment = d = deployment(self.world, stores, hints)
        stores.records, self.world.records, self.world.announcer = d.records, d.records, d.announcer
        self.world.reboot()
        self._weights = list(accumulate(1 / k for k in range(1, ACCOUNTS + 1)))
        self.hearing = Hearing(d, self.clock, hints, part, lambda: self._over)
        self.hearing.register(_account(n) for n in range(0, ACCOUNTS, HEARD))
        every = scene.products * sum(map(scene.messages, scene.ranks))
        self.products = Products(self, every, _account(PRODUCER), self._email) if scene.products else None
        self.dynamo.used = Usage()  # all this has been there for long
        self._begun = self.clock.now()
        self.api = Function(self.clock, 400, cold=0.8)
        self.trackers = max(1, round(TRACKERS * part))
        self.loggers = max(1, round(SHARDS * part))
        self.track_function = Function(self.clock, self.trackers)
        self.log_function = Function(self.clock, self.loggers)
        self._busy: list[tuple[Busy, float]] = []
        """Each sender's container, and its GB."""
        self._accepted: dict[str, tuple[Seconds, str]] = {}
        """Job → since when its messages wait, and what they are."""
        self._counted = 0
        self._taken: Counter[tuple[str, int, int]] = Counter()
        self._first: dict[str, list[Seconds]] = {}
        self._events: list[tuple[Seconds, int, str, str, bool]] = []
        self._posted: deque[tuple[Seconds, str, ProviderEvent, bool]] = deque()
        self._joined = 0
        self._told = 0
        self._refused = 0
        self._groups = self._pointers = self._tracked = self._folded = 0
        self._swept = [0, 0]
        self._samples: list[Sample] = []
        self._owners = 0
        self._heard_jobs: set[str] = set()
        """Jobs of accounts that have an endpoint."""

    def _world(self, seed: int) -> World:
        """Return a world over the model, with providers that answer after a while."""
        made = World(
            *self.credentials.values(),
            stores=lambda clock: _Stores(self.dynamo, clock, tables=TABLES),
            clock=self.clock,
            seed=seed,
            provider=FinishedProvider,
        )
        made.settings = replace(made.settings, routes={"email": self._email, "sms": (TEXTS,)})
        made.lanes = QuickLanes(self.clock, made.tap)
        made.oracle = _Seen(self)
        for rank, c in self.credentials.items():
            provider = made.providers[c.id]
            provider._oracle, provider.latency = made.oracle, LATENCY  # noqa: SLF001 - before its first call
            provider.before = partial(self._fail, rank)
        return made

    # What happens outside

    def _hiccup(self, now: Seconds) -> bool:
        begin, end = self.scene.hiccup
        return begin <= now - self._begun < end

    def _fail(self, rank: int, _targets: object) -> None:
        begin, end = self.scene.down.get(rank, (inf, inf))
        provider = self.world.providers[self.credentials[rank].id]
        provider.answer = DOWN if begin <= self._at() < end else None

    def _at(self) -> Seconds:
        return self.clock.now() - self._begun

    def took(self, taken: Taken) -> None:
        """Note a message that a provider took; its event comes later."""
        place = taken.ref.job, taken.ref.chunk, taken.ref.index
        self._taken[place] += 1
        if self._taken[place] == 1:
            self._first.setdefault(taken.ref.job, []).append(taken.at)
            self._told += 1
        least, mean = EVENT_S
        at = taken.at + least + self._rng.expovariate(1 / mean)
        single = is_small(taken.ref.job)
        heapq.heappush(self._events, (at, self._told, taken.provider, str(taken.ref), single))

    # Of products

    @property
    def posting(self) -> bool:
        """Tell whether clients still post."""
        return self._at() < self.scene.seconds

    @property
    def over(self) -> bool:
        """Tell whether the scene has ended."""
        return self._over

    def expect(self, count: int) -> None:
        """Note messages that are to be sent."""
        self._counted += count

    def begin(self, job: str, kind: str, at: Seconds) -> None:
        """Note what the messages of a job are, and since when they wait, in Unix seconds."""
        self._accepted[job] = at, kind

    # Clients

    def _post_all(self, rank: int, size: int, per_second: float) -> None:
        """Post batches of a size, single ones at random moments, each by an account that is drawn."""
        self.clock.sleep(self._rng.random() / per_second)
        accounts = random.Random(rank * CHUNK + size)
        while True:
            self.clock.sleep(self._rng.expovariate(per_second) if size == 1 else 1 / per_second)
            if not self.posting:
                return
            account = bisect_left(self._weights, accounts.random() * self._weights[-1])
            self.clock.begin(partial(self._post, rank, size, account))

    def _post(self, rank: int, size: int, account: int) -> None:
        begun = self.clock.now()
        request = self.world.request(size, account=_account(account), route=self._route(rank))
        self.expect(size)
        while True:
            with self.api.invocation():
                self.clock.sleep(API_CPU)
                try:
                    job: Any = self.world.acceptor.accept(request)
                except Retriable:
                    self._refused += 1
                else:
                    self.begin(job.job.id, "single" if size == 1 else "bulk", begun)
                    if account % HEARD == 0:
                        self._heard_jobs.add(job.job.id)
                    return
            self.clock.sleep(AGAIN_S)

    def _route(self, rank: int) -> tuple[str, ...]:
        """Return a credential and its partner."""
        place = self.scene.ranks.index(rank)
        other = self.scene.ranks[place ^ 1] if place ^ 1 < len(self.scene.ranks) else rank
        return tuple(dict.fromkeys((self.credentials[rank].id, self.credentials[other].id)))

    # Functions

    def _senders(self, c: Credential) -> Iterable[Callable[[], None]]:
        memory = (SLOW_MB if c.rate / c.workers <= BUSY_RATE else FAST_MB) / KB
        for _ in range(c.express_workers):
            sender, busy, processor = self._sender(c), Busy(self.clock), Processor(self.clock)
            self._busy.append((busy, memory))
            yield from (partial(self._serve_small, c, sender, busy, processor) for _ in range(c.groups))
        for _ in range(c.workers):
            busy = Busy(self.clock)
            self._busy.append((busy, memory))
            yield partial(self._serve_large, c, self._sender(c), busy)

    def _sender(self, c: Credential) -> GroupSender:
        pacer = DynamoPacer(self.world.stores.dynamo, TABLES.ops, self.clock)  # type: ignore[attr-defined]
        return self.world.sender(c.id, pacer=pacer, breaker_cache=self.world.process(), pool=FakePool)

    def _serve_small(self, c: Credential, sender: GroupSender, busy: Busy, processor: Processor) -> None:
        """Be one of the groups side by side that an express worker serves."""
        self.clock.sleep(self._rng.random() * POLL)
        while not self._over:
            found = self.world.receive_together(c.id)
            if not found:
                self.clock.sleep(POLL)
                continue
            self._groups += 1
            with busy.doing():
                processor.use(len(found) / SINGLES_PER_WORKER)
                self.world.serve_together(c.id, found, sender)

    def _serve_large(self, c: Credential, sender: GroupSender, busy: Busy) -> None:
        """Be one of a lane's workers for large jobs."""
        queue = self.world.lanes[c.id]

        def work(message: Message, deadline: Seconds) -> None:
            where = codec_pointer(message.body)
            self._owners += 1
            try:
                sender.work(*where, owner=f"owner-{self._owners}", deadline=deadline)
            except Retriable:
                queue.restore(message, self.clock.now() + AGAIN_S)
            else:
                queue.delete(message)

        self.clock.sleep(self._rng.random() * POLL)
        while not self._over:
            found = [m for m in (queue.receive(express=False) for _ in range(LEASES)) if m is not None]
            if not found:
                self.clock.sleep(POLL)
                continue
            self._pointers += len(found)
            with busy.doing(), FakePool(LEASES) as pool:
                for task in [pool.submit(work, m, self.clock.now() + INVOCATION) for m in found]:
                    task.result()

    def _webhooks(self) -> None:
        """Be the function that providers post to, one event a post."""
        while not self._over:
            now = self.clock.now()
            while self._events and self._events[0][0] <= now:
                at, _, credential, ref, single = heapq.heappop(self._events)
                self._posted.append((now, credential, ProviderEvent(ref, "delivered", int(at)), single))
                job, chunk, index = ref.split("-")[:3]
                if job in self._heard_jobs:
                    self.hearing.expected.setdefault((job, message_id(int(chunk), int(index))), now)
            self.clock.sleep(WEBHOOK_S * 10)

    def _track(self) -> None:
        """Be one worker of the tracker: its event source fills a batch, for five seconds at the most."""
        while not self._over:
            ready = len(self._posted) >= TRACKED or (self._posted and self.clock.now() - self._posted[0][0] >= TRACK_S)
            if not ready:
                self.clock.sleep(POLL)
                continue
            some = [self._posted.popleft() for _ in range(min(TRACKED, len(self._posted)))]
            by_lane: dict[str, list[ProviderEvent]] = {}
            for _, credential, event, _ in some:
                by_lane.setdefault(credential, []).append(event)
            self._tracked += 1
            with self.track_function.invocation():
                self.clock.sleep(sum(TRACK_CPU if single else TRACK_BULK_CPU for *_, single in some))
                for credential, events in by_lane.items():
                    self._join(credential, events)
            self._joined += len(some)

    def _join(self, credential: str, events: list[ProviderEvent]) -> None:
        tracked = self.deployment.tracker.join_all(credential, events)
        again = (*tracked.later, *tracked.left)
        if again:
            self.world.held.append(Held(self.clock.now() + 2 * AGAIN_S, credential, again))

    def _rejoin(self) -> None:
        """Join the events that had to wait."""
        while not self._over:
            due = [x for x in self.world.held if x.due <= self.clock.now()]
            for x in due:
                self.world.held.remove(x)
                self._join(x.credential, list(x.words))
            self.clock.sleep(1)

    def _log(self) -> None:
        """Be one shard of the stream of ledgers: a batch is filled for a second."""
        while not self._over:
            self.clock.sleep(LOG_S)
            if not self.world.stream:
                continue
            some = [self.world.stream.popleft() for _ in range(min(LOGGED, len(self.world.stream)))]
            newest = {(x.job, x.chunk): x for x in some}
            self._folded += 1
            with self.log_function.invocation():
                try:
                    self._fold(list(newest.values()))
                except Retriable:
                    self.world.stream.extendleft(newest.values())

    def _fold(self, ledgers: Sequence[Ledger]) -> None:
        """Fold ledgers, and do what follows, as `functions.folds` does."""
        done = {job: fold() for job, fold in self.deployment.logger.batch(ledgers)}
        for job, folded in done.items():
            some = [x for x in ledgers if x.job == job]
            for listener in self.deployment.fold_listeners:
                for step in listener.steps(folded, some):
                    step()

    def _sweep(self) -> None:
        while not self._over:
            self.clock.sleep(SWEEP_S)
            self._swept[0] += 1
            with suppress(Retriable):  # a run that fails is not whole, and the next one begins where it stopped
                self._swept[1] += not self.world.sweep().unfinished

    def _watch(self) -> None:
        """Look at the backlog now and then, and end the scene."""
        end = self.scene.seconds
        while not self._over:
            waiting = self._counted - self._told
            events = len(self._posted) + sum(len(x.words) for x in self.world.held)
            self._samples.append(Sample(round(self._at()), waiting, events))
            late = self._at() > end + self.scene.most
            self._over = self._at() >= end and (late or self._is_done(waiting + events))
            if not self._over:
                self.clock.sleep(min(SAMPLE_S, max(1.0, end / SAMPLES)))

    def _is_done(self, waiting: int) -> bool:
        """Tell whether all that was posted has come to its end. `waiting`: messages and events that have not."""
        done = not (waiting or self._events) and self.hearing.over
        return done and (self.products is None or self.products.ended)

    # The run

    def run(self) -> Result:
        """Run the scene to its end."""
        names = random.Random(self._rng.random())
        work: list[Callable[[], None]] = [self._webhooks, self._rejoin, self._sweep, self._watch]
        work += self.hearing.work() + (self.products.work() if self.products is not None else [])
        work += [self._track] * self.trackers + [self._log] * self.loggers
        for rank, c in self.credentials.items():
            work += self._senders(c)
            if not rank:
                continue
            every = self.scene.messages(rank)
            work += [partial(self._post_all, rank, 1, every * SINGLE)]
            other = every * (1 - SINGLE)
            size = self.scene.batch or max(2 * EXPRESS, min(CHUNK, round(BATCH_S * other)))
            work += [partial(self._post_all, rank, size, other / size)]
        with (
            patch("secrets.randbits", names.getrandbits),
            patch.object(slots, "uuid4", lambda: UUID(int=names.getrandbits(128))),
            patch("shared.adapters.dynamo.client.random", names),
        ):
            self.clock.run(*work)
        return self._result()

    def _result(self) -> Result:
        worst = 0.0
        for c in self.credentials.values():
            calls = [(at, n) for at, name, n in self.world.oracle.calls if name == c.id]
            worst = max(worst, 100 * worst_second(calls) / c.rate)
        used = self.dynamo.used
        return Result(
            self.scene,
            self._counted,
            self._waits(),
            self._samples,
            worst,
            self._refused,
            sum(n > 1 for n in self._taken.values()),
            self._counted - self._told,
            (self._swept[0], self._swept[1]),
            dict(used.throttled),
            (used.worst(), used.worst(reading=True)),
            self._quota(),
            (len(self.hearing.expected), len(self.hearing.heard), self.hearing.again),
            {table: units / self._counted for table, units in used.written.items()},
            self._dollars(),
            self.api.starts + self.track_function.starts + self.log_function.starts,
        )

    def _quota(self) -> float:
        """Return the highest share of its quota that a credential has sent in a day, in percent."""
        worst = 0.0
        for c in self.credentials.values():
            for quota in c.quotas:
                days = Counter(
                    at // 86_400 for at, name, n in self.world.oracle.calls if name == c.id for _ in range(n)
                )
                worst = max(worst, 100 * max(days.values(), default=0) / quota.messages)
        return worst

    def _waits(self) -> dict[str, list[Seconds]]:
        """Return for how long messages waited for their first call, sorted, by single and bulk ones."""
        waits: dict[str, list[Seconds]] = {kind: [] for kind in KINDS}
        warm = self._begun + WARM * self.scene.seconds
        for job, times in self._first.items():
            begun, kind = self._accepted.get(job) or (self._due(job), "notice")
            if begun >= warm:
                waits[kind] += [at - begun for at in times]
        waits["webhook"] = list(self.hearing.heard.values())
        return {kind: sorted(some) for kind, some in waits.items()}

    def _due(self, job: str) -> Seconds:
        """Return since when the notices of a job wait."""
        item = self.dynamo.peek(TABLES.records, keys.job(job))
        if self.products is None or item is None or item["kind"]["S"] != NOTICE:
            raise RuntimeError(f"{job} was accepted by no one")
        return self.products.due

    def _dollars(self) -> Mapping[str, float]:
        """Return what a million messages cost, by this scene's units, seconds and requests."""
        out = cost.Bill(self.scene.name, cost.Way.POSTS, messages=self._counted)
        used, events = self.dynamo.used, sum(self._taken.values())
        out.add("DynamoDB", used.writes * prices.WRITE_UNIT + used.reads * prices.READ_UNIT)
        posts = len(self._accepted) + self._refused
        cost.requested(out, posts)
        cost.function(out, posts, 0, cost.API_GB, self.api.billed, lines=cost.API_LINES)
        sent = sum(x.seconds * gb for x, gb in self._busy)
        cost.function(out, self._groups + self._pointers, 0, 1.0, sent)
        pointers = sum(x.requests for x in self.world.lanes.values())  # type: ignore[attr-defined]
        received = 2 * (self._groups + self._pointers)
        out.add("SQS", (pointers + received) * (prices.SQS_REQUEST + prices.SQS_FAIR))
        cost.posted(out, events, cost.EVENT_BYTES)
        cost.function(out, self._tracked, 0, seconds=self.track_function.billed)
        cost.function(out, self._folded, 0, seconds=self.log_function.billed)
        self.hearing.bill(out)
        if self.products is not None:
            self.products.bill(out)
        return out.lines


def codec_pointer(body: str) -> tuple[str, int]:
    """Return job and chunk of a pointer."""
    import json  # noqa: PLC0415

    where = json.loads(body)
    return where["job"], where["chunk"]


def _account(number: int) -> str:
    return f"acc_{number:012d}"


def declared(scene: Scene, rank: int) -> Credential:
    """Return a credential with the rate and the workers that its load at noon asks for."""
    noon = scene.messages(rank, PEAK * (scene.load if scene.few else 1))
    rate = max(5.0, ceil(HEADROOM * noon))
    workers = max(2, ceil(SPARE * noon * SINGLE / SINGLES_PER_WORKER))
    name = f"rank-{rank}"
    quotas = (CredentialQuota(scene.quota, Per.DAY),) if scene.quota and rank == scene.ranks[0] else ()
    return replace(Credential(name, name, "email", rate), workers=workers, quotas=quotas)


def _texts(scene: Scene) -> Credential:
    """Return the credential for text messages: the notices of an hour are due at once, and are sent in some seconds."""
    due = scene.products * scene.seconds * sum(map(scene.messages, scene.ranks))
    return Credential(TEXTS, TEXTS, "sms", max(50.0, ceil(due / TEXTS_S)))
