"""Tables are lost in the middle of sending and come back from a copy of before: nothing is sent twice or unnamed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest

from shared.domain.jobs.outcomes import Rejected, Throttled
from shared.domain.jobs.states import OPEN, Cell, JobState
from tests.fakes.faults import Crash, When
from tests.fakes.restoring import copied, holding, lose, restore
from tests.fakes.tables import MotoStores
from tests.fakes.world import World, credential

LOSSES = [("ops",), ("records",), ("records", "ops"), ("identities", "audit")]
WINDOW = 9
"""Messages of a lease of 10 a second: so many a dead worker leaves in doubt."""
SHOWN = {Cell.UNKNOWN, Cell.FAILED, Cell.DROPPED, Cell.SKIPPED}


def make(client: Any, sizes: Sequence[int]) -> World:
    """Return a world over real stores, with jobs that meet refusals, a throttle and a failover."""
    world = World(credential("one", 10), credential("two", 10), stores=lambda clock: MotoStores(client, clock))
    for p in world.providers.values():
        p.script("r1@example.com", [Rejected("bad", permanent=True)])
        p.script("r2@example.com", [Throttled(2)])
        p.script("r3@example.com", [Rejected("down", permanent=False)])
    for size in sizes:
        world.accept(size)
    return world


def stores_of(world: World) -> MotoStores:
    assert isinstance(world.stores, MotoStores)
    return world.stores


def run_until(world: World, calls: int) -> None:
    """Let everything run until a process dies at its call of that number; then all begin anew."""
    world.tap.arm(calls, When.AFTER)
    with suppress(Crash):
        world.run()
    world.tap.disarm()
    world.reboot()


def moments(
    make_one: Callable[[], World], first: int, step: int, gap: int
) -> Iterator[tuple[World, Callable[[], Any]]]:
    """Yield worlds that were copied at ever later moments and lost some calls later, with what takes the copy."""
    nth = first
    while True:
        world = make_one()
        before = len(world.tap.calls)
        run_until(world, nth)
        ended = len(world.tap.calls) - before < nth
        past = copied(stores_of(world).client, stores_of(world).tables)
        run_until(world, gap)
        yield world, lambda past=past: past  # type: ignore[misc]
        if ended:
            return
        nth += step


def rest(world: World) -> None:
    """Let three minutes pass while everything is paused, with the sweeper."""
    for _ in range(3):
        world.run(seconds=60)
        world.clock.sleep(60)
        world.sweep()


def release(world: World) -> None:
    """Let all that is held go, and end the pause, as an operator does."""
    stores = stores_of(world)
    for held in list(holding(stores, world.clock.ms).held()):
        holding(stores, world.clock.ms).release(held, "operator:1:user/ann")
    stores.unpause("")
    world.reboot()


def judged(world: World) -> None:
    """Check that each message was taken once at most, and that each that was not says why."""
    for job in world.jobs:
        found = world.records.job(job)
        taken = world.oracle.times(job)
        assert max(taken.values(), default=0) <= 1, taken
        if found is None:
            continue  # its item is lost: the review names it
        assert found.state is JobState.LOGGED
        states = world.states(job)
        assert not OPEN & set(states)
        places = [(x.chunk, i) for x in world.ledgers.read_all(job) for i in range(len(x.cells))]
        missing = [p for p, state in zip(places, states, strict=True) if p not in taken and state not in SHOWN]
        assert not missing, (missing, states)
        assert sum(found.counts.values()) == found.total
    world.check()


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("gap", [3, 17, 60])
@pytest.mark.parametrize("lost", LOSSES, ids="+".join)
def test_a_loss_at_any_moment_sends_nothing_twice(moto_dynamo: Any, lost: tuple[str, ...], gap: int) -> None:
    looked = 0
    for world, past in moments(lambda: make(moto_dynamo, [12, 3, 1]), 2, 47, gap):
        stores = stores_of(world)
        lose(moto_dynamo, stores.tables, lost)
        stores.pause("")
        restore(stores, past(), lost, now=world.clock.ms)
        world.reboot()
        rest(world)
        release(world)
        world.settle()
        judged(world)
        looked += 1
    assert looked >= 3


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("lost", LOSSES[:3], ids="+".join)
def test_a_copy_of_the_moment_of_the_loss_leaves_no_more_in_doubt_than_a_dead_worker(
    moto_dynamo: Any, lost: tuple[str, ...]
) -> None:
    for calls in range(2, 120, 39):
        world = make(moto_dynamo, [12, 3, 1])
        run_until(world, calls)
        stores = stores_of(world)
        past = copied(moto_dynamo, stores.tables)
        lose(moto_dynamo, stores.tables, lost)
        stores.pause("")
        restore(stores, past, lost, now=world.clock.ms, exact=True)
        world.reboot()
        rest(world)
        release(world)
        world.settle()
        judged(world)
        unknown = sum(state is Cell.UNKNOWN for job in world.jobs for state in world.states(job))
        assert unknown <= WINDOW, calls
