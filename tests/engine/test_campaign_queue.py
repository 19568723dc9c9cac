"""When the campaign that waits behind another is looked at: soon, and seldom."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from functions.dispatch import log, services
from shared.contracts import load_due
from shared.domain.jobs import chunks as chunking
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.engine.jobs.campaign_queue import LEAST_S, LONGEST_S, READS
from shared.engine.jobs.giving_way import HANDOVER_MS
from shared.engine.jobs.plan import Due
from tests.engine.test_giving_way import FULL, first_round, next_one, people
from tests.engine.test_retry_handler import event
from tests.fakes.lists import send_list
from tests.fakes.world import World, credential


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


def release(world: World, job: Job) -> bool:
    return world.campaign_queue.released(world.job(job.id), world.ledgers.read_all(job.id))


def looks(world: World) -> Iterator[tuple[float, str]]:
    """Yield the looks that wait in the queue: seconds from now, and the job of each."""
    for message in sorted(world.due_queue.waiting):
        yield message.due - world.clock.now(), load_due(message.body)


def look(world: World) -> None:
    """Take the next look when its time has come, as the function does."""
    world.clock.sleep(max(0.0, min(m.due for m in world.due_queue.waiting) - world.clock.now()))
    message = world.due_queue.receive()
    assert message is not None
    Due(records=world.records, planner=world.planner, schedules=world.schedules).arrived(load_due(message.body))
    world.due_queue.delete(message)


@pytest.mark.promise(3)
def test_the_next_campaign_starts_seconds_after_the_first_has_only_retries_left(world: World) -> None:
    job = first_round(world)
    other = next_one(world)
    assert release(world, job)
    assert list(looks(world)) == [(LEAST_S, other.id)]
    look(world)
    assert [world.job(x.id).state for x in (job, other)] == [JobState.READY, JobState.ENQUEUED]


def test_the_first_returns_when_its_retry_is_due(world: World) -> None:
    job = first_round(world)
    other = next_one(world)
    world.planner.next("one")
    rests = world.job(job.id).rests_until
    world.campaign_queue.come_back(job.id, rests)
    found = [(round(1000 * wait), looked_at) for wait, looked_at in looks(world)]
    assert found == [(rests - world.clock.ms, job.id)]
    world.run(seconds=0)
    assert world.job(other.id).state is JobState.LOGGED
    look(world)
    assert world.job(job.id).state is JobState.ENQUEUED


def test_a_return_after_the_longest_wait_of_a_queue_has_a_message_at_once_and_a_past_one_none(world: World) -> None:
    for seconds in (-1.0, 0.0, LONGEST_S + 1):
        world.campaign_queue.come_back("job", world.clock.ms + round(1000 * seconds))
    assert list(looks(world)) == [(0.0, "job")]


def test_a_look_is_asked_for_once_until_it_has_come(world: World) -> None:
    job = first_round(world)
    next_one(world)
    assert [release(world, job) for _ in range(3)] == [True, False, False]
    world.clock.advance(LEAST_S)
    assert release(world, job)


@pytest.mark.parametrize(("chunks", "seconds"), [(1, LEAST_S), (5 * READS, 5), (10**6, LONGEST_S)])
def test_a_large_campaign_is_looked_at_less_often(world: World, chunks: int, seconds: float) -> None:
    job = replace(first_round(world), state=JobState.SENDING, chunks=chunks)
    other = next_one(world)
    assert world.campaign_queue.released(job, [])
    assert list(looks(world)) == [(seconds, other.id)]


def test_nothing_is_read_of_a_campaign_while_its_first_tries_go_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunking, "MAX_RECIPIENTS", 2)
    world.providers["one"].script("ann0@example.com", [FULL])
    job = send_list(world, "spring", people("ann", 10))
    world.planner.react(job.id)
    next_one(world)
    world.send("one")
    first = world.ledgers.read_all(job.id)[0]
    world.tap.calls.clear()
    assert not world.campaign_queue.released(world.job(job.id), [first])
    assert [x for x in world.tap.calls if x.startswith("ledgers.")] == ["ledgers.list_some"]
    assert list(looks(world)) == []


def test_with_nobody_behind_it_no_ledger_is_read(world: World) -> None:
    job = first_round(world)
    stored, ledgers = world.job(job.id), world.ledgers.read_all(job.id)
    world.tap.calls.clear()
    assert not world.campaign_queue.released(stored, ledgers)
    assert [x for x in world.tap.calls if x.startswith("ledgers.")] == []


def test_a_batch_has_no_turn(world: World) -> None:
    job = world.accept(1)
    world.tap.calls.clear()
    assert not release(world, job)
    assert not [x for x in world.tap.calls if x.startswith("records.open")]


@pytest.mark.promise(3)
def test_the_stream_of_ledgers_has_the_next_campaign_looked_at(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "deployment", lambda: world)
    job = first_round(world)
    other = next_one(world)
    assert log.handler(event(*world.ledgers.read_all(job.id)), None) == {"batchItemFailures": []}
    assert [x for _, x in looks(world)] == [other.id]


@pytest.mark.promise(3)
def test_the_end_of_a_lease_has_the_next_campaign_looked_at_when_the_turn_of_the_first_is_over(world: World) -> None:
    job = first_round(world)
    other = next_one(world)
    stored, ledgers = world.job(job.id), world.ledgers.read_all(job.id)
    gave_way = replace(stored, state=JobState.READY, rests_until=world.clock.ms)
    assert world.campaign_queue.released(gave_way, ledgers)
    assert list(looks(world)) == [(LEAST_S, other.id)]
    world.clock.advance(HANDOVER_MS / 1000)
    assert not world.campaign_queue.released(gave_way, ledgers)
