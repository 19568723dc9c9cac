"""A deployment as the functions make it, over the stores and queues of a simulated day."""

from typing import Any

from shared import contracts
from shared.bootstrap import Deployment
from shared.engine.outcome.announcer import Announcer
from shared.ports import HookHints
from tests.fakes.clock import FakePool
from tests.fakes.hooks.outside import FakeHookSecrets
from tests.fakes.mails.files import FakeMailFiles
from tests.fakes.queues import FakeQueue
from tests.fakes.tables import MotoStores
from tests.fakes.world import World


def deployment(world: World, stores: MotoStores, hints: HookHints) -> Deployment:
    """Return a deployment whose parts are those of functions. Put into it is all that is outside of them."""
    env = {
        contracts.ENV_RECORDS_TABLE: stores.tables.records,
        contracts.ENV_OPS_TABLE: stores.tables.ops,
        contracts.ENV_BUCKET: "bucket",
    }
    d = Deployment(env, world.clock)
    outside: dict[str, Any] = {
        "settings": world.settings,
        "dynamo": stores.dynamo,
        "blobs": stores.blobs,
        "lanes": world.lanes,
        "standings": world.standings,
        "spender": None,
        "breaker_cache": world.breaker_cache,
        "scheduler": world.scheduler,
        "due_queue": world.due_queue,
        "inbox_queue": FakeQueue(world.clock),
    }
    d.__dict__.update(outside)
    files = FakeMailFiles(world.tap)
    files.items = world.messages.items
    d.mailing.__dict__["files"] = files
    d.digesting.__dict__["queue"] = FakeQueue(world.clock)
    d.hooking.__dict__.update(secrets=FakeHookSecrets(), hints=hints)
    d.__dict__["announcer"] = Announcer(d.audience, hints, world.clock)
    for threaded in (d.tracker, d.hooking.gatherer, d.noticing.sweeper, d.digesting.sweeper):
        threaded._pool = FakePool  # noqa: SLF001 - threads of fake time
    return d
