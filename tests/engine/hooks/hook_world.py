"""A world whose accounts have webhooks: what becomes a delivery of them."""

from collections.abc import Iterator
from typing import Any

from shared.contracts import Credential
from shared.domain.hooks.delivery import HookDelivery
from shared.domain.hooks.endpoint import Endpoint, new_endpoint_id
from shared.domain.hooks.kinds import LATER_S, HookKind, HookPace, kind_of, message_event_id
from shared.domain.jobs.states import Cell
from shared.engine.hooks.adding import HookAdder
from shared.engine.hooks.gather import Gatherer
from shared.engine.hooks.outbox import KNOWN_FOR, HookOutbox
from shared.engine.outcome.announcer import Announcer
from shared.ports import Retriable
from tests.fakes.clock import FakeClock, FakePool
from tests.fakes.faults import Crash
from tests.fakes.hooks.endpoints import FakeEndpoints
from tests.fakes.hooks.outside import FakeHookHints
from tests.fakes.hooks.queue import FakeHookQueue
from tests.fakes.hooks.told import FakeAnnouncements
from tests.fakes.stores import FakeStores
from tests.fakes.world import ACCOUNT, World

EVERYTHING = ("*",)


class HookWorld(World):
    """A world with endpoints. Everything in it is public."""

    announcer: Announcer

    def __init__(self, *credentials: Credential, provider_limit: int = 50) -> None:
        clock = FakeClock()
        stores = FakeStores(clock)
        self.told = FakeAnnouncements(stores.tap)
        self.queue = FakeHookQueue(stores.tap)
        self.endpoints = FakeEndpoints(tap=stores.tap, queue=self.queue)
        self.hook_hints = FakeHookHints(stores.tap)
        self.announcer = Announcer(self.endpoints, self.hook_hints, clock)
        super().__init__(*credentials, stores=lambda _: stores, clock=clock, provider_limit=provider_limit)

    def reboot(self) -> None:
        """Start all functions anew."""
        super().reboot()
        adder = HookAdder(queue=self.queue, hints=self.hook_hints, clock=self.clock)
        outbox = HookOutbox(endpoints=self.endpoints, adder=adder, clock=self.clock)
        self.gatherer = Gatherer(
            records=self.records, ledgers=self.ledgers, told=self.told, outbox=outbox, clock=self.clock, pool=FakePool
        )
        self.outbox = outbox

    def endpoint(self, *events: str, **changes: Any) -> Endpoint:
        """Make an endpoint, by default one of the account that wants every kind."""
        fields: dict[str, Any] = {
            "id": new_endpoint_id(self.clock.ms),
            "namespace": ACCOUNT,
            "url": "https://example.com/hook",
            "events": events or EVERYTHING,
            "created_at": self.clock.ms,
            "proven": True,
        }
        return self.endpoints.put(Endpoint(**{**fields, **changes}))

    def gather(self) -> int:
        """Serve the hints that are queued; one that fails is served again. Return how many deliveries were made."""
        made = 0
        if any(x.pace is HookPace.LATER for x in self.hook_hints.gathers):
            self.clock.sleep(LATER_S)
        while self.hook_hints.gathers:
            hint = self.hook_hints.gathers[0]
            places = [(job, n) for job, chunks in hint.places.items() for n in chunks]
            try:
                made += self.gatherer.gather(hint.namespace, places, hint.pace).deliveries
            except (Crash, Retriable):
                self.reboot()
                continue
            self.hook_hints.gathers.pop(0)
        return made

    def everything(self) -> None:
        """Let everything end, as far as it does by itself."""
        self.settle()
        self.run()
        self.gather()

    # What a test sees

    def deliveries(self, endpoint: Endpoint) -> list[HookDelivery]:
        """Return the deliveries of an endpoint, in the order of their storing."""
        return [x for x in self.queue.waiting.values() if x.endpoint == endpoint.id]

    def ids(self, endpoint: Endpoint) -> list[str]:
        """Return the ids of all events of messages in an endpoint's deliveries."""
        return [name for x in self.deliveries(endpoint) for name in ids_of(x)]

    def due(self, job: str) -> set[str]:
        """Return the ids of the events that the messages of a job have come to, as its ledgers show them."""
        out = set()
        for x in self.ledgers.read_all(job):
            for i, b in enumerate(x.cells):
                kind = kind_of(Cell(b & 15))
                if kind is not None:
                    out.add(message_event_id(job, x.chunk, i, b >> 4, kind))
        return out

    def later(self) -> None:
        """Let the time pass after which endpoints are read anew."""
        self.clock.sleep(KNOWN_FOR + 1)


def ids_of(delivery: HookDelivery) -> Iterator[str]:
    """Yield the ids of a delivery's events of messages."""
    for x in delivery.cells:
        for index, byte in x.cells:
            yield message_event_id(x.job, x.chunk, index, byte >> 4, HookKind(delivery.kind))


PACES = tuple(HookPace)
