"""Exports, lists and endpoints beside a lane, each with the workers of a deployment, in one fake time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from infra.functions.workers import EXPORTS_AT_ONCE, LISTS_AT_ONCE
from shared.contracts import HOOK_WORKERS, SLOW_HOOK_WORKERS, load_export, load_ingest
from shared.domain.campaigns.campaign import Upload, UploadState
from shared.domain.exports import ExportState
from shared.domain.hooks.delivery import HookDelivery
from shared.domain.hooks.endpoint import Endpoint
from shared.domain.hooks.work import HookWork
from shared.domain.times import Seconds
from shared.engine.hooks.adding import HookAdder
from shared.engine.hooks.call import CallHooks
from shared.engine.hooks.posting import HookPoster
from shared.engine.reports.export import Exporter, ExportService
from shared.ports import HookAnswer, HookUnreachable
from tests.domain.hooks.examples import delivery, endpoint
from tests.fakes.account_turns import FakeAccountTurns
from tests.fakes.clock import FakePool
from tests.fakes.exports import FakeExports, FakeMultipart
from tests.fakes.files import FakeFiles
from tests.fakes.hooks.endpoints import FakeEndpoints
from tests.fakes.hooks.outside import FakeHookSecrets, HookPost
from tests.fakes.hooks.queue import FakeHookQueue, FakeWorks
from tests.fakes.intake import Intake
from tests.fakes.queues import FakeQueue, fairest
from tests.fakes.stores import FakeStores
from tests.fakes.world import World

VICTIM: Final = "acc_victim"
HEAVY: Final[Seconds] = 5.0
"""For a part of a hostile export, and for a block of a hostile list."""
BLOCK: Final = b"x,y\n" * 16_384
EVERY: Final[Seconds] = 4.0
POLL: Final[Seconds] = 0.05
DEAD, GOOD = "https://dead.example.com/hook", "https://good.example.com/hook"
Actor = Callable[[], None]


class Deployment:
    """A world's functions beside its lanes.

    Attributes:
        end: Unix seconds when all of them stop.
        waits: kind → seconds from each request of the victim to its end, or to the end of the run.
    """

    def __init__(self, world: World, end: Seconds) -> None:
        self.world = world
        self.end = end
        self.clock = world.clock
        self.waits: dict[str, list[Seconds]] = {"export": [], "list": [], "webhook": []}
        self.exporting = Exporting(self)
        self.reading = Reading(self)
        self.posting = Posting(self)

    def actors(self) -> list[Actor]:
        """Return all workers, and the victim."""
        parts = (self.exporting, self.reading, self.posting)
        return [actor for part in parts for actor in part.actors()]

    def queue(self) -> FakeQueue:
        """Return a queue that is fair."""
        made = FakeQueue(self.clock, self.world.tap)
        made.order = fairest
        return made

    def serve(self, queue: FakeQueue, work: Callable[[str], object]) -> Actor:
        """Return a worker that does what a queue's messages say, one after the other."""

        def run() -> None:
            while self.clock.now() < self.end:
                message = queue.receive()
                if message is None:
                    self.clock.sleep(POLL)
                    continue
                work(message.body)
                queue.delete(message)

        return run

    def repeat(self, ask: Callable[[], None], every: Seconds = EVERY) -> Actor:
        """Return an actor that asks again and again, and stops in time for the last answer."""

        def run() -> None:
            while self.clock.now() < self.end - 2 * EVERY:
                ask()
                self.clock.sleep(every)

        return run

    def until(self, kind: str, done: Callable[[], bool]) -> None:
        """Wait until the victim has something, and note how long that took."""
        begun = self.clock.now()
        while not done() and self.clock.now() < self.end:
            self.clock.sleep(POLL)
        self.waits[kind].append(self.clock.now() - begun)


class Exporting:
    """Exports. Each part of a hostile one takes long."""

    def __init__(self, of: Deployment) -> None:
        world, self._of = of.world, of
        self._exports, self._queue = FakeExports(world.tap), of.queue()
        multipart = FakeMultipart(FakeFiles(world.tap), world.tap)
        put = multipart.put

        def slow(name: str, upload: str, number: int, data: bytes) -> str:
            if VICTIM not in name:
                of.clock.sleep(HEAVY)
            return put(name, upload, number, data)

        multipart.put = slow  # type: ignore[method-assign]
        self._service = ExportService(exports=self._exports, queue=self._queue, clock=of.clock)
        self._exporter = Exporter(
            exports=self._exports,
            multipart=multipart,
            records=world.records,
            logs=world.logs,
            queue=self._queue,
            clock=of.clock,
            part=1,
            turns=FakeAccountTurns(of.clock, world.tap),
        )
        self._owners = count()

    def actors(self) -> list[Actor]:
        """Return the workers and the victim."""
        return [*[self._of.serve(self._queue, self._work)] * EXPORTS_AT_ONCE, self._of.repeat(self._victim)]

    def flood(self, account: str) -> None:
        """Ask for a hundred exports of an account's largest job."""
        world = self._of.world
        job = world.job(world.accept(2000, account=account).id)
        for i in range(100):
            self._service.ask(f"{i:026d}", account, [job])

    def _victim(self) -> None:
        job = self._of.world.job(self._of.world.accept(1, account=VICTIM).id)
        self._of.until("export", lambda: self._service.ask(job.id, VICTIM, [job]).state is ExportState.READY)

    def _work(self, body: str) -> None:
        owner, deadline = f"exporter-{next(self._owners)}", self._of.clock.now() + 900
        self._exporter.work(load_export(body), owner=owner, deadline=deadline)


class Reading:
    """Lists. Those of the hostile account are five gigabytes of which no row is a recipient."""

    def __init__(self, of: Deployment) -> None:
        self._of = of
        assert isinstance(of.world.stores, FakeStores)
        self._intake = Intake(stores=of.world.stores, clock=of.clock)
        self._intake.queue.order = fairest
        self._block = self._intake.files._block
        self._intake.files._block = self._junk  # type: ignore[method-assign]

    def _junk(self, name: str, etag: str, at: int) -> bytes:
        if at == 0 or VICTIM in name:
            return self._block(name, etag, at)
        self._of.clock.sleep(HEAVY)
        return BLOCK

    def actors(self) -> list[Actor]:
        """Return the workers and the victim."""
        return [*[self._of.serve(self._intake.queue, self._work)] * LISTS_AT_ONCE, self._of.repeat(self._victim)]

    def flood(self) -> None:
        """Have ten lists of an account taken, as many as may be open at once."""
        for _ in range(10):
            self._take("acc_junk")

    def _take(self, account: str) -> Upload:
        campaign = replace(self._intake.campaign(), account=account)
        self._intake.uploads.campaigns[campaign.id] = campaign
        return self._intake.take(b"recipient,name\nann@example.com,Ann\n", campaign=campaign, drop_duplicates=True)

    def _victim(self) -> None:
        mine = self._take(VICTIM)
        self._of.until("list", lambda: self._intake.now(mine).state is UploadState.READY)

    def _work(self, body: str) -> None:
        campaign, name = load_ingest(body)
        self._intake.work(self._intake.uploads.items[campaign, name])


class Posting:
    """Endpoints, and the workers that post to them; those of the hostile account hang."""

    def __init__(self, of: Deployment) -> None:
        self._of = of
        tap = of.world.tap
        self._queue = FakeHookQueue(tap)
        self._endpoints = FakeEndpoints(tap=tap, queue=self._queue)
        self._hints = (of.queue(), of.queue())
        self._added: dict[str, Seconds] = {}
        self._adder = HookAdder(queue=self._queue, hints=self, clock=of.clock)
        self.under_way = self.most = 0

    # `ports.HookHints`

    def gather(self, *_: object) -> None:
        """Do nothing: deliveries are added as they are."""

    def call(self, endpoint: str, namespace: str, *, delay: Seconds = 0, apart: bool = False) -> None:
        self._hints[apart].send([endpoint], delay=delay, group=namespace)

    def wake(self, works: Sequence[HookWork]) -> None:
        for x in works:
            self.call(x.endpoint, x.namespace, apart=x.apart)

    def actors(self) -> list[Actor]:
        """Return the workers and the victim."""
        self._mine = self._endpoint("victim", VICTIM, GOOD)
        workers = [
            self._of.serve(self._hints[apart], self._worker(apart=apart))
            for apart, workers in ((False, HOOK_WORKERS), (True, SLOW_HOOK_WORKERS))
            for _ in range(workers)
        ]
        return [*workers, self._of.repeat(self._victim, every=0.5)]

    def flood(self) -> None:
        """Add deliveries to forty endpoints of an account, again and again."""
        hostile = [self._endpoint(f"hangs{i}", "acc_hangs", DEAD) for i in range(40)]
        numbers = count()
        while self._of.clock.now() < self._of.end:
            for x in hostile:
                self._adder.add(x, [self._new(f"evt_hostile{next(numbers)}", x) for _ in range(5)])
            self._of.clock.sleep(EVERY)

    def _endpoint(self, name: str, namespace: str, url: str) -> Endpoint:
        made = endpoint(id=f"hook_{name}", namespace=namespace, url=url, created_at=self._of.clock.ms, proven=True)
        return self._endpoints.put(made)

    def _new(self, name: str, to: Endpoint) -> HookDelivery:
        now = self._of.clock.ms
        return delivery(id=name, endpoint=to.id, created_at=now, due=now)

    def _victim(self) -> None:
        name = f"evt_mine{len(self._added)}"
        self._added[name] = self._of.clock.now()
        self._adder.add(self._mine, [self._new(name, self._mine)])

    def _worker(self, *, apart: bool) -> Callable[[str], object]:
        clock = self._of.clock
        calls = CallHooks(
            endpoints=self._endpoints,
            queue=self._queue,
            works=FakeWorks(self._queue),
            hints=self,
            poster=HookPoster(client=self, secrets=FakeHookSecrets(), body=lambda x, _: x.id.encode(), clock=clock),
            clock=clock,
            draw=lambda: 0.5,
            pool=FakePool,
        )
        return lambda name: calls.work(name, apart=apart, stop_at=clock.now() + 45)

    # `ports.HookClient`

    def post(self, url: str, *, headers: Mapping[str, str], body: bytes, until: Seconds) -> HookAnswer:
        self.under_way += url == DEAD
        self.most = max(self.most, self.under_way)
        if url == DEAD:
            begun = self._of.clock.now()
            self._of.clock.sleep(max(0.0, until - begun))
            self.under_way -= 1
            raise HookUnreachable("read_timeout", int((self._of.clock.now() - begun) * 1000))
        self._of.clock.sleep(0.05)
        self._of.waits["webhook"].append(self._of.clock.now() - self._added[HookPost(url, headers, body).body.decode()])
        return HookAnswer(204, 50)
