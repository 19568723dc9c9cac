import json

import pytest

from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import Change, JobState
from shared.engine.sweeper.sweep import Swept
from shared.engine.walks.jobs import YOUNG_MS
from tests.fakes.faults import Crash, When
from tests.fakes.world import INVOCATION, LEASE_MARGIN, World, credential

AGE = YOUNG_MS / 1000
NOTHING = Swept(planned=0, taken_over=0, folded=0, pointed=0, logged=0, asked=0)


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


def lost(world: World, lane: str = "one") -> int:
    """Lose a lane's pointers, and let the sweeper's time come."""
    world.clock.advance(AGE)
    return world.lanes[lane].lose()


def pointers(world: World) -> int:
    return len(world.lanes["one"].waiting)


def test_a_world_without_open_jobs_is_left_alone(world: World) -> None:
    assert world.sweep() == NOTHING
    world.accept(3)
    world.run()
    assert world.sweep() == NOTHING


def test_a_job_under_way_is_left_alone(world: World) -> None:
    world.accept(3)
    assert world.sweep() == NOTHING
    assert pointers(world) == 1


def test_a_lost_pointer_is_sent_again(world: World) -> None:
    job = world.accept(3)
    assert lost(world) == 1
    assert world.sweep().pointed == 1
    assert pointers(world) == 1
    world.run()
    assert world.counts(job.id) == {"sent": 3}


def test_a_job_that_was_just_made_is_not_read(world: World) -> None:
    world.accept(3)
    world.lanes["one"].lose()
    world.clock.advance(AGE - 0.001)
    assert world.sweep() == NOTHING
    assert not {"records.read_jobs", "ledgers.read_these"} & set(world.tap.calls)
    world.clock.advance(0.001)
    assert world.sweep().pointed == 1


def test_a_chunk_that_is_not_due_is_left_alone(world: World) -> None:
    job = world.accept(3)
    world.lanes["one"].lose()
    world.ledgers.reschedule(job.id, 0, not_before=world.clock.ms + 60_000, lane="one")
    assert world.sweep() == NOTHING
    world.clock.advance(61)
    assert world.sweep().pointed == 1


@pytest.mark.promise(3)
def test_an_expired_lease_is_taken_over_and_goes_on(world: World) -> None:
    job = world.accept(12)
    world.tap.arm_at("records.put_detail", When.AFTER)
    with pytest.raises(Crash):
        world.run()
    world.lanes["one"].lose()
    assert world.sweep().taken_over == 0
    world.clock.advance(INVOCATION + LEASE_MARGIN + 1)
    swept = world.sweep()
    assert (swept.taken_over, swept.folded) == (1, 1)
    assert pointers(world) == 1
    assert world.job(job.id).counts["sent"] == 9
    world.run()
    assert world.counts(job.id) == {"sent": 12}


def test_an_unfolded_ledger_is_folded(world: World) -> None:
    job = world.accept(3)
    world.send("one")
    world.stream.clear()
    world.clock.advance(AGE)
    assert world.job(job.id).counts["sent"] == 0
    swept = world.sweep()
    assert (swept.folded, swept.logged) == (1, 1)
    assert (world.job(job.id).state, world.job(job.id).counts["sent"]) == (JobState.LOGGED, 3)


def test_an_unclosed_job_is_closed(world: World) -> None:
    job = world.accept(3)
    world.send("one")
    world.records.fold(world.stream.popleft(), world.job(job.id))
    assert world.job(job.id).state is JobState.SENDING
    world.clock.advance(AGE)
    swept = world.sweep()
    assert (swept.folded, swept.logged) == (0, 1)
    assert world.job(job.id).state is JobState.LOGGED


@pytest.mark.parametrize("change", [Change.STOP, Change.FINISH])
def test_a_job_left_between_two_states_is_closed(world: World, change: Change) -> None:
    job = world.accept(3)
    world.send("one")
    world.stream.clear()
    world.clock.advance(AGE)
    assert world.records.change(job, change, 5, reason="user").won
    assert world.sweep().logged == 1
    assert world.job(job.id).counts["sent"] == 3


def test_a_ready_job_is_planned_when_it_is_due(world: World) -> None:
    job = world.accept(3, not_before=world.clock.ms + 60_000)
    assert world.sweep() == NOTHING
    world.clock.advance(60)
    assert world.sweep().planned == 1
    assert world.job(job.id).state is JobState.ENQUEUED
    assert pointers(world) == 1


def test_a_plan_that_died_before_its_pointers_is_finished(world: World) -> None:
    job = world.accept(3, not_before=world.clock.ms + 60_000)
    world.clock.advance(60)
    world.tap.arm_at("records.change.plan", When.AFTER)
    with pytest.raises(Crash):
        world.plan()
    assert pointers(world) == 0
    assert world.sweep().pointed == 1
    world.run()
    assert world.counts(job.id) == {"sent": 3}


def test_a_retry_that_died_before_the_job_was_ready_can_be_asked_again(world: World) -> None:
    job = world.accept(1)
    world.providers["one"].answer = Rejected("down", permanent=False)
    world.settle()
    world.providers["one"].answer = None
    world.tap.arm_at("records.change.resume", When.BEFORE)
    with pytest.raises(Crash):
        world.control.retry(job.id, job.account, frozenset({"failed"}))
    world.settle()
    assert world.counts(job.id) == {"queued": 1}
    world.control.retry(job.id, job.account, frozenset({"failed"}))
    world.settle()
    assert world.counts(job.id) == {"sent": 1}


def test_a_sweep_without_time_says_that_it_is_not_complete(world: World) -> None:
    assert world.sweeper.sweep(world.clock.now() - 1).unfinished == ("jobs", "doubts")


@pytest.mark.promise(7)
def test_sweeping_all_the_time_changes_nothing(world: World) -> None:
    job = world.accept(40)
    for _ in range(200):
        world.sweep()
        world.send("one")
        world.sweep()
        world.log()
        world.clock.sleep(1)
        world.check()
    assert world.job(job.id).state is JobState.LOGGED
    assert world.counts(job.id) == {"sent": 40}


def test_a_large_job_that_takes_too_long_is_gone_on_with_where_it_was_left_even_by_another_process(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.engine.walks.jobs.LEDGERS", 2)
    job = world.accept(2500)
    assert lost(world) == job.chunks == 9
    world.tap.delay = lambda: world.clock.advance(0.5)
    pointed: list[int] = []
    runs = 0
    while len(pointed) < job.chunks:
        world.sweeper.sweep(world.clock.now() + 4)
        found = [json.loads(m.body)["chunk"] for m in world.lanes["one"].waiting]
        assert len(found) < job.chunks, "no run has the time for all"
        pointed += found
        world.lanes["one"].lose()
        world.reboot()
        runs += 1
    assert pointed[: job.chunks] == list(range(job.chunks))
    assert runs <= 6


@pytest.mark.slow
def test_open_jobs_of_all_slots_are_seen() -> None:
    world = World(credential("one", 1000))
    jobs = [world.accept(1) for _ in range(40)]
    assert len({j.shard for j in jobs}) > 8
    lost(world)
    assert world.sweep().pointed == 40
    world.run()
    assert len(world.oracle.taken) == 40


def test_a_job_that_cannot_be_swept_does_not_keep_the_others_from_it(world: World) -> None:
    for _ in range(2):
        world.accept(1)
    assert lost(world) == 2
    world.tap.arm_at("queue.depth", error=lambda: LookupError("no such queue"))
    with pytest.raises(LookupError):
        world.sweep()
    assert pointers(world) == 1
