"""A campaign of which only retries are left lets the next one have the credential meanwhile, and then has its turn."""

from typing import Any

import pytest

from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Outcome, Rejected, Throttled
from shared.domain.jobs.states import Change, JobState
from shared.ports import Changed, Retriable
from tests.fakes.faults import When
from tests.fakes.lists import send_list
from tests.fakes.world import ACCOUNT, World, credential

FULL = Rejected("mailbox_full", permanent=False, about_message=True)
SWEEP_S = 60


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


def people(name: str, count: int = 5) -> list[Recipient]:
    return [Recipient(f"{name}{i}@example.com", f"{name}{i}@example.com") for i in range(count)]


def first_round(world: World, outcome: Outcome = FULL, times: int = 3) -> Job:
    """Return a campaign of five that has tried all; the provider takes none but the last of them, so many times."""
    job = send_list(world, "spring", people("ann"))
    for person in range(4):
        world.providers["one"].script(f"ann{person}@example.com", [outcome] * times)
    world.planner.react(job.id)
    world.send("one")
    return job


def next_one(world: World, name: str = "autumn") -> Job:
    world.clock.advance(1)
    return send_list(world, name, people(name))


def order(world: World) -> list[str]:
    """Return the jobs in the order in which messages of them were taken; one that returns is there twice."""
    jobs = [x.ref.job for x in world.oracle.taken]
    return [job for i, job in enumerate(jobs) if i == 0 or jobs[i - 1] != job]


@pytest.mark.promise(3)
def test_the_next_one_sends_while_the_rest_of_the_first_waits_for_another_try(world: World) -> None:
    job = first_round(world)
    other = next_one(world)
    assert [x.id for x in world.planner.next("one")] == [other.id]
    assert (world.job(job.id).state, world.records.reserved("one")) == (JobState.READY, ("autumn", [other.id]))
    world.settle()
    assert order(world) == [job.id, other.id, job.id]
    assert world.counts(job.id) == world.counts(other.id) == {"sent": 5}
    world.check()


def test_the_sweeper_lets_it_have_the_credential_within_a_minute(world: World) -> None:
    first_round(world)
    other = next_one(world)
    world.planner.react(other.id)
    world.clock.advance(SWEEP_S)
    world.sweep()
    assert world.job(other.id).state is not JobState.READY


def test_its_delay_is_kept_also_when_the_credential_is_free_before(world: World) -> None:
    job = first_round(world)
    other = next_one(world)
    world.planner.next("one")
    world.run(seconds=0)
    assert world.job(other.id).state is JobState.LOGGED
    rests = world.job(job.id).rests_until
    assert rests > world.clock.ms
    assert world.planner.next("one") == []
    world.clock.advance((rests - world.clock.ms) / 1000)
    assert [x.id for x in world.planner.next("one")] == [job.id]
    assert world.job(job.id).rests_until == 0


def test_what_its_provider_asked_to_send_later_is_no_retry(world: World) -> None:
    job = first_round(world, Throttled(60.0), times=1)
    next_one(world)
    assert world.planner.next("one") == []
    assert (world.job(job.id).state, world.records.reserved("one")[0]) == (JobState.SENDING, "spring")


def test_a_wait_of_moments_is_no_reason(world: World) -> None:
    job = first_round(world)
    rests = world.ledgers.read_all(job.id)[0].not_before
    other = next_one(world)
    world.clock.advance((rests - world.clock.ms) / 1000 - 4)
    assert world.planner.next("one") == []
    assert world.job(other.id).state is JobState.READY


def test_a_window_that_begins_meanwhile_keeps_the_credential(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = first_round(world)
    other = next_one(world)
    change = world.records.change

    def late(*args: Any, **options: Any) -> Changed:
        """A worker that has read the job before it rests has a lease afterwards."""
        if args[1] is Change.GIVE_WAY:
            due = world.ledgers.read_all(job.id)[0].not_before
            world.ledgers.send_start(job.id, 0, lane="one", owner="w", now=due, until=due + 30_000)
        return change(*args, **options)

    monkeypatch.setattr(world.records, "change", late)
    assert world.planner.next("one") == []
    assert (world.job(job.id).state, world.records.reserved("one")[0]) == (JobState.READY, "spring")
    monkeypatch.undo()
    world.settle()
    assert world.counts(job.id) == world.counts(other.id) == {"sent": 5}
    world.check()


def test_with_no_other_campaign_it_keeps_the_credential(world: World) -> None:
    job = first_round(world)
    world.clock.advance(SWEEP_S / 10)
    world.sweep()
    assert world.job(job.id).state is JobState.SENDING
    assert world.records.reserved("one") == ("spring", [job.id])


def test_all_jobs_of_a_campaign_give_way_or_none(world: World) -> None:
    job = first_round(world)
    second = send_list(world, "spring", people("ben"))
    world.planner.react(second.id)
    other = next_one(world)
    assert world.planner.next("one") == []
    assert [world.job(x.id).state for x in (job, second)] == [JobState.SENDING, JobState.ENQUEUED]
    world.settle()
    assert {world.counts(x.id)["sent"] for x in (job, second, other)} == {5}


def test_one_that_rests_is_stopped_and_resumed_at_once(world: World) -> None:
    job = first_round(world)
    next_one(world)
    world.planner.next("one")
    world.control.stop(job.id, ACCOUNT)
    world.run(seconds=0)
    assert world.job(job.id).state is JobState.LOGGED
    world.control.resume(job.id, ACCOUNT)
    world.settle()
    assert world.counts(job.id) == {"sent": 5}


@pytest.mark.promise(3)
def test_campaigns_whose_messages_fail_for_hours_all_end(world: World) -> None:
    jobs = [first_round(world, times=9), *(next_one(world, name) for name in ("autumn", "winter", "summer"))]
    for name in ("autumn", "winter"):
        for person in range(4):
            world.providers["one"].script(f"{name}{person}@example.com", [FULL] * 9)
    world.settle()
    assert [world.counts(x.id) for x in jobs] == [{"sent": 1, "failed": 4}] * 3 + [{"sent": 5}]
    last = max(x.at for x in world.oracle.taken if x.ref.job == jobs[-1].id)
    assert last - jobs[-1].created_at / 1000 <= 3 * SWEEP_S, "none waits for another's rounds"
    world.check()


@pytest.mark.slow
@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("nth", range(26))
def test_whatever_fails_both_end_and_each_message_is_sent_once(world: World, nth: int, when: When) -> None:
    job = first_round(world)
    other = next_one(world)
    world.tap.arm(nth, when, Retriable)
    world.settle()
    assert world.tap.fired == 1
    assert world.counts(job.id) == world.counts(other.id) == {"sent": 5}
    assert world.records.reserved("one") == ("", [])
    world.check()
