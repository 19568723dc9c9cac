"""Jobs that wait get another time, or are sent now (J5): safe whatever hints do, and others who act meanwhile."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shared.contracts import due
from shared.domain.audit import Act, Event, Log, audited
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import Change, JobState
from shared.domain.spending import limits
from shared.domain.times import DAY_MS, FUTURE
from shared.engine.intake.schedules import EARLY_S, QUEUED_S
from shared.engine.jobs.control import NotNow
from shared.engine.jobs.plan import Due
from shared.engine.jobs.rescheduling import CHANGED, STARTED, TOO_LATE
from shared.ports import Retriable
from tests.engine.test_hours import DAY, at
from tests.fakes.faults import Crash, When
from tests.fakes.tables import MotoStores
from tests.fakes.world import ACCOUNT, World

HOUR = 3600
BY = "key_boss"


@pytest.fixture(params=["memory", "dynamo"])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "memory":
        return World()
    client = request.getfixturevalue("moto_dynamo")
    return World(stores=lambda clock: MotoStores(client, clock))


def later(world: World, seconds: float, **more: Any) -> Job:
    job: Job = world.accept(2, not_before=world.clock.ms + int(seconds * 1000), **more)
    return job


def moved(world: World, job: Job, seconds: float, **more: Any) -> Job | NotNow | None:
    """Give a job a time some seconds from now; 0: now."""
    wanted = world.clock.ms + int(seconds * 1000) if seconds else 0
    return world.rescheduler_of().move(world.job(job.id), wanted, by=BY, **more)


def deliver(world: World) -> list[str]:
    """Deliver what waits in the queue and is due; return the jobs that this started."""
    started = []
    while (message := world.due_queue.receive()) is not None:
        world.due_queue.delete(message)
        found = arrived(world, json.loads(message.body)["job"])
        started += [found.id] if found else []
    return started


def arrived(world: World, job: str) -> Job | None:
    return Due(records=world.records, planner=world.planner, schedules=world.schedules).arrived(job)


def listed(world: World) -> list[str]:
    return [x.id for x in world.schedules.page(ACCOUNT, after="", limit=10)[0]]


@pytest.mark.promise(1)
def test_a_job_is_sent_now_once_and_its_old_hint_sends_nothing_again(world: World) -> None:
    job = later(world, HOUR)
    found = moved(world, job, 0)
    assert isinstance(found, Job)
    assert (found.state, found.not_before) == (JobState.ENQUEUED, 0)
    assert (world.scheduler.set_for, listed(world)) == ({}, [])
    world.settle()
    world.clock.advance(HOUR)
    assert arrived(world, job.id) is None, "a schedule that could not be taken back comes all the same"
    world.settle()
    assert len(world.oracle.taken) == 2


@pytest.mark.promise(3)
def test_a_job_that_is_put_off_leaves_at_its_new_time_and_not_at_the_old_one(world: World) -> None:
    job = later(world, HOUR)
    found = moved(world, job, 2 * HOUR)
    assert isinstance(found, Job)
    assert (found.state, found.not_before) == (JobState.READY, job.not_before + HOUR * 1000)
    assert world.scheduler.set_for == {job.id: found.not_before // 1000 - EARLY_S}
    assert listed(world) == [job.id]
    world.clock.advance(HOUR)
    assert arrived(world, job.id) is None
    world.run(seconds=0)
    assert world.oracle.taken == []
    world.clock.advance(HOUR)
    world.settle()
    assert len(world.oracle.taken) == 2


@pytest.mark.parametrize(("first", "second"), [(HOUR, 60), (60, HOUR), (HOUR, QUEUED_S), (60, 120), (HOUR, 2 * HOUR)])
def test_both_sides_of_the_quarter_of_an_hour_have_their_hint(world: World, first: int, second: int) -> None:
    job = later(world, first)
    found = moved(world, job, second)
    assert isinstance(found, Job)
    far = second > QUEUED_S
    assert world.scheduler.set_for == ({job.id: found.not_before // 1000 - EARLY_S} if far else {})
    world.clock.advance(second - EARLY_S - 1)
    if far:
        world.due_queue.send([due(job.id)])
    assert deliver(world) == [], "what waited for the old time starts nothing"
    world.clock.advance(EARLY_S + 1)
    assert deliver(world) == [job.id]


@pytest.mark.promise(3)
@pytest.mark.parametrize("seconds", [0, 60, 2 * HOUR])
@pytest.mark.parametrize("call", ["scheduler.set", "scheduler.cancel", "queue.send"])
def test_hints_that_fail_fail_nobody_and_the_sweeper_starts_the_job(world: World, call: str, seconds: int) -> None:
    job = later(world, HOUR)
    world.tap.arm_at(call, When.BEFORE, lambda: Retriable("down"))
    assert isinstance(moved(world, job, seconds), Job)
    world.tap.disarm()  # not each change makes each call
    world.scheduler.set_for.clear()
    world.clock.advance(seconds)
    world.sweep()
    world.settle()
    assert len(world.oracle.taken) == 2


@pytest.mark.promise(3)
def test_a_crash_at_any_call_loses_nothing_and_sends_nothing_twice(world: World) -> None:
    for seconds in (0, 60, 40 * 24 * HOUR):
        for n in range(40):
            before = len(world.oracle.taken)
            job = later(world, HOUR)
            world.tap.arm(n, When.AFTER, Crash)
            try:
                moved(world, job, seconds)
            except Crash:
                over = False
            else:
                over = True
            world.tap.disarm()
            world.clock.advance(max(HOUR, seconds))
            world.sweep()
            world.settle()
            assert len(world.oracle.taken) == before + 2
            if over:
                break
        else:
            raise AssertionError("there are more calls than forty")


def test_of_two_who_change_it_at_once_the_second_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = later(world, HOUR)
    reschedule = world.records.reschedule

    def overtaken(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        assert isinstance(moved(world, job, 3 * HOUR), Job)
        return reschedule(*args, **kwargs)

    monkeypatch.setattr(world.records, "reschedule", overtaken)
    assert moved(world, job, 2 * HOUR) == CHANGED
    assert world.job(job.id).not_before == job.not_before + 2 * HOUR * 1000


def test_a_job_that_is_moved_again_and_again_counts_once_among_those_that_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_SCHEDULES", 2)
    job = later(world, HOUR)
    for hours in range(2, 8):
        assert isinstance(moved(world, job, hours * HOUR), Job)
    world.clock.advance(1)
    assert world.schedules.admit(replace(job, id=job.id)) is None
    full = world.schedules.admit(replace(job, id=job.id))
    assert full is None, "the second was never stored, so two are not there"


def test_who_names_the_time_that_it_had_changes_no_other(world: World) -> None:
    job = later(world, HOUR)
    assert moved(world, job, 2 * HOUR, seen=job.not_before + 1) == CHANGED
    found = moved(world, job, 2 * HOUR, seen=job.not_before)
    assert isinstance(found, Job)
    assert moved(world, job, 2 * HOUR, seen=job.not_before) == found, "the same again, after a lost answer"
    assert moved(world, job, 3 * HOUR, seen=job.not_before) == CHANGED


@pytest.mark.promise(1)
@pytest.mark.parametrize("seconds", [0, HOUR])
def test_a_job_that_starts_meanwhile_goes_on(world: World, monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    job = later(world, 60)
    reschedule = world.records.reschedule

    def started(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        world.clock.advance(60)
        assert arrived(world, job.id) is not None
        return reschedule(*args, **kwargs)

    monkeypatch.setattr(world.records, "reschedule", started)
    assert moved(world, job, seconds) == STARTED
    assert world.job(job.id).state is JobState.ENQUEUED
    world.settle()
    assert len(world.oracle.taken) == 2


@pytest.mark.promise(1)
def test_who_plans_a_job_that_is_put_off_meanwhile_does_not_start_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = later(world, 60)
    change = world.records.change
    world.clock.advance(59)
    put_off = world.clock.ms + HOUR * 1000

    def overtaken(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.undo()
        stored = replace(world.job(job.id), not_before=put_off)
        assert world.records.reschedule(world.job(job.id), stored, event=entry(world, job)).won
        return change(*args, **kwargs)

    world.clock.advance(1)
    monkeypatch.setattr(world.records, "change", overtaken)
    assert arrived(world, job.id) is None
    found = world.job(job.id)
    assert (found.state, found.not_before) == (JobState.READY, put_off)


def until(world: World, moment: float) -> None:
    world.clock.advance(moment - world.clock.now())


def entry(world: World, job: Job) -> Event:
    return audited(job.namespace, world.clock.ms, job.id, Act.JOB_RESCHEDULED, BY)


def stopped(world: World, job: Job) -> None:
    world.control.stop(job.id, ACCOUNT)


def ended(world: World, job: Job) -> None:
    world.control.stop(job.id, ACCOUNT)
    world.settle()


def begun(world: World, job: Job) -> None:
    world.clock.advance(HOUR)
    world.sweep()


def due_now(world: World, job: Job) -> None:
    world.clock.advance(HOUR)


@pytest.mark.parametrize("act", [stopped, ended, begun, due_now])
def test_what_does_not_wait_gets_no_other_time(world: World, act: Callable[[World, Job], None]) -> None:
    job = later(world, HOUR)
    act(world, job)
    before = world.job(job.id)
    for seconds in (0, HOUR):
        assert moved(world, job, seconds) == STARTED
    assert world.job(job.id) == before


def test_a_stopped_job_that_is_resumed_before_its_time_can_be_sent_now(world: World) -> None:
    job = later(world, HOUR)
    ended(world, job)
    world.control.resume(job.id, ACCOUNT)
    assert isinstance(moved(world, job, 0), Job)
    world.settle()
    assert len(world.oracle.taken) == 2


@pytest.mark.promise(3)
def test_what_is_put_off_for_long_is_kept_until_then_and_longer(world: World) -> None:
    job = later(world, HOUR)
    found = moved(world, job, 90 * 24 * HOUR)
    assert isinstance(found, Job)
    until = (found.not_before + world.settings.kept_days * DAY_MS) // 1000
    stored = world.job(job.id)
    chunk = world.records.chunk(job.id, 0)
    assert chunk is not None
    assert (stored.ttl, chunk.ttl, world.ledgers.read(job.id, 0).ttl) == (until, until, until)  # type: ignore[union-attr]
    again = moved(world, job, HOUR)
    assert isinstance(again, Job)
    assert world.job(job.id).ttl == until, "nothing is deleted sooner"


def test_a_job_waits_for_no_longer_than_a_year_from_its_acceptance(world: World) -> None:
    job = later(world, HOUR)
    last = job.created_at + int(FUTURE * 1000)
    world.clock.advance(10)
    rescheduler = world.rescheduler_of()
    assert rescheduler.move(job, last + 1, by=BY) == TOO_LATE
    assert isinstance(rescheduler.move(job, last, by=BY), Job)


def test_each_change_is_in_the_audit_log_and_its_actor_answers_for_the_job(world: World) -> None:
    job = later(world, HOUR)
    assert isinstance(moved(world, job, HOUR), Job), "no change"
    found = moved(world, job, 2 * HOUR)
    assert isinstance(found, Job)
    assert found.asked_by == BY
    told = world.stores.journal.since(ACCOUNT, Log.AUDIT, 0)
    (one,) = [x for x in told if x.kind == Act.JOB_RESCHEDULED]
    assert (one.actor, one.id) == (BY, job.id)
    assert one.data == {"not_before": found.not_before, "before": job.not_before}


def test_a_time_in_closed_hours_waits_until_they_open(world: World) -> None:
    until(world, at(1, 12))
    job = world.accept(1, hours=DAY, not_before=round(at(3, 12) * 1000))
    found = world.rescheduler_of().move(job, round(at(2, 23) * 1000), by=BY)
    assert isinstance(found, Job)
    assert (found.closed, found.not_before) == (True, round(DAY.first(round(at(2, 23) * 1000))))
    again = world.rescheduler_of().move(found, round(at(4, 12) * 1000), by=BY)
    assert isinstance(again, Job)
    assert (again.closed, again.not_before, again.rests_until) == (False, round(at(4, 12) * 1000), 0)
    now = world.rescheduler_of().move(again, 0, by=BY)
    assert isinstance(now, Job)
    assert now.state is JobState.ENQUEUED


def test_a_scheduled_job_that_is_resumed_in_closed_hours_waits_for_its_time(world: World) -> None:
    until(world, at(1, 12))
    job = world.accept(1, hours=DAY, not_before=round(at(5, 12) * 1000))
    until(world, at(1, 23))
    ended(world, job)
    world.control.resume(job.id, ACCOUNT)
    assert (world.job(job.id).not_before, world.job(job.id).closed) == (job.not_before, False)


def test_a_job_whose_hours_have_ended_in_its_middle_keeps_its_turn_s_rules(world: World) -> None:
    until(world, at(1, 12))
    job = world.accept(1, hours=DAY)
    opens = DAY.first(round(at(1, 23) * 1000))
    assert world.records.change(world.job(job.id), Change.CLOSE, opens).won
    assert moved(world, job, 0) == STARTED
