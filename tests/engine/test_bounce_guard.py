"""The bounce guard at work: after a fold, for every open job of the campaign, told once."""

from typing import Any

import pytest

from shared.domain.audit import Event, Log
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.engine.jobs.control import Resumed
from shared.engine.outcome.bounce_guard import BELIEVED_S
from shared.ports import Retriable
from tests.fakes.faults import When
from tests.fakes.lists import send_list
from tests.fakes.world import ACCOUNT, World, credential


@pytest.fixture
def world() -> World:
    return World(credential("one", 2), provider_limit=50)


def aged(world: World, *args: Any, **changes: Any) -> Job:
    """Store a campaign's job that is younger than all before."""
    world.clock.advance(1)
    return send_list(world, *args, **changes)


def sent(world: World, job: Job, n: int) -> list[tuple[int, int]]:
    """Have the first n messages of a job accepted and return their places; the rest waits."""
    world.planner.react(job.id)
    while len([t for t in world.oracle.taken if t.ref.job == job.id]) < n:
        assert world.send("one") is not None
        world.log()
    return [(t.ref.chunk, t.ref.index) for t in world.oracle.taken if t.ref.job == job.id][:n]


def bounce(world: World, job: Job, places: list[tuple[int, int]], *, delivered: int = 0) -> None:
    """Say of the first that they were delivered, and of the others that they bounced; fold it."""
    words = [
        world.word(job.id, i, "delivered" if k < delivered else "bounced", chunk=c) for k, (c, i) in enumerate(places)
    ]
    world.track("one", *words)
    while world.log() is not None:
        pass


def told(world: World, log: Log = Log.EVENTS) -> list[Event]:
    return list(world.stores.journal.since(ACCOUNT, log, 0))


def stopped(world: World, job: Job) -> bool:
    return world.job(job.id).stop_reason == "bounce_guard"


def test_a_stopped_campaign_keeps_its_reason_and_one_event(world: World) -> None:
    job = aged(world, "spring", 200)
    places = sent(world, job, 12)
    bounce(world, job, places[:10])
    assert not stopped(world, job)
    bounce(world, job, places[10:11])
    now = world.job(job.id)
    assert (now.stop_reason, now.stopped, now.stopped_at) == ("bounce_guard", True, world.clock.ms)
    (event,) = told(world)
    assert (event.account, event.at, event.id, event.kind, event.actor) == (
        ACCOUNT,
        world.clock.ms,
        job.id,
        "job.stopped",
        "system",
    )
    assert event.data == {
        "campaign": "spring",
        "reason": "bounce_guard",
        "because_of": job.id,
        "bounced": 11,
        "settled": 11,
    }
    assert told(world, Log.AUDIT) == [event]
    world.settle()
    world.check()
    assert world.job(job.id).state is JobState.LOGGED
    assert world.counts(job.id)["failed"] == 11
    assert world.counts(job.id)["queued"] > 100
    assert told(world) == [event]


@pytest.mark.parametrize(("bounced", "delivered", "stops"), [(11, 99, False), (11, 98, True), (10, 0, False)])
def test_it_takes_more_than_a_tenth_of_the_final_words(
    world: World,
    bounced: int,
    delivered: int,
    stops: bool,  # noqa: FBT001 - a table
) -> None:
    job = aged(world, "spring", 150)
    places = sent(world, job, bounced + delivered)
    bounce(world, job, places, delivered=delivered)
    assert stopped(world, job) is stops


def test_every_open_job_of_the_campaign_is_stopped_and_no_other(world: World) -> None:
    job = aged(world, "spring", 100)
    running, waiting = (aged(world, "spring", 60, not_before=world.clock.ms + ahead * 3_600_000) for ahead in (0, 1))
    other = aged(world, "autumn", 60)
    batch = world.accept(60)
    bounce(world, job, sent(world, job, 11))
    assert [stopped(world, x) for x in (job, running, waiting)] == [True] * 3
    assert [stopped(world, x) for x in (other, batch)] == [False] * 2
    assert sorted(e.id for e in told(world)) == sorted(x.id for x in (job, running, waiting))
    assert {e.data["because_of"] for e in told(world)} == {job.id}


def ended(world: World, bounced: int, *, delivered: int) -> Job:
    """Send a list of the campaign whole, and have it bounce and be delivered."""
    job = aged(world, "spring", bounced + delivered)
    places = sent(world, job, bounced + delivered)
    world.settle()
    bounce(world, job, places, delivered=delivered)
    assert world.job(job.id).state is JobState.LOGGED
    return job


def test_the_bounces_of_all_lists_of_a_campaign_count_together(world: World) -> None:
    ended(world, 6, delivered=14)
    late = aged(world, "spring", 200)
    places = sent(world, late, 20)
    bounce(world, late, places[:4])
    assert not stopped(world, late)
    bounce(world, late, places[4:5])
    assert stopped(world, late)
    (event,) = told(world)
    assert (event.data["bounced"], event.data["settled"]) == (11, 25)


def test_what_other_lists_delivered_counts_as_of_now(world: World) -> None:
    good = aged(world, "spring", 200)
    places = sent(world, good, 120)
    bad = aged(world, "spring", 200)
    bounce(world, bad, sent(world, bad, 9)[:9])
    bounce(world, good, places, delivered=120)
    bounce(world, bad, sent(world, bad, 11)[9:])
    assert [stopped(world, x) for x in (good, bad)] == [False, False]


def test_a_list_without_bounces_is_stopped_while_its_campaign_has_too_many(world: World) -> None:
    ended(world, 11, delivered=0)
    late = aged(world, "spring", 200)
    world.settle()
    assert stopped(world, late)
    left = world.counts(late.id)["queued"]
    assert left > 100
    assert isinstance(world.control.resume(late.id, ACCOUNT), Resumed)
    world.settle()
    assert stopped(world, late)
    assert 0 < world.counts(late.id)["queued"] <= left


def test_the_other_lists_are_read_once_in_a_while(world: World) -> None:
    job = aged(world, "spring", 200)
    places = sent(world, job, 60)
    world.clock.advance(BELIEVED_S)
    world.tap.calls.clear()
    for place in places:
        bounce(world, job, [place], delivered=1)
    assert world.tap.calls.count("lists.sent") == 1


def test_bounces_after_the_end_stop_the_jobs_that_still_run(world: World) -> None:
    job = aged(world, "spring", 12)
    places = sent(world, job, 12)
    world.settle()
    late = aged(world, "spring", 200)
    sent(world, late, 5)
    bounce(world, job, places)
    assert (world.job(job.id).state, stopped(world, job)) == (JobState.LOGGED, False)
    assert stopped(world, late)
    assert [e.id for e in told(world)] == [late.id]


def test_an_override_lasts(world: World) -> None:
    job = aged(world, "spring", 200)
    places = sent(world, job, 60)
    bounce(world, job, places[:11])
    assert stopped(world, job)
    world.settle()
    world.records.override_guard(job.id)
    assert isinstance(world.control.resume(job.id, ACCOUNT), Resumed)
    bounce(world, job, places[11:])
    world.settle()
    assert "queued" not in world.counts(job.id)
    assert len(told(world)) == 1


def test_a_resume_without_an_override_is_stopped_and_reported_again(world: World) -> None:
    job = aged(world, "spring", 200)
    bounce(world, job, sent(world, job, 11))
    world.settle()
    left = world.counts(job.id)["queued"]
    assert isinstance(world.control.resume(job.id, ACCOUNT), Resumed)
    world.settle()
    assert 0 < world.counts(job.id)["queued"] <= left
    assert stopped(world, job)
    assert len(told(world)) == 2


def test_tests_are_guarded_alone_for_themselves(world: World) -> None:
    tried, other = (aged(world, "spring", 100, test=True) for _ in range(2))
    bounce(world, tried, sent(world, tried, 20))
    assert [stopped(world, x) for x in (tried, other)] == [True, False]


@pytest.mark.promise(7)
@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("nth", range(14))
def test_each_stop_is_made_and_recorded_once_despite_failures(world: World, nth: int, when: When) -> None:
    jobs = [aged(world, "spring", 100) for _ in range(3)]
    places = sent(world, jobs[0], 11)
    world.track("one", *(world.word(jobs[0].id, i, "bounced", chunk=c) for c, i in places))
    world.tap.arm(nth, when, Retriable)
    for _ in range(3):
        try:
            world.run(seconds=1)
        except Retriable:
            continue
    world.tap.disarm()
    world.settle()
    assert [stopped(world, x) for x in jobs] == [True] * 3
    assert sorted(e.id for e in told(world)) == sorted(x.id for x in jobs)
    assert told(world, Log.AUDIT) == told(world)


def test_the_sweeper_makes_a_missing_stop(world: World) -> None:
    job, other = (aged(world, "spring", 200) for _ in range(2))
    places = sent(world, job, 11)
    world.track("one", *(world.word(job.id, i, "bounced", chunk=c) for c, i in places))
    world.stream.clear()
    world.sweep()
    assert [stopped(world, x) for x in (job, other)] == [True, True]
    assert len(told(world)) == 2


def begun(world: World, total: int, n: int) -> tuple[Job, list[tuple[int, int]]]:
    """Accept a batch and send its first n messages."""
    batch = world.accept(total)
    return batch, sent(world, batch, n)


def test_a_batch_is_stopped_and_says_so_and_no_other(world: World) -> None:
    other = world.accept(60)
    batch, places = begun(world, 100, 11)
    bounce(world, batch, places[:10])
    assert not stopped(world, batch)
    bounce(world, batch, places[10:])
    assert (stopped(world, batch), stopped(world, other)) == (True, False)
    (event,) = told(world)
    assert (event.id, event.kind) == (batch.id, "job.stopped")
    assert event.data == {"reason": "bounce_guard", "because_of": batch.id, "bounced": 11, "settled": 11}
    world.settle()
    assert world.counts(batch.id)["queued"] == 40
    world.check()


def test_complaints_about_a_batch_count_as_bounces(world: World) -> None:
    batch, places = begun(world, 100, 11)
    world.track("one", *(world.word(batch.id, i, "complained", chunk=c) for c, i in places))
    world.run(seconds=0)
    assert stopped(world, batch)


def test_a_batch_whose_guard_is_overridden_is_sent_whole_and_told_once(world: World) -> None:
    batch, places = begun(world, 60, 11)
    bounce(world, batch, places)
    world.settle()
    for _ in range(2):
        world.control.override_guard(world.job(batch.id), by="key_1")
    assert isinstance(world.control.resume(batch.id, ACCOUNT), Resumed)
    world.settle()
    assert world.counts(batch.id) == {"sent": 49, "failed": 11}
    kinds = [(x.kind, x.actor) for x in told(world, Log.AUDIT)]
    assert kinds.count(("batch.guard_overridden", "key_1")) == 1


def test_a_batch_of_few_messages_is_not_stopped(world: World) -> None:
    batch, places = begun(world, 10, 10)
    bounce(world, batch, places)
    assert not stopped(world, batch)
