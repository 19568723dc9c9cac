"""The plan function: what a record of the jobs' stream starts, at once and for each credential in turn."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from functions.dispatch import plan, services
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.contracts import HELD_BACK, PLAN_STREAM_FILTERS, ResumeTask, load_due
from shared.domain.audit import EVERYONE, SYSTEM, Log
from shared.domain.hours.hours import OpenHours
from shared.domain.hours.openings import window_of
from shared.domain.ids import is_small
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.domain.lanes.switches import Switch
from shared.engine.jobs.campaign_queue import LOOKS_S
from shared.engine.lane.start import PointerResult
from tests.adapters.test_dynamo_stores import matches
from tests.engine.test_giving_way import first_round, next_one
from tests.fakes.clock import FakeClock
from tests.fakes.lists import send_list
from tests.fakes.tables import MotoStores
from tests.fakes.world import ACCOUNT, World, credential


class Context:
    """What Lambda says of an invocation that has a minute left."""

    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds that are left."""
        return 60_000


@pytest.fixture
def world(moto_dynamo: Any, monkeypatch: pytest.MonkeyPatch) -> World:
    def stores(clock: FakeClock) -> MotoStores:
        return MotoStores(moto_dynamo, clock)

    made = World(credential("one"), stores=stores)
    monkeypatch.setattr(services, "deployment", lambda: made)
    return made


def record(world: World, *jobs: Job) -> dict[str, Any]:
    """Return the stream's records of jobs as they are now."""
    stores = world.stores
    assert isinstance(stores, MotoStores)
    images = [
        stores.client.get_item(
            TableName=stores.tables.records, Key={"pk": {"S": f"J#{job.id}"}, "sk": {"S": "JOB"}}, ConsistentRead=True
        )["Item"]
        for job in jobs
    ]
    return {"Records": [{"eventName": "MODIFY", "dynamodb": {"NewImage": image}} for image in images]}


def twice(event: dict[str, Any]) -> None:
    for _ in range(2):
        assert plan.handler(event, Context()) == {"batchItemFailures": []}


@pytest.mark.slow
@pytest.mark.promise(7)
def test_it_starts_ready_jobs_and_those_that_a_campaigns_end_lets_start(world: World) -> None:
    first = send_list(world, "spring", 2)
    world.clock.advance(1)
    second, batch = send_list(world, "autumn", 2), world.accept(1, not_before=world.clock.ms + 1000)
    world.clock.advance(1)
    twice(record(world, second, batch, first))
    assert [world.job(x.id).state for x in (first, second, batch)] == [
        JobState.ENQUEUED,
        JobState.READY,
        JobState.ENQUEUED,
    ]
    assert len(world.lanes["one"].sent) == 2
    while world.send("one") is not None or world.log() is not None:
        pass
    assert world.job(first.id).state is JobState.LOGGED
    twice(record(world, first))
    assert world.job(second.id).state is JobState.ENQUEUED
    assert len(world.lanes["one"].sent) == 3


@pytest.mark.promise(7)
@pytest.mark.parametrize("switch", [Switch(credential="one"), Switch(account=ACCOUNT), Switch()])
def test_the_audit_entry_of_a_resume_wakes_what_was_paused(world: World, switch: Switch) -> None:
    stores = world.stores
    assert isinstance(stores, MotoStores)
    job = world.accept(3)
    stores.switchboard.pause(switch, by=SYSTEM, reason="why")
    assert world.send("one") is PointerResult.SENT
    assert world.lanes["one"].is_empty()
    world.clock.advance(1)
    stores.switchboard.resume(switch, by=SYSTEM, reason="why")
    account = switch.account or EVERYONE
    log = stores.client.query(
        TableName=stores.tables.records,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": keys.event(account, Log.AUDIT.value, 0, "", "")["pk"]},
    )["Items"]
    passed = [x for x in log if any(matches(x, f) for f in PLAN_STREAM_FILTERS)]
    passed = [x for x in passed if x["kind"]["S"] not in HELD_BACK]
    assert [x["kind"]["S"] for x in passed] == [log[-1]["kind"]["S"]], "a pause wakes nobody"
    twice({"Records": [{"eventName": "INSERT", "dynamodb": {"NewImage": x}} for x in passed]})
    assert world.lanes["one"].is_empty(), "the stream's function only says that it is to be done"
    assert [ResumeTask.loads(m.body) for m in world.due_queue.waiting] == 2 * [
        ResumeTask(credential=switch.credential, account=switch.account, at=world.clock.ms)
    ]
    assert sum(world.waken(seconds=20)) == 2
    world.run()
    assert world.counts(job.id) == {"sent": 3}


def test_records_of_other_items_are_passed_over(world: World) -> None:
    twice({"Records": [{"eventName": "REMOVE", "dynamodb": {}}, {"dynamodb": {"NewImage": {"pk": {"S": "x"}}}}]})


@pytest.mark.slow
@pytest.mark.parametrize("suspended", [True, False])
def test_an_accounts_pause_has_the_next_campaign_looked_at_and_that_one_starts(
    world: World, *, suspended: bool
) -> None:
    stores = world.stores
    assert isinstance(stores, MotoStores)
    accounts = Accounts(stores.client, stores.tables.records, world.clock)
    owner = accounts.create_account("Hostile")
    hostile = send_list(world, "hostile", 2, account=owner)
    twice(record(world, hostile))
    world.clock.advance(1)
    honest = send_list(world, "honest", 2)
    twice(record(world, honest))
    if suspended:
        accounts.suspend(owner)
    else:
        stores.switchboard.pause(Switch(account=owner), by=SYSTEM, reason="why")
    log = stores.client.query(
        TableName=stores.tables.records,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": keys.event(owner, Log.AUDIT.value, 0, "", "")["pk"]},
    )["Items"]
    passed = [x for x in log if any(matches(x, f) for f in PLAN_STREAM_FILTERS)]
    plan.handler({"Records": [{"eventName": "INSERT", "dynamodb": {"NewImage": x}} for x in passed]}, Context())
    assert [load_due(m.body) for m in world.due_queue.waiting] == [honest.id] * len(LOOKS_S)
    assert world.planner.plan(honest.id) == world.job(honest.id)
    assert [world.job(x.id).state for x in (hostile, honest)] == [JobState.READY, JobState.ENQUEUED]
    assert world.records.reserved("one")[0] == "honest"


@pytest.mark.slow
@pytest.mark.promise(3)
def test_a_campaign_that_gave_way_is_looked_at_when_its_next_try_is_due(world: World) -> None:
    job = first_round(world)
    next_one(world)
    world.planner.next("one")
    twice(record(world, world.job(job.id)))
    rests = world.job(job.id).rests_until / 1000
    assert [load_due(m.body) for m in world.due_queue.waiting] == 2 * [job.id]
    assert [m.due for m in world.due_queue.waiting] == pytest.approx(2 * [rests])


def test_a_small_job_whose_ledger_has_changed_is_folded_and_ended(world: World) -> None:
    job = world.accept(2, route=("one",))
    assert is_small(job.id)
    world.send("one")
    event = record(world, job)
    assert _passed(event) == [PLAN_STREAM_FILTERS[-1]]
    twice(event)
    ended = world.job(job.id)
    assert (ended.state, ended.counts["sent"], ended.counts["queued"]) == (JobState.LOGGED, 2, 0)
    assert _passed(record(world, job)) == []


def _passed(event: dict[str, Any]) -> list[Any]:
    [changed] = event["Records"]
    return [x for x in PLAN_STREAM_FILTERS if matches(changed["dynamodb"]["NewImage"], x)]


@pytest.mark.promise(3)
def test_a_campaign_whose_hours_end_has_the_next_one_looked_at_and_comes_back_when_they_open(world: World) -> None:
    now = datetime.fromtimestamp(world.clock.now(), UTC)
    ends = f"{now + timedelta(minutes=30):%H:%M}"
    hours = OpenHours(window_of(f"{now:%H:%M}", ends), "UTC")
    job = send_list(world, "spring", 2, hours=hours)
    twice(record(world, job))
    world.clock.advance(1800)
    world.send("one")
    other = next_one(world)
    now_ms = world.clock.ms
    world.ledgers.send_start(job.id, 0, lane="one", owner="late", now=now_ms, until=now_ms + 30_000)
    twice(record(world, world.job(job.id)))
    assert (world.job(job.id).closed, world.job(other.id).state) == (True, JobState.READY)
    assert sorted(load_due(m.body) for m in world.due_queue.waiting) == sorted(2 * [job.id, *len(LOOKS_S) * [other.id]])
    assert world.due_queue.waiting[0].due == world.clock.now()  # its hours are later than a message can wait
