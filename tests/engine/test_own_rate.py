"""Promise 2 for a campaign's own rate below its credential's: neither is exceeded, and little of it is lost."""

from dataclasses import replace

import pytest

from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.job import Job
from tests.engine.measuring import drain, worst_second
from tests.fakes.world import World, credential, recipients

MERGED = Content(Mailbox("news@example.com"), "Hello {{ recipient }}", text="Hello!", merge=True)
SHARED = Content(Mailbox("news@example.com"), "Hello", text="Hello!")


def slowed(world: World, count: int, rate: float, content: Content) -> Job:
    """Accept a job with a rate of its own."""
    job = replace(world.accept(recipients(count), content=content), rate=rate)
    world.stores.records.jobs[job.id] = job  # type: ignore[attr-defined]
    return job


def times(world: World, job: str = "") -> list[tuple[float, int]]:
    """Return when each message left, of one job or of all."""
    return sorted((x.at, 1) for x in world.oracle.taken if job in ("", x.ref.job))


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize("content", [MERGED, SHARED], ids=["merged", "shared"])
@pytest.mark.parametrize(("rate", "own"), [(10, 0.5), (10, 1), (10, 7), (150, 10), (150, 70), (1000, 150)])
def test_a_job_keeps_its_own_rate(rate: float, own: float, content: Content) -> None:
    world = World(credential("one", rate), provider_limit=1000)
    count = round(20 * max(own, 1))
    job = slowed(world, count, own, content)
    world.slow_down(0.001, 0.008)
    drain(world, skew=0.005)
    mine = times(world, job.id)
    assert len(mine) == count
    assert worst_second(mine) <= max(1, int(own))
    last = mine[-1][0]
    assert sum(t < last for t, _ in mine) / (last - mine[0][0]) >= 0.93 * own
    world.run()
    world.check()


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize("content", [MERGED, SHARED], ids=["merged", "shared"])
@pytest.mark.parametrize(("rate", "own"), [(10, 3), (100, 20)])
def test_beside_others_neither_rate_is_exceeded(rate: float, own: float, content: Content) -> None:
    world = World(credential("one", rate), provider_limit=1000)
    job = slowed(world, round(6 * own), own, content)
    other = world.accept(recipients(round(9 * rate)))
    drain(world, skew=0.005)
    assert worst_second(times(world, job.id)) <= own
    assert worst_second(times(world)) <= rate
    # A slot of the slower job takes as long as it is rare: together they leave nothing of the rate unused.
    worth = sum(rate / own if x.ref.job == job.id else 1 for x in world.oracle.taken)
    spent = times(world)[-1][0] - times(world)[0][0]
    assert worth / spent >= 0.9 * rate
    assert len(times(world, other.id)) == 9 * rate
    world.run()
    world.check()


@pytest.mark.slow
@pytest.mark.promise(2)
def test_calls_of_one_leave_room_for_the_calls_of_many_beside_them() -> None:
    world = World(credential("one", 1000), provider_limit=1000)
    world.accept(recipients(2500), content=MERGED)
    world.accept(recipients(2500), content=SHARED)
    drain(world, skew=0.005)
    sizes = {n for _, _, n in world.oracle.calls}
    assert sizes >= {1, 40}
    assert worst_second(times(world)) <= 1000
    assert len(world.oracle.taken) == 5000
