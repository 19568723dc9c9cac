"""Endpoints of webhooks behind the API under test, and what receives from them."""

from dataclasses import dataclass, replace

from functions.api.hooks.services import HookServices
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.hooks.endpoints import DynamoEndpoints
from shared.adapters.dynamo.hooks.queue import DynamoHookQueue
from shared.adapters.dynamo.hooks.works import DynamoWorks
from shared.domain.hooks.delivery import DeliveryState, HookAttempt, HookDelivery, attempted, ended
from shared.domain.hooks.endpoint import Endpoint
from shared.engine.hooks.listening import ListenerService
from shared.engine.hooks.render import HookBodies
from shared.engine.hooks.service import HookService
from shared.ports import Records
from tests.fakes.clock import FakeClock
from tests.fakes.hooks.outside import FakeHookHints, FakeHookSecrets


@dataclass
class HookRoom:
    """The services of the API, and what is behind them."""

    services: HookServices
    endpoints: DynamoEndpoints
    queue: DynamoHookQueue
    hints: FakeHookHints
    clock: FakeClock

    def endpoint(self, name: str) -> Endpoint:
        """Return an endpoint."""
        found = self.endpoints.get(name)
        assert found is not None
        return found

    def waiting(self, name: str) -> list[HookDelivery]:
        """Return what waits for an endpoint."""
        return list(self.queue.pending(name, limit=100)[0])

    def prove(self, name: str) -> None:
        """Have an endpoint answer its test event."""
        (proof,) = self.waiting(name)
        self.end(proof, DeliveryState.DELIVERED, 204)
        old = self.endpoint(name)
        assert self.endpoints.change(old, replace(old, proven=True, version=old.version + 1), event=None)
        self.hints.calls.clear()
        self.clock.advance(1)

    def over(self, name: str, event: str = "evt_1", state: DeliveryState = DeliveryState.FAILED) -> HookDelivery:
        """Return a delivery that ended, after one attempt."""
        now = self.clock.ms
        waiting = HookDelivery(event, name, "job.logged", now, now, data="{}")
        self.queue.add(name, [waiting], wake=now)
        return self.end(waiting, state, 200 if state is DeliveryState.DELIVERED else 500)

    def end(self, waiting: HookDelivery, state: DeliveryState, status: int) -> HookDelivery:
        """End a delivery."""
        now, said = self.clock.ms, "Oops" if state is DeliveryState.FAILED else ""
        done = ended(attempted(waiting, HookAttempt(now, status, 12, said)), state, now)
        self.queue.settle([(waiting, done)])
        return done


def build_hooks(dynamo: Dynamo, records_table: str, records: Records, clock: FakeClock) -> HookRoom:
    """Return endpoints over tables."""
    hints, secrets = FakeHookHints(), FakeHookSecrets()
    endpoints = DynamoEndpoints(dynamo, records=records_table)
    queue = DynamoHookQueue(dynamo, records=records_table)
    service = HookService(
        endpoints=endpoints,
        queue=queue,
        works=DynamoWorks(dynamo, records=records_table),
        hints=hints,
        secrets=secrets,
        journal=DynamoJournal(dynamo, records_table),
        clock=clock,
        local=False,
    )
    listeners = ListenerService(
        endpoints=endpoints, queue=queue, secrets=secrets, body=HookBodies(records, clock), clock=clock
    )
    return HookRoom(HookServices(service, listeners), endpoints, queue, hints, clock)
