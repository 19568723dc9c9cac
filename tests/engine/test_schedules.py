"""Jobs that begin later: punctual with the hints, safe without them."""

import json
from typing import Any

import pytest

from shared.contracts import due
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.engine.intake.schedules import EARLY_S, LEAST, QUEUED_S
from shared.engine.jobs.plan import Due
from shared.ports import Retriable
from tests.fakes.faults import When
from tests.fakes.tables import MotoStores
from tests.fakes.world import ACCOUNT, World

HOUR = 3600


@pytest.fixture(params=["memory", "dynamo"])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "memory":
        return World()
    client = request.getfixturevalue("moto_dynamo")
    return World(stores=lambda clock: MotoStores(client, clock))


def later(world: World, seconds: float) -> Any:
    return world.accept(2, not_before=world.clock.ms + int(seconds * 1000))


def woken(world: World) -> Due:
    return Due(records=world.records, planner=world.planner, schedules=world.schedules)


def deliver(world: World) -> list[str]:
    """Deliver what waits in the queue and is due, twice each; return the jobs that this started."""
    started = []
    while (message := world.due_queue.receive()) is not None:
        world.due_queue.delete(message)
        for _ in range(2):
            job = woken(world).arrived(json.loads(message.body)["job"])
            started += [job.id] if job else []
    return started


def test_a_job_due_within_minutes_starts_to_the_second_without_a_schedule(world: World) -> None:
    job = later(world, QUEUED_S - 0.5)
    assert world.scheduler.set_for == {}
    world.clock.advance(QUEUED_S - 1)
    assert deliver(world) == []
    world.clock.advance(1)
    assert deliver(world) == [job.id]
    assert world.job(job.id).state is JobState.ENQUEUED
    assert world.job(job.id).planned_at - job.not_before <= 1000


def test_a_job_due_later_has_a_schedule_that_comes_early_and_starts_to_the_second(world: World) -> None:
    job = later(world, HOUR)
    assert world.due_queue.sent == []
    assert world.scheduler.set_for == {job.id: job.not_before // 1000 - EARLY_S}
    world.clock.advance(HOUR - EARLY_S + 42)  # within the minute that EventBridge Scheduler keeps to
    world.due_queue.send([due(job.id)])
    assert deliver(world) == []
    world.clock.advance(18)
    assert deliver(world) == [job.id]


@pytest.mark.promise(7)
def test_a_hint_alone_starts_nothing(world: World) -> None:
    job = later(world, HOUR)
    world.scheduler.set_for.clear()
    for _ in range(2):
        assert woken(world).arrived(job.id) is None
        assert world.job(job.id) == job
        assert world.scheduler.set_for == {job.id: job.not_before // 1000 - EARLY_S}, "it is waited for again"
    assert not world.lanes["one"].sent


@pytest.mark.promise(3)
def test_without_any_hint_the_sweeper_starts_it(world: World) -> None:
    job = later(world, HOUR)
    world.scheduler.set_for.clear()
    world.clock.advance(HOUR)
    assert world.sweep().planned == 1
    assert world.job(job.id).state is JobState.ENQUEUED


@pytest.mark.promise(3)
@pytest.mark.parametrize(("call", "seconds"), [("scheduler.set", HOUR), ("queue.send", 30)])
def test_a_hint_that_fails_fails_no_client(world: World, call: str, seconds: int) -> None:
    world.tap.arm_at(call, When.BEFORE, lambda: Retriable("down"))
    job = later(world, seconds)
    assert world.tap.fired == 1
    assert [x.id for x in world.schedules.page(ACCOUNT, after="", limit=10)[0]] == [job.id]
    world.clock.advance(seconds)
    world.settle()


def test_what_cannot_be_put_on_the_agenda_is_not_accepted(world: World) -> None:
    noting = {"agenda.note", "dynamo.put_item"}
    world.tap.arm(0, When.BEFORE, lambda: Retriable("down"), where=lambda call: call in noting)
    with pytest.raises(Retriable):
        later(world, HOUR)
    assert world.schedules.page(ACCOUNT, after="", limit=10) == ([], "")


def test_stop_takes_the_schedule_back_and_one_that_comes_all_the_same_changes_nothing(world: World) -> None:
    job = later(world, HOUR)
    stopped = world.control.stop(job.id, ACCOUNT)
    assert isinstance(stopped, Job)
    assert world.scheduler.set_for == {}
    for _ in range(2):
        assert woken(world).arrived(job.id) is None
        assert world.job(job.id) == stopped
    assert world.scheduler.set_for == {}
    world.settle()
    assert world.oracle.taken == []


def test_a_job_stays_stopped_when_its_schedule_cannot_be_cancelled(world: World) -> None:
    job = later(world, HOUR)
    world.tap.arm_at("scheduler.cancel", When.BEFORE, lambda: Retriable("down"))
    stopped = world.control.stop(job.id, ACCOUNT)
    assert isinstance(stopped, Job)
    assert stopped.state is JobState.STOPPED


def test_a_resumed_job_waits_for_its_time_again(world: World) -> None:
    job = later(world, HOUR)
    world.control.stop(job.id, ACCOUNT)
    world.settle()
    world.control.resume(job.id, ACCOUNT)
    assert world.job(job.id).state is JobState.READY
    assert world.scheduler.set_for == {job.id: job.not_before // 1000 - EARLY_S}
    assert [x.id for x in world.schedules.page(ACCOUNT, after="", limit=10)[0]] == [job.id]


def test_a_page_passes_over_what_no_longer_waits(world: World) -> None:
    jobs = [later(world, HOUR + n) for n in range(6)]
    for job in jobs[:4]:
        world.control.stop(job.id, ACCOUNT)
    found, place = world.schedules.page(ACCOUNT, after="", limit=2)
    assert ([x.id for x in found], place) == ([jobs[4].id, jobs[5].id], "")
    assert world.schedules.page("acc_somebodyelse", after="", limit=2) == ([], "")


def test_a_test_key_s_page_is_full_however_many_live_jobs_wait(world: World) -> None:
    at = world.clock.ms + HOUR * 1000
    for n in range(2 * LEAST):
        world.stores.agenda.note(ACCOUNT, f"{n:026}", at + n)
    jobs = [world.accept(1, test=True, not_before=at + 10 * n) for n in range(3)]
    found, place = world.schedules.page(ACCOUNT, tests_only=True, after="", limit=2)
    assert [x.id for x in found] == [x.id for x in jobs[:2]]
    found, place = world.schedules.page(ACCOUNT, tests_only=True, after=place, limit=2)
    assert ([x.id for x in found], place) == ([jobs[2].id], "")


def test_withdrawing_stops_what_waits_and_nothing_else(world: World) -> None:
    first, second = later(world, HOUR), later(world, 60)
    assert world.schedules.withdraw(first.id, "acc_somebodyelse") == (None, False)
    assert world.schedules.withdraw("0" * 26, ACCOUNT) == (None, False)
    job, stopped = world.schedules.withdraw(first.id, ACCOUNT)
    assert job is not None
    assert (job.state, stopped, world.scheduler.set_for) == (JobState.STOPPED, True, {})
    assert world.schedules.withdraw(first.id, ACCOUNT) == (job, True)
    world.clock.advance(60)
    due_now = world.job(second.id)
    assert world.schedules.withdraw(second.id, ACCOUNT) == (due_now, False), "its time has come"
    assert woken(world).arrived(second.id) is not None
    started = world.job(second.id)
    assert world.schedules.withdraw(second.id, ACCOUNT) == (started, False)
    assert world.job(second.id) == started


def test_a_job_that_starts_while_it_is_withdrawn_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = later(world, 60)
    change = world.records.change

    def started_meanwhile(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        world.clock.advance(60)
        assert woken(world).arrived(job.id) is not None
        return change(*args, **kwargs)

    monkeypatch.setattr(world.records, "change", started_meanwhile)
    found, stopped = world.schedules.withdraw(job.id, ACCOUNT)
    assert found is not None
    assert (found.state, stopped) == (JobState.ENQUEUED, False)
