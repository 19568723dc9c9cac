"""Pointers that the sweeper sends again (S.5, S.6): few for chunks that wait, all for those that have lost theirs."""

from collections import Counter
from collections.abc import Callable

import pytest

from shared.domain.jobs.job import Job
from shared.engine.walks.pointing import FEW
from shared.ports import Retriable
from tests.fakes.clock import FakePool
from tests.fakes.queues import fairest
from tests.fakes.world import ACCOUNT, World, credential

OTHER = "acc_000000000002"


def serve(world: World, *, hours: float = 2) -> None:
    """Let two workers serve the lane, with the sweeper every minute, until all is sent."""
    clock, end, sent = world.clock, world.clock.now() + hours * 3600, world.oracle.taken
    total = sum(world.job(x).total for x in world.jobs)

    def until_the_end(act: Callable[[], object], pause: float) -> Callable[[], None]:
        def run() -> None:
            while len(sent) < total and clock.now() < end:
                clock.sleep(pause)
                act()

        return run

    def fold() -> None:
        while world.log() is not None:
            pass

    senders = [world.sender("one", pool=FakePool) for _ in range(2)]
    workers = [until_the_end(lambda x=x: world.send("one", x), 0.1) for x in senders]  # type: ignore[misc]
    clock.run(*workers, until_the_end(fold, 1), until_the_end(world.sweep, 60))


def singles(world: World, count: int, account: str = ACCOUNT) -> list[Job]:
    return [world.accept(1, account=account) for _ in range(count)]


def pointed(world: World) -> Counter[str]:
    """Return how many pointers the lane got for each message of a single job."""
    return Counter(m.body for m in world.lanes["one"].sent)


def remove(world: World, *jobs: Job) -> None:
    """Lose the pointers of some jobs."""
    lane, lost = world.lanes["one"], {job.id for job in jobs}
    for message in lane.waiting:
        if any(name in message.body for name in lost):
            lane.drop(message)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "rate"), [(348, 4), (348, 2), (348, 1), (1_000, 4)])
def test_single_messages_that_wait_in_a_slow_lane_get_hardly_any_second_pointer(count: int, rate: float) -> None:
    world = World(credential("one", rate))
    singles(world, count)
    serve(world)
    sent = pointed(world)
    assert (len(sent), len(world.oracle.taken)) == (count, count)
    assert sent.total() <= 1.05 * count


def test_a_lane_that_takes_nothing_gets_a_pointer_a_minute_beside_those_of_each_hour() -> None:
    world = World(credential("one", 1))
    singles(world, 100)
    for _ in range(59):
        world.clock.advance(60)
        world.sweep()
    assert pointed(world).total() <= 100 + 59
    assert max(pointed(world).values()) == 2
    world.clock.advance(60)
    assert world.sweep().pointed >= 100


@pytest.mark.promise(3)
@pytest.mark.parametrize("waiting", [1, FEW])
def test_lost_pointers_of_single_messages_come_again_after_two_minutes_in_a_short_queue(waiting: int) -> None:
    world = World(credential("one", 1))
    lost = singles(world, 30)
    world.lanes["one"].lose()
    world.lanes["one"].send(["another's"] * waiting, express=True)
    world.clock.advance(119)
    assert world.sweep().pointed == 0
    world.clock.advance(1)
    assert world.sweep().pointed == len(lost)
    world.clock.advance(60)
    assert world.sweep().pointed == 0, "once"


@pytest.mark.promise(3)
def test_a_lost_pointer_of_an_account_with_few_messages_comes_again_after_two_minutes_behind_another_s_many() -> None:
    world = World(credential("one", 1))
    (lost,) = singles(world, 1)
    world.lanes["one"].lose()
    singles(world, 500, OTHER)
    world.clock.advance(120)
    assert world.sweep().pointed == 2, "one for each account"
    assert [m.body for m in world.lanes["one"].sent if lost.id in m.body][1:] != []


@pytest.mark.slow
@pytest.mark.promise(3)
@pytest.mark.parametrize("place", [0, 150, 347])
def test_a_lost_pointer_amid_others_comes_again_when_the_older_ones_are_served(place: int) -> None:
    world = World(credential("one", 2))
    world.lanes["one"].order = fairest
    jobs = singles(world, 348)
    remove(world, jobs[place])
    begun = world.clock.now()
    serve(world)
    (at,) = [x.at for x in world.oracle.taken if x.ref.job == jobs[place].id]
    assert at - begun <= max(120, place / 2) + 60 + 5
    assert pointed(world).total() <= 1.05 * 348


@pytest.mark.promise(3)
def test_a_lost_pointer_comes_again_after_an_hour_whatever_the_figures_say() -> None:
    world = World(credential("one", 1))
    singles(world, 100)
    world.lanes["one"].lose()
    world.lanes["one"].send(["another's"] * 1_000, express=True)
    for _ in range(60):
        world.clock.advance(60)
        world.sweep()
    del (sent := pointed(world))["another's"]
    assert min(sent.values()) >= 2


def test_a_large_job_behind_another_gets_few_second_pointers() -> None:
    world = World(credential("one", 5))
    first, second = world.accept(2_000), world.accept(2_000)
    assert world.send("one") is not None
    for _ in range(50):
        world.clock.advance(60)
        world.sweep()
    extra = pointed(world).total() - first.chunks - second.chunks
    assert min(first.chunks, second.chunks) > FEW
    assert 0 < extra <= 2 * FEW + 2, "and what the lease that ended has sent"


@pytest.mark.promise(3)
def test_a_job_with_more_such_chunks_than_its_queue_has_messages_gets_all_pointers_again() -> None:
    world = World(credential("one", 5))
    job = world.accept(4_000)
    world.lanes["one"].lose()
    world.lanes["one"].send(["another's"] * (FEW + 2))
    assert job.chunks > FEW + 2
    world.clock.advance(120)
    assert world.sweep().pointed == job.chunks


def test_what_is_delayed_or_in_a_worker_s_hands_does_not_make_a_queue_long() -> None:
    world = World(credential("one", 1))
    singles(world, 1)
    world.lanes["one"].lose()
    world.lanes["one"].send(["later"] * 50, delay=900, express=True)
    world.lanes["one"].send(["at work"] * 20, express=True)
    for _ in range(20):
        assert world.lanes["one"].receive() is not None
    world.clock.advance(120)
    assert world.sweep().pointed == 1


def test_a_run_asks_each_queue_once() -> None:
    world = World(credential("one", 1))
    singles(world, 250)
    world.accept(40)
    world.clock.advance(120)
    world.sweep()
    assert Counter(world.tap.calls)["queue.depth"] == 2


def test_what_a_run_saw_that_did_not_come_to_its_end_is_pointed_to_by_the_next() -> None:
    world = World(credential("one", 1))
    singles(world, 1_500)
    world.clock.advance(120)
    world.tap.delay = lambda: world.clock.advance(0.5)
    assert world.sweeper.sweep(world.clock.now() + 1).unfinished[0] == "jobs"
    assert pointed(world).total() == 1_500
    world.tap.delay = lambda: None
    world.clock.advance(60)
    assert world.sweep().pointed == 2


def test_a_longest_wait_that_cannot_be_pointed_to_is_tried_again_a_minute_later() -> None:
    world = World(credential("one", 1))
    singles(world, 20)
    world.clock.advance(120)
    world.tap.arm_at("queue.send", error=lambda: Retriable("busy"))
    with pytest.raises(Retriable):
        world.sweep()
    world.clock.advance(60)
    assert world.sweep().pointed == 1
