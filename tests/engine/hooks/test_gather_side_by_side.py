"""The gatherer works for many endpoints, and on many chunks, in little time."""

from dataclasses import replace

import pytest

from shared.domain.hooks.kinds import HookPace
from shared.engine.hooks import gather
from tests.engine.hooks.hook_world import HookWorld
from tests.fakes.world import ACCOUNT, credential

CALL = 0.01


@pytest.fixture
def world() -> HookWorld:
    return HookWorld(credential("one"))


def places(world: HookWorld, jobs: int, messages: int = 1) -> list[tuple[str, int]]:
    """Send jobs, and return their chunks."""
    names = [world.accept(messages).id for _ in range(jobs)]
    world.settle()
    world.hook_hints.gathers.clear()
    world.hook_hints.calls.clear()
    world.tap.delay = lambda: world.clock.sleep(CALL)
    return [(name, 0) for name in names]


def seconds(world: HookWorld, some: list[tuple[str, int]]) -> float:
    """Hand on the changes of chunks, and return how long that takes."""
    began = world.clock.now()
    world.clock.run(lambda: world.gatherer.gather(ACCOUNT, some, HookPace.NOW))
    return world.clock.now() - began


def test_endpoints_do_not_wait_for_one_another(world: HookWorld) -> None:
    every = [world.endpoint("message.sent", id=f"hook_{n}") for n in range(16)]
    assert seconds(world, places(world, 1)) < 15 * CALL
    assert all(len(world.ids(x)) == 1 for x in every)


def test_chunks_do_not_wait_for_one_another(world: HookWorld) -> None:
    endpoint = world.endpoint("message.sent")
    assert seconds(world, places(world, 32)) < 20 * CALL
    assert len(set(world.ids(endpoint))) == 32


def test_many_endpoints_make_a_slice_smaller(world: HookWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gather.SLICE, HookPace.NOW, 24)
    every = [world.endpoint("message.sent", id=f"hook_{n}") for n in range(4)]
    some = places(world, 5, messages=3)
    done = world.gatherer.gather(ACCOUNT, some, HookPace.NOW, until=world.clock.now() + 4 * CALL)
    assert done.left == tuple(some[2:]), "24 messages for one endpoint are 6 for 4: two jobs"
    assert [len(world.ids(x)) for x in every] == [6] * 4


def test_endpoints_that_fail_come_last(world: HookWorld) -> None:
    bad, good = (world.endpoint("message.sent", id=f"hook_{n}") for n in range(2))
    first = places(world, 1)
    world.gatherer.gather(ACCOUNT, first, HookPace.NOW)
    assert [x.endpoint for x in world.hook_hints.calls] == [bad.id, good.id]
    work = world.queue.works[bad.id]
    world.queue.works[bad.id] = replace(work, fails=1)
    for _ in range(2):
        world.hook_hints.calls.clear()
        world.tap.delay = lambda: None
        world.gatherer.gather(ACCOUNT, places(world, 1), HookPace.NOW)
    assert [(x.endpoint, x.apart) for x in world.hook_hints.calls] == [(good.id, False), (bad.id, True)]
