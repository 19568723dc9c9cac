"""How soon a change reaches an endpoint without batches while another endpoint hangs, in fake time.

All functions of webhooks run as they are, over stores in memory. AWS's delays are added: for each call, for messages on
their way through queues and streams, and for the processor. A function has the share of a processor that its memory
buys. The processor's times were measured on a whole one, with the real client of DynamoDB and with TLS.
"""

import random
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, Final
from unittest.mock import patch

from benchmarks.rig import rows
from benchmarks.rig.rows import Row, counted, named
from infra.functions.hooks import CALL_MB, GATHER_MB
from shared.contracts import HOOK_WORKERS, SLOW_HOOK_WORKERS
from shared.domain.hooks.announced import AnnouncedStates
from shared.domain.hooks.delivery import HookDelivery
from shared.domain.hooks.endpoint import MAX_ENDPOINTS
from shared.domain.hooks.kinds import HookPace
from shared.domain.hooks.work import HookWork
from shared.domain.times import Millis, Seconds
from shared.engine.hooks.adding import HookAdder
from shared.engine.hooks.call import CallHooks
from shared.engine.hooks.gather import Gatherer
from shared.engine.hooks.outbox import HookOutbox
from shared.engine.hooks.posting import HookPoster
from shared.ports import HookAnswer, HookUnreachable
from tests.engine.hooks.hook_world import HookWorld
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.hooks.outside import CallHint, FakeHookSecrets
from tests.fakes.hooks.queue import FakeHookQueue, FakeWorks
from tests.fakes.hooks.told import FakeAnnouncements
from tests.fakes.world import ACCOUNT, credential

GOAL: Final[Seconds] = 2.0
CALL: Final[Seconds] = 0.005
"""A call of DynamoDB."""
SEND: Final[Seconds] = 0.010
"""A message handed to SQS."""
QUEUED: Final[Seconds] = 0.030
"""From there to the function."""
STREAM: Final[Seconds] = 0.250
"""From a write to the function that reads the stream: at most, four looks a second."""
FOLD: Final[Seconds] = 3 * CALL + SEND
"""The time that function takes before its hint is sent."""
ANSWER: Final[Seconds] = 0.050
HANG: Final[Seconds] = 10.0
WHOLE_MB: Final = 1769
"""Buy a whole processor."""
CPU_POST: Final[Seconds] = 0.0006
CPU_SETTLE: Final[Seconds] = 0.00015
CPU_STORE: Final[Seconds] = 0.00007
"""For each delivery: posting it by TLS, then reading it and storing the result, and storing it first."""
CPU_CALL: Final[Seconds] = 0.00085
"""For a conditional write: a quarter of what the four calls of a sender's window take."""
BATCH: Final = 25
"""Items of a call that writes several."""
WORKERS: Final = 4
JOB: Final = 100
"""Messages of a job."""
HANGING: Final = 2 * HOOK_WORKERS
"""Endpoints of one account that hang: as many as its live and test keys have, and more than there are workers."""
EVERY: Final[Seconds] = 0.15
"""Between two changes of an account beside such a one."""
OTHER: Final = f"{ACCOUNT}#TEST"
"""Another namespace, as that of another account."""
WAY: Final = STREAM + FOLD + QUEUED
GOOD, DEAD = "https://good.example.com/hook", "https://dead.example.com/hook"


def measure() -> list[Row]:
    """Return the 95th percentiles of what 60 and 400 changes take, and of those beside many endpoints that hang."""
    found = {f"{n} at once": waits(n) for n in (60, 400)}
    found["400 at once, the last of 20 endpoints"] = waits(400, dead=MAX_ENDPOINTS - 1)
    found["400 at once, each a job of its own"] = waits(400, job=1)
    found[f"beside {HANGING} that hang, of another account"] = beside(60)
    return [counted(named(rows.HOOK_DELAY, name), p95(some), GOAL, "s") for name, some in found.items()]


def p95(some: Sequence[Seconds]) -> Seconds:
    """Return the 95th percentile."""
    return statistics.quantiles(some, n=20)[-1]


def waits(messages: int, *, dead: int = 1, job: int = JOB) -> list[Seconds]:
    """Return what each of some changes takes, from the write of its ledger to the answer of the endpoint.

    Args:
        messages: how many.
        dead: older endpoints of the account, which begin to hang.
        job: messages of a job.
    """
    world = HookWorld(credential("one", rate=10_000.0))
    for _ in range(dead):
        world.endpoint("message.sent", url=DEAD)
        world.clock.advance(0.001)
    world.endpoint("message.sent", url=GOOD)
    for start in range(0, messages, job):
        world.accept(min(job, messages - start))
    drill = _settled(world, messages)
    quick, slow = (WORKERS, WORKERS) if dead == 1 else (HOOK_WORKERS, SLOW_HOOK_WORKERS)
    world.clock.run(drill.gather, *[drill.quick] * quick, *[drill.apart] * slow)
    return [at - drill.began for at in drill.arrived.values()]


def beside(messages: int, *, namespace: str = OTHER) -> list[Seconds]:
    """Return what changes take, one after the other, while an account's endpoints begin to hang, all at once.

    Args:
        messages: how many.
    """
    world = HookWorld(credential("one", rate=10_000.0))
    for _ in range(HANGING):
        world.endpoint("message.sent", url=DEAD)
        world.clock.advance(0.001)
    world.endpoint("message.sent", url=GOOD, namespace=namespace)
    first = world.accept(10)
    jobs = [world.accept(1, test=namespace == OTHER).id for _ in range(messages)]
    drill = _settled(world, messages)
    waking = [lambda: drill.gather(jobs=[first.id]), lambda: drill.follow(namespace, jobs)]
    world.clock.run(*waking, *[drill.quick] * HOOK_WORKERS, *[drill.apart] * SLOW_HOOK_WORKERS)
    return [at - drill.changed[name] for name, at in drill.arrived.items() if name in drill.changed]


def _settled(world: HookWorld, messages: int) -> "_Drill":
    """Return the functions of webhooks, when all messages were sent and none of it was handed on."""
    world.settle()
    world.hook_hints.gathers.clear()
    drill = _Drill(world, messages)
    world.tap.delay = lambda: world.clock.sleep(CALL)
    return drill


class _Drill:
    """The functions of webhooks.

    Attributes:
        began: when the first change was.
        changed: event's id → when its change was.
        arrived: delivery's id → when the good endpoint answered.
    """

    def __init__(self, world: HookWorld, messages: int) -> None:
        self._world = world
        self._clock = world.clock
        self._messages = messages
        self._places = [(job, n) for job in world.jobs for n in range(world.job(job).chunks)]
        self.began = world.clock.now()
        self.changed: dict[str, Seconds] = {}
        self._hints = _Hints(world.clock)
        self.arrived: dict[str, Seconds] = {}

    def gather(self, *, jobs: Sequence[str] = ()) -> None:
        """Hear of the changes of jobs, by default of all, from the stream, and make deliveries."""
        self._clock.sleep(WAY)
        self._gatherer().gather(ACCOUNT, [x for x in self._places if not jobs or x[0] in jobs], HookPace.NOW)

    def follow(self, namespace: str, jobs: Sequence[str]) -> None:
        """Hear of one job's change after the other, and make deliveries."""
        gatherer = self._gatherer()
        for n, job in enumerate(jobs):
            at = self.began + n * EVERY
            self.changed |= dict.fromkeys(self._world.due(job), at)
            self._clock.sleep(max(0.0, at + WAY - self._clock.now()))
            gatherer.gather(namespace, [(job, 0)], HookPace.NOW)

    def _gatherer(self) -> Gatherer:
        w = self._world
        processor = _Processor(self._clock, GATHER_MB)
        queue = _Batches(w.queue, self._clock, processor)
        adder = HookAdder(queue=queue, hints=self._hints, clock=self._clock)
        outbox = HookOutbox(endpoints=w.endpoints, adder=adder, clock=self._clock)
        told = _Told(w.told, processor)
        return Gatherer(
            records=w.records, ledgers=w.ledgers, told=told, outbox=outbox, clock=self._clock, pool=FakePool
        )

    def quick(self) -> None:
        """Serve hints about endpoints that answer."""
        self._serve(apart=False)

    def apart(self) -> None:
        """Serve hints about those that fail or hang."""
        self._serve(apart=True)

    def _serve(self, *, apart: bool) -> None:
        calls = self._worker()
        while len(self.arrived) < self._messages:
            hint = self._hints.take(apart=apart)
            if hint is None:
                self._clock.sleep(CALL)
            else:
                calls.work(hint.endpoint, apart=apart, stop_at=self._clock.now() + 45)
                self._hints.done(hint)

    def _worker(self) -> CallHooks:
        processor = _Processor(self._clock, CALL_MB)
        poster = HookPoster(
            client=_Receivers(self._clock, processor, self.arrived),
            secrets=FakeHookSecrets(),
            body=lambda x, _: x.id.encode(),
            clock=self._clock,
        )
        return CallHooks(
            endpoints=self._world.endpoints,
            queue=_Batches(self._world.queue, self._clock, processor),
            works=FakeWorks(self._world.queue),
            hints=self._hints,
            poster=poster,
            clock=self._clock,
            draw=random.Random(1).random,
            pool=FakePool,
        )


class _Processor:
    """The processor of one function, which does one thing at a time."""

    def __init__(self, clock: FakeClock, memory: int) -> None:
        self._clock = clock
        self._share = memory / WHOLE_MB
        self._free = 0.0

    def use(self, seconds: Seconds) -> None:
        """Compute what takes a whole processor so long."""
        self._free = max(self._free, self._clock.now()) + seconds / self._share
        self._clock.sleep(self._free - self._clock.now())


class _Receivers:
    """One that answers and one that hangs."""

    def __init__(self, clock: FakeClock, processor: _Processor, arrived: dict[str, Seconds]) -> None:
        self._clock = clock
        self._processor = processor
        self._arrived = arrived

    def post(self, url: str, *, headers: Mapping[str, str], body: bytes, until: Seconds) -> HookAnswer:
        """Answer, or hang; see `ports.HookClient`."""
        del body
        self._processor.use(CPU_POST)
        if url == DEAD:
            self._clock.sleep(max(0.0, until - self._clock.now()))
            raise HookUnreachable("read_timeout", int(HANG * 1000))
        self._clock.sleep(ANSWER)
        self._arrived.setdefault(headers["webhook-id"], self._clock.now())
        return HookAnswer(204, int(ANSWER * 1000))


class _Hints:
    """`ports.HookHints`: messages reach a function after a while.

    The queues are fair, as AWS documents it for messages with a group. A message of a group with few messages in flight
    comes before those of a group with many. Messages in flight are never interrupted. AWS does not document which of
    several messages of such a group comes first; here it is the oldest.
    """

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._in_flight: Counter[tuple[str, bool]] = Counter()
        self._sent: list[tuple[Seconds, CallHint]] = []

    def gather(self, namespace: str, places: Mapping[str, Sequence[int]], pace: HookPace) -> None:
        """Do nothing: what there is to gather is known."""

    def call(self, endpoint: str, namespace: str, *, delay: Seconds = 0, apart: bool = False) -> None:
        """Queue a hint; see `ports.HookHints`."""
        self._clock.sleep(SEND)
        self._sent.append((self._clock.now() + max(delay, QUEUED), CallHint(endpoint, delay, apart, namespace)))

    def wake(self, works: Sequence[HookWork]) -> None:
        """Do nothing: no drill lasts for a minute."""

    def take(self, *, apart: bool) -> CallHint | None:
        """Return a hint that has come, and remove it."""
        now = self._clock.now()
        there = [x for x in self._sent if x[0] <= now and x[1].apart == apart]
        if not there:
            return None
        found = min(there, key=lambda x: self._in_flight[x[1].namespace, apart])
        self._sent.remove(found)
        self._in_flight[found[1].namespace, apart] += 1
        return found[1]

    def done(self, hint: CallHint) -> None:
        """Delete a message."""
        self._in_flight[hint.namespace, hint.apart] -= 1


class _Told:
    """`ports.Announcements`: what is noted of a chunk takes a call of its own, and the processor."""

    def __init__(self, told: FakeAnnouncements, processor: _Processor) -> None:
        self._told = told
        self._processor = processor
        self.read = told.read
        self.known, self.claim, self.note = told.known, told.claim, told.note

    def begin(self, was: AnnouncedStates, cells: bytes, at: Millis, pace: HookPace) -> AnnouncedStates | None:
        """Note what is begun; see `ports.Announcements`."""
        self._processor.use(CPU_CALL)
        return self._told.begin(was, cells, at, pace)

    def finish(self, begun: AnnouncedStates, pace: HookPace) -> None:
        """Note what was begun; see `ports.Announcements`."""
        self._processor.use(CPU_CALL)
        self._told.finish(begun, pace)


class _Batches:
    """`ports.HookQueue`: what writes many items takes a call for every 25."""

    def __init__(self, queue: FakeHookQueue, clock: FakeClock, processor: _Processor) -> None:
        self._queue = queue
        self._clock = clock
        self._processor = processor
        self.pending: Callable[..., Any] = queue.pending
        self.ended: Callable[..., Any] = queue.ended
        self.get: Callable[..., Any] = queue.get

    def add(self, endpoint: str, deliveries: Sequence[HookDelivery], *, wake: Millis) -> HookWork:
        """Store deliveries; see `ports.HookQueue`."""
        self._take(len(deliveries), 1, CPU_STORE * len(deliveries))
        with patch.object(self._queue.tap, "delay", _at_once):
            return self._queue.add(endpoint, deliveries, wake=wake)

    def settle(self, moves: Sequence[tuple[HookDelivery, HookDelivery]]) -> None:
        """Replace deliveries; see `ports.HookQueue`."""
        self._take(2 * len(moves), 0, CPU_SETTLE * len(moves))
        with patch.object(self._queue.tap, "delay", _at_once):
            self._queue.settle(moves)

    def _take(self, items: int, more: int, cpu: Seconds) -> None:
        """Take the time of writes of items, and of some calls more."""
        self._processor.use(cpu)
        self._clock.sleep(CALL * (ceil(items / BATCH) + more))


def _at_once() -> None:
    """Take no time."""
