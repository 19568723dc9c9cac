"""A provider that asks to wait for ever keeps nobody's messages: the chunk goes on without an attempt used."""

import pytest

from shared.domain.jobs import passes
from shared.domain.jobs.outcomes import Throttled
from shared.domain.jobs.passes import THROTTLED
from shared.domain.jobs.states import Cell, JobState
from tests.fakes.world import World, credential


def throttle(world: World, lane: str, seconds: float) -> None:
    world.providers[lane].answer = Throttled(seconds)


@pytest.mark.promise(3)
@pytest.mark.parametrize(("seconds", "leases"), [(2, THROTTLED), (301, 1)])
def test_what_one_provider_throttles_for_ever_goes_through_the_other(seconds: float, leases: int) -> None:
    world = World(credential("one", 10), credential("two", 10))
    throttle(world, "one", seconds)
    job = world.accept(8)
    begun = world.clock.now()
    world.run(seconds=600)
    assert world.cells(job.id) == [(Cell.SENT, 1)] * 8
    assert world.job(job.id).state is JobState.LOGGED
    asked = [n for _, lane, n in world.oracle.calls if lane == "one"]
    mine = sum(x.lane == "one" for x in world.ledgers.read_all(job.id))
    assert mine == 0
    assert len(asked) == leases, "one refused call a lease, not a window of them"
    assert world.clock.now() - begun < 60
    world.check()


def test_a_provider_that_throttles_and_takes_is_not_left() -> None:
    world = World(credential("one", 10), credential("two", 10))
    job = world.accept(40, route=("one", "two"))
    provider = world.providers["one"]
    for i in range(0, 40, 3):
        provider.script(f"r{i}@example.com", [Throttled(1)] * 2)
    world.run(seconds=600)
    assert world.counts(job.id) == {"sent": 40}
    by = world.logs.counts(world.job(job.id)).by
    assert by["one"]["accepted"] >= 13


def test_a_route_of_one_rests_longer_and_longer_and_ends_some_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "MAX_ROUNDS", 4)
    world = World(credential("one", 10))
    throttle(world, "one", 1)
    job = world.accept(2)
    world.run(seconds=90)
    assert world.cells(job.id) == [(Cell.QUEUED, 0)] * 2
    assert world.ledgers.read_all(job.id)[0].rounds == 2
    assert len(world.oracle.calls) < 40
    world.settle()
    assert world.counts(job.id) == {"failed": 2}
    assert world.oracle.taken == []


def test_once_it_takes_something_the_count_begins_anew() -> None:
    world = World(credential("one", 10), credential("two", 10))
    job = world.accept(1)
    lane = world.ledgers.read_all(job.id)[0].lane
    throttle(world, lane, 1)
    for _ in range(THROTTLED - 1):
        world.send(lane)
        world.clock.advance(1)
    assert world.ledgers.read_all(job.id)[0].throttled == THROTTLED - 1
    world.providers[lane].answer = None
    world.run()
    assert {name for _, name, _ in world.oracle.calls} == {lane}
    assert world.counts(job.id) == {"sent": 1}
