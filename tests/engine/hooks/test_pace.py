"""An endpoint whose `batch` changes misses nothing, whatever processes remember of it meanwhile."""

from dataclasses import replace

import pytest

from shared.domain.hooks.endpoint import BOTH_PACES_MS
from shared.domain.hooks.kinds import HookPace
from shared.engine.hooks.outbox import KNOWN_FOR
from tests.domain.hooks.examples import endpoint
from tests.engine.hooks.hook_world import HookWorld
from tests.fakes.world import ACCOUNT, credential


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("stale", list(HookPace))
def test_processes_that_know_an_endpoint_as_it_was_leave_nothing_out(batch: bool, stale: HookPace) -> None:  # noqa: FBT001 - a parameter
    """One pace's gatherer remembers the endpoint from before the change, the other's reads it after that."""
    world = HookWorld(credential("one"))
    old = world.endpoint(batch=not batch)
    job = world.accept(3).id
    world.settle()
    world.run()
    remembers = world.gatherer
    assert [x.id for x in world.outbox.endpoints(ACCOUNT)] == [old.id], "it is remembered for some seconds"
    world.clock.sleep(KNOWN_FOR - 1)
    world.endpoints.put(replace(old, batch=batch, batch_at=world.clock.ms, version=2))
    world.reboot()
    for hint in world.hook_hints.gathers:
        places = [(name, n) for name, chunks in hint.places.items() for n in chunks]
        gatherer = remembers if hint.pace is stale else world.gatherer
        gatherer.gather(hint.namespace, places, hint.pace)
    assert world.due(job) <= set(world.ids(old))


def test_an_endpoint_is_of_one_pace_but_for_a_minute_after_a_change() -> None:
    changed = 1_000_000
    one = endpoint(batch=True, batch_at=changed)
    paces = [[one.gathers(now, later=later) for later in (True, False)] for now in (changed, changed + BOTH_PACES_MS)]
    assert paces == [[True, True], [True, False]]
    assert [endpoint().gathers(changed, later=later) for later in (True, False)] == [False, True]
    assert BOTH_PACES_MS > 10 * KNOWN_FOR * 1000
