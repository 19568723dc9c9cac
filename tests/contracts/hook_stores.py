"""The stores of webhooks, in memory and on DynamoDB."""

from shared.adapters.dynamo.hooks.endpoints import DynamoEndpoints
from shared.adapters.dynamo.hooks.listeners import DynamoListeners
from shared.adapters.dynamo.hooks.queue import DynamoHookQueue
from shared.adapters.dynamo.hooks.works import DynamoWorks
from shared.ports import Endpoints, HookQueue, Listeners, Works
from tests.fakes.clock import FakeClock
from tests.fakes.hooks.endpoints import FakeEndpoints
from tests.fakes.hooks.queue import FakeHookQueue, FakeWorks
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores


class HookStores:
    """All of them."""

    endpoints: Endpoints
    listeners: Listeners
    queue: HookQueue
    works: Works

    def __init__(self, stores: Stores, clock: FakeClock) -> None:
        self.stores = stores
        self.clock = clock
        if isinstance(stores, FakeStores):
            queue = FakeHookQueue(stores.tap)
            endpoints = FakeEndpoints(stores.journal, stores.tap, queue)
            self.endpoints, self.listeners, self.queue, self.works = endpoints, endpoints, queue, FakeWorks(queue)
            return
        assert isinstance(stores, MotoStores)
        db, records = stores.dynamo, stores.tables.records
        self.endpoints = DynamoEndpoints(db, records=records)
        self.listeners = DynamoListeners(db, records=records, clock=clock)
        self.queue = DynamoHookQueue(db, records=records)
        self.works = DynamoWorks(db, records=records)
