"""A provider that works again is found out by a few probes, of one worker at a time."""

import pytest

from shared.domain.jobs.states import Cell
from shared.domain.lanes.breaker import PROBE_TIME, BreakerState
from tests.engine.failing import DOWN, answers, breaker, calls, serve, starts_at
from tests.fakes.faults import Crash, When
from tests.fakes.world import World, credential

# Coming back


def test_two_probes_close_the_breaker_and_load_comes_back() -> None:
    world = World()
    job = starts_at(world, "one", 40)
    world.providers["one"].answer = DOWN
    world.run(seconds=5)
    world.providers["one"].answer = None
    assert world.ledgers.read_all(world.accept(2).id)[0].lane == "two"
    world.clock.sleep(15)
    probed = starts_at(world, "one", 40)
    world.run(seconds=5)
    closed = breaker(world)
    assert (closed.state, closed.reason, closed.version) == (BreakerState.CLOSED, "http_503", 3)
    windows, _ = world.records.details(probed.id, 0)
    assert [(w.credential, len(w.entries)) for w in windows] == [("one", 3), ("one", 17)]
    assert world.counts(job.id) == world.counts(probed.id) == {"sent": 40}
    later = [world.accept(2) for _ in range(20)]
    assert {world.ledgers.read_all(j.id)[0].lane for j in later} == {"one", "two"}
    world.settle()
    world.check()


@pytest.mark.slow
def test_only_one_worker_probes() -> None:
    world = World(credential("one", 150), credential("two", 150))
    world.providers["one"].answer = DOWN
    world.providers["one"].latency = 1.0
    starts_at(world, "one", 40)
    serve(world, "one", "two", seconds=4)
    due = breaker(world).probe_at / 1000
    world.clock.sleep(due - world.clock.now() + 0.1)
    jobs = [starts_at(world, "one", 40) for _ in range(8)]
    began = world.clock.now()
    serve(world, "one", "two", workers=4, seconds=8)
    assert calls(world, "one", since=began) == 1
    assert (breaker(world).state, breaker(world).delay) == (BreakerState.OPEN, 20_000)
    assert [world.counts(j.id) for j in jobs] == [{"sent": 40}] * 8


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_prober_that_dies_blocks_the_credential_for_half_a_minute(when: When) -> None:
    world = World()
    world.providers["one"].answer = DOWN
    starts_at(world, "one", 40)
    world.run(seconds=5)
    world.providers["one"].answer = None
    world.clock.sleep(15)
    job = starts_at(world, "one", 6)
    world.tap.arm_at("provider.one", when)
    with pytest.raises(Crash):
        world.run(seconds=5)
    world.reboot()
    half_open = breaker(world)
    assert half_open.state is BreakerState.HALF_OPEN
    assert world.ledgers.read_all(world.accept(2).id)[0].lane == "two"
    assert half_open.probe_at - world.clock.ms <= PROBE_TIME
    world.clock.sleep(PROBE_TIME / 1000)
    starts_at(world, "one", 6)
    world.run(seconds=5)
    assert breaker(world).state is BreakerState.CLOSED
    world.settle()
    assert world.states(job.id).count(Cell.UNKNOWN) == 3  # the window of probes that it had claimed
    world.check()


@pytest.mark.slow
def test_a_provider_that_flaps_is_left_alone_for_longer_and_longer() -> None:
    world = World(credential("one", 50), credential("two", 50))
    began = world.clock.now()
    answers(world, "one", lambda: DOWN if (world.clock.now() - began) % 20 > 4 else None)
    jobs = []
    delays = set()
    for _ in range(60):
        jobs.append(world.accept(30))
        world.run(seconds=5)
        delays.add(breaker(world).delay)
        world.clock.sleep(5)
    world.settle()
    assert max(delays) >= 80_000
    assert sum(1 for j in jobs if world.counts(j.id) == {"sent": 30}) == 60
    failed = calls(world, "one") - sum(1 for t in world.oracle.taken if t.provider == "one")
    assert failed <= 60
    world.check()
