"""A credential of single messages comes back after an outage, and one that is bad but alive is used."""

import pytest

from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import Cell, JobState
from shared.domain.lanes.breaker import BreakerState
from tests.engine.failing import DEAD, DOWN, answers, breaker, calls
from tests.engine.shaky import ALL, FAST, QUICK, deploy, logged, shake
from tests.fakes.world import World, credential

# Single messages


def singles(world: World, count: int) -> list[Job]:
    return [world.accept(1) for _ in range(count)]


@pytest.mark.slow
@pytest.mark.promise(3)
@pytest.mark.parametrize("names", [("one",), ("one", "two")])
@pytest.mark.parametrize("rate", [100, 4])
def test_single_messages_close_the_breaker_and_are_sent_within_a_minute(names: tuple[str, ...], rate: float) -> None:
    world = World(*(credential(n, rate) for n in names))
    down = [True]
    answers(world, "one", lambda: DOWN if down[0] else None)
    first = singles(world, 12 * len(names) ** 2)
    deploy(world, *names, seconds=12, until=lambda: False)
    assert not breaker(world).closed
    down[0] = False
    world.clock.sleep(10)
    later = singles(world, 100)
    sent = {j.id for j in later}
    took = deploy(world, *names, until=lambda: all(world.job(j).state is JobState.LOGGED for j in sent))
    assert took <= 60
    first += singles(world, 40)  # the second probe, if the others have all gone elsewhere during the first
    assert deploy(world, *names, until=lambda: logged(world)) <= 60
    assert breaker(world).closed
    assert all(world.states(j.id) == [Cell.SENT] for j in (*first, *later))
    world.check()


@pytest.mark.slow
@pytest.mark.promise(3)
def test_a_credential_of_one_message_in_20_seconds_closes_its_breaker() -> None:
    world = World(credential("one", 0.05))
    down = [True]
    answers(world, "one", lambda: DOWN if down[0] else None)
    singles(world, 8)
    deploy(world, "one", seconds=200, until=lambda: breaker(world).version > 0)
    assert breaker(world).state is BreakerState.OPEN
    down[0] = False
    singles(world, 4)
    took = deploy(world, "one", seconds=900, until=lambda: breaker(world).closed)
    assert took <= 120
    assert deploy(world, "one", seconds=900, until=lambda: logged(world)) < 900
    world.check()


# Bad but alive


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_provider_that_fails_a_quarter_of_its_calls_is_used_at_its_rate(seed: int) -> None:
    world = World(credential("one", 150))
    job = world.accept(8000 if seed == 1 else 2000)
    shake(world, "one", 0.25, FAST, seed)
    began = world.clock.now()
    took = deploy(world, "one", until=lambda: logged(world))
    assert took <= 180
    taken = sum(1 for t in world.oracle.taken if t.at < began + 12)
    assert taken >= 0.6 * 150 * 12
    counts = world.counts(job.id)
    assert counts["sent"] >= 0.999 * job.total
    assert breaker(world).state is BreakerState.CLOSED
    world.check()


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.parametrize("seed", range(1, 5))
def test_a_provider_that_fails_a_quarter_of_its_calls_in_every_way_is_used(seed: int) -> None:
    """One call in twenty hangs for its whole time, and a window ends with its last call.

    The last few messages wait for another try again and again: how often is luck.
    """
    world = World(credential("one", 150), provider_limit=6)
    job = world.accept(8000)
    shake(world, "one", 0.25, ALL, seed)

    def left() -> int:
        counts = world.counts(job.id)
        return counts.get("queued", 0) + counts.get("sending", 0)

    assert deploy(world, "one", until=lambda: left() <= job.total // 100) <= 180
    deploy(world, "one", until=lambda: logged(world))
    counts = world.counts(job.id)
    assert counts["sent"] + counts["unknown"] >= 0.999 * job.total
    assert counts["unknown"] <= 0.15 * job.total
    world.check()


@pytest.mark.slow
def test_a_provider_that_fails_two_calls_in_three_is_left_alone() -> None:
    world = World(credential("one", 150))
    world.accept(2000)
    shake(world, "one", 0.67, FAST)
    deploy(world, "one", seconds=30, until=lambda: False)
    assert breaker(world).version > 0
    assert calls(world, "one") <= 2 * DEAD + 60


@pytest.mark.slow
def test_what_is_refused_for_its_own_sake_gets_its_time_however_well_the_provider_does() -> None:
    world = World(credential("one", 150))
    busy = Rejected("mailbox_busy", permanent=False, about_message=True)
    world.providers["one"].script("r3@example.com", [busy, busy])
    world.providers["one"].latency = QUICK
    job = world.accept(200)
    began = world.clock.now()
    deploy(world, "one", seconds=300, until=lambda: logged(world))
    times = [t.at - began for t in world.oracle.taken if t.address == "r3@example.com"]
    assert world.counts(job.id) == {"sent": 200}
    assert times[0] > 8 + 48  # 10 s and a minute, less a fifth
