"""An endpoint hears of all that a pause, an outage and lost answers delay, at once when it happens in the end."""

import pytest

from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.lanes.switches import AS_DECLARED, Switches
from tests.engine.hooks.hook_world import HookWorld
from tests.fakes.provider import Swallowed
from tests.fakes.world import credential

DOWN = Rejected("http_503", permanent=False)
LOST = Swallowed(Unknown("connection_closed"))


@pytest.mark.promise(12)
@pytest.mark.parametrize("batch", [True, False])
def test_an_endpoint_hears_of_all_that_an_incident_delays(batch: bool) -> None:  # noqa: FBT001 - a parameter
    world = HookWorld(credential("one"))
    endpoint = world.endpoint(batch=batch)

    def heard() -> None:
        """Let what is due happen: then no change of a message is left that was not handed on."""
        world.run(seconds=5)
        world.gather()
        for job in jobs:
            assert world.due(job) <= set(world.ids(endpoint)), world.clock.now()

    jobs = [world.accept(2).id]
    heard()
    world.stores.switch("one", Switches(paused=True))
    jobs.append(world.accept(2).id)
    world.clock.sleep(3_600)
    heard()
    assert set(world.counts(jobs[1])) == {"queued"}
    world.providers["one"].answer = DOWN
    world.stores.switch("one", AS_DECLARED)
    world.sweep()
    jobs.append(world.accept(2).id)
    heard()
    world.providers["one"].answer = LOST
    jobs.append(world.accept(2).id)
    for _ in range(60):
        heard()
        world.clock.sleep(10)
        world.sweep()
    world.providers["one"].answer = None
    world.settle()
    heard()
    for job in jobs:
        world.track("one", *(world.word(job, i, "delivered") for i in range(2)))
        heard()
    kinds = {x.kind for x in world.deliveries(endpoint)}
    assert kinds >= {"message.sent", "message.unknown", "message.delivered"}
