"""What waits for longer than its retention is kept, for a year; then it ends, and says so."""

from collections.abc import Callable

import pytest

from shared.domain.audit import Log
from shared.domain.jobs.job import StopReason
from shared.domain.jobs.states import JobState
from shared.domain.lanes.switches import AS_DECLARED, Switches
from shared.domain.times import DAY_MS
from shared.engine.walks.keeping import FURTHER_MS, LEAST_MS
from tests.fakes.lists import send_list
from tests.fakes.records import FakeRecords
from tests.fakes.world import ACCOUNT, World, credential

DAY = DAY_MS / 1000


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


def pass_days(world: World, days: int, then: Callable[[], object] = lambda: None) -> None:
    """Let days pass, each with a sweep, and let DynamoDB delete what has had its time."""
    records = world.records
    assert isinstance(records, FakeRecords)
    for _ in range(days):
        world.clock.advance(DAY)
        world.sweep()
        then()
        now = world.clock.now()
        records.chunks = {k: x for k, x in records.chunks.items() if x.ttl >= now}
        for held in (records.jobs, world.ledgers.items):  # type: ignore[attr-defined]
            for place in [k for k, x in held.items() if x.ttl < now]:
                del held[place]


@pytest.mark.promise(3)
def test_what_is_paused_for_months_is_sent_in_the_end(world: World) -> None:
    job = world.accept(700)
    assert job.chunks == 3
    world.stores.switch("one", Switches(paused=True))
    pass_days(world, 100)
    world.stores.switch("one", AS_DECLARED)
    world.settle()
    assert world.counts(job.id) == {"sent": 700}


@pytest.mark.promise(3)
def test_a_campaign_that_waits_long_for_its_turn_is_kept(world: World) -> None:
    first = send_list(world, "spring", 3)
    world.clock.advance(1)
    second = send_list(world, "autumn", 3)
    world.stores.switch("one", Switches(paused=True))
    world.planner.react(first.id)
    pass_days(world, 100)
    assert world.job(second.id).state is JobState.READY
    world.stores.switch("one", AS_DECLARED)
    world.settle()
    assert [world.counts(x.id) for x in (first, second)] == [{"sent": 3}] * 2


@pytest.mark.slow
def test_after_a_year_it_ends_with_a_reason_an_event_and_a_count(world: World) -> None:
    job = world.accept(3)
    world.stores.switch("one", Switches(paused=True))
    pass_days(world, 364)
    assert world.job(job.id).state is JobState.ENQUEUED
    world.clock.advance(DAY)
    given_up = [world.sweep().given_up for _ in range(2)]
    assert given_up == [1, 0]
    ended = world.job(job.id)
    assert (ended.state, ended.stop_reason) == (JobState.LOGGED, StopReason.EXPIRED)
    events = list(world.stores.journal.since(ACCOUNT, Log.EVENTS, 0))
    assert [(x.kind, x.id, x.data["reason"]) for x in events] == [("job.stopped", job.id, "expired")]
    assert world.counts(job.id) == {"queued": 3}


def test_a_job_is_kept_again_only_when_little_time_is_left(world: World) -> None:
    job = world.accept(3)
    world.stores.switch("one", Switches(paused=True))
    world.clock.advance((job.ttl * 1000 - LEAST_MS - world.clock.ms) / 1000)
    assert world.sweep().prolonged == 0
    world.clock.advance(1)
    assert [world.sweep().prolonged for _ in range(2)] == [1, 0]
    assert world.job(job.id).ttl == (world.clock.ms + FURTHER_MS) // 1000


def test_what_has_ended_is_not_kept(world: World) -> None:
    job = world.accept(3)
    world.settle()
    world.clock.advance((job.ttl * 1000 - world.clock.ms) / 1000 - 60)
    assert world.sweep().prolonged == 0
    assert world.job(job.id).ttl == job.ttl
