"""What a job's low rate, or a worker's wrong clock, costs the others who share its credential."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from shared.ports import Retriable
from tests.engine.measuring import worst_second
from tests.engine.test_own_rate import SHARED, slowed, times
from tests.fakes.clock import SkewedClock
from tests.fakes.queues import FakePacer
from tests.fakes.world import World, credential, recipients

WORKERS, LEASES = 2, 2


def served(world: World, seconds: float, *others: Callable[[], None], skewed: float = 0.0) -> None:
    """Serve lane `one` by two workers of two leases, and by a third with a wrong clock, if `skewed`."""
    end = world.clock.now() + seconds
    senders = [world.sender("one", pacer=FakePacer.beside(world.pacer)) for _ in range(WORKERS)]
    if skewed:
        wrong = SkewedClock(world.clock, skewed)
        senders.append(world.sender("one", clock=wrong, pacer=FakePacer.beside(world.pacer, wrong, judge=world.clock)))

    def lease(n: int) -> None:
        world.clock.sleep(0.0137 * n)
        while world.clock.now() < end:
            try:
                if not world.send("one", senders[n % len(senders)]):
                    world.clock.sleep(0.05)
            except Retriable:
                world.clock.sleep(0.05)

    world.clock.run(*[lambda n=n: lease(n) for n in range(LEASES * len(senders))], *others)


@pytest.mark.slow
@pytest.mark.parametrize("own", [0.1, 1.0])
def test_beside_jobs_of_a_low_rate_a_single_mail_leaves_within_five_seconds(own: float) -> None:
    world = World(replace(credential("one", 100), workers=WORKERS))
    world.providers["one"].latency = 0.1
    world.slow_down(0.003, 0.007)
    slow = [slowed(world, 300, own, SHARED) for _ in range(3)]
    seconds, began = 150, world.clock.now()
    asked: dict[str, float] = {}

    def mails() -> None:
        while world.clock.now() < began + seconds - 20:
            at = world.clock.now()
            asked[world.accept(recipients(1)).id] = at
            world.clock.sleep(3)

    served(world, seconds, mails)
    left = {x.ref.job: x.at for x in world.oracle.taken}
    waits = sorted(left.get(job, world.clock.now()) - at for job, at in asked.items())
    assert waits[int(0.95 * len(waits))] <= 5
    for job in slow:
        mine = [t for t, _ in times(world, job.id)]
        assert min(b - a for a, b in pairwise(mine)) >= 1 / own
        assert len(mine) >= 0.85 * own * seconds
    assert worst_second(times(world)) <= 100


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize("skew", [3 * 3600.0, -3 * 3600.0])
def test_a_worker_with_a_wrong_clock_neither_silences_its_credential_nor_exceeds_the_rate(skew: float) -> None:
    world = World(replace(credential("one", 10), workers=WORKERS))
    world.accept(400)
    served(world, 45, skewed=skew)
    at = times(world)
    assert worst_second(at) <= 10
    assert len(at) >= 250
