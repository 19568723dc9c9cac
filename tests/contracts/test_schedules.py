"""Agendas and schedules, in memory and on moto."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest

from infra.limits import SCHEDULE_NAME
from shared.adapters.scheduler import EventBridgeScheduler
from shared.contracts import DueKind, DueMinute
from shared.domain.spending import limits
from shared.ports import Scheduler
from tests.contracts.conftest import ACCOUNT, Parts
from tests.fakes.clock import FakeClock
from tests.fakes.schedules import FakeScheduler
from tests.fakes.stores import Stores
from tests.fakes.tables import mock_aws

GROUP = "posthaste-test"
QUEUE = "arn:aws:sqs:us-east-1:123456789012:posthaste-test-due"
ROLE = "arn:aws:iam::123456789012:role/scheduler"


def waiting(stores: Stores, clock: FakeClock, seconds: int) -> str:
    """Store a job that waits, and note it."""
    parts = Parts(clock, not_before=clock.ms + seconds * 1000)
    parts.store(stores)
    stores.agenda.note(ACCOUNT, parts.job.id, parts.job.not_before)
    return parts.job.id


def test_an_agenda_is_in_the_order_of_time_and_comes_in_pages(stores: Stores, clock: FakeClock) -> None:
    jobs = {seconds: waiting(stores, clock, seconds) for seconds in (300, 100, 400, 200)}
    stores.agenda.note(ACCOUNT, jobs[100], clock.ms + 100_000)
    ordered = [jobs[s] for s in sorted(jobs)]
    seen: list[str] = []
    place, sizes = "", []
    while True:
        page, place = stores.agenda.page(ACCOUNT, since=clock.ms, after=place, limit=3)
        seen += [job.id for job in page]
        sizes.append(len(page))
        if not place:
            break
    assert (seen, sizes) == (ordered, [3, 1])
    assert stores.agenda.page("acc_somebodyelse", since=clock.ms, after="", limit=3) == ([], "")


def test_jobs_of_test_keys_have_an_agenda_of_their_own_beside_that_of_all(stores: Stores, clock: FakeClock) -> None:
    live = [waiting(stores, clock, seconds) for seconds in (100, 300, 400)]
    parts = Parts(clock, not_before=clock.ms + 200_000, test=True)
    parts.store(stores)
    stores.agenda.note(ACCOUNT, parts.job.id, parts.job.not_before, test=True)
    page, place = stores.agenda.page(ACCOUNT, tests_only=True, since=clock.ms, after="", limit=1)
    assert ([job.id for job in page], place) == ([parts.job.id], "")
    page, place = stores.agenda.page(ACCOUNT, since=clock.ms, after="", limit=10)
    assert ([job.id for job in page], place) == ([live[0], parts.job.id, *live[1:]], "")


def test_what_is_past_is_on_no_agenda(stores: Stores, clock: FakeClock) -> None:
    waiting(stores, clock, 100)
    later = waiting(stores, clock, 101)
    page, place = stores.agenda.page(ACCOUNT, since=clock.ms + 100_000, after="", limit=10)
    assert ([job.id for job in page], place) == ([later], "")


def test_a_job_that_was_never_stored_is_passed_over(stores: Stores, clock: FakeClock) -> None:
    stores.agenda.note(ACCOUNT, "0" * 26, clock.ms + 50_000)
    there = waiting(stores, clock, 100)
    page, place = stores.agenda.page(ACCOUNT, since=clock.ms, after="", limit=1)
    assert page == []
    page, place = stores.agenda.page(ACCOUNT, since=clock.ms, after=place, limit=1)
    assert ([job.id for job in page], place) == ([there], "")


def test_an_agenda_has_room_for_so_many_jobs(stores: Stores, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SCHEDULES", 3)
    took = []
    for i in range(4):
        took.append(stores.agenda.take(ACCOUNT, clock.ms))
        stores.agenda.note(ACCOUNT, f"{i:026d}", clock.ms + 60_000 + i)
    assert took == [0, 0, 0, 3]
    assert stores.agenda.take(f"{ACCOUNT}x", clock.ms) == 0
    assert stores.agenda.take(ACCOUNT, clock.ms, test=True) == 0
    clock.advance(60.001)
    stores.agenda.drop(ACCOUNT, f"{2:026d}", clock.ms + 1)
    assert stores.agenda.take(ACCOUNT, clock.ms) == 0, "of the four, two have their time yet, and one was dropped"


def test_a_place_that_was_dropped_counts_again_when_it_is_noted(
    stores: Stores, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_SCHEDULES", 1)
    at = clock.ms + 600_000
    stores.agenda.drop(ACCOUNT, "0" * 26, at, test=True)
    assert stores.agenda.take(ACCOUNT, clock.ms, test=True) == 0
    stores.agenda.note(ACCOUNT, "0" * 26, at, test=True)
    stores.agenda.drop(ACCOUNT, "0" * 26, at, test=True)
    assert stores.agenda.take(ACCOUNT, clock.ms, test=True) == 0
    stores.agenda.note(ACCOUNT, "0" * 26, at, test=True)
    clock.advance(61)
    assert stores.agenda.take(ACCOUNT, clock.ms, test=True) == 1


@dataclass
class Set:
    """A scheduler, and what is set in it: job → Unix seconds."""

    scheduler: Scheduler
    found: Callable[[], dict[str, int]]


@pytest.fixture
def moto_scheduler() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("scheduler", region_name="us-east-1")
        client.create_schedule_group(Name=GROUP)
        yield client


@pytest.fixture(params=["memory", "scheduler"])
def schedules(request: pytest.FixtureRequest) -> Set:
    if request.param == "memory":
        fake = FakeScheduler()
        return Set(fake, lambda: fake.set_for)
    client = request.getfixturevalue("moto_scheduler")

    def found() -> dict[str, int]:
        names = [x["Name"] for x in client.list_schedules(GroupName=GROUP)["Schedules"]]
        whole = {name: client.get_schedule(GroupName=GROUP, Name=name) for name in names}
        return {name: _at(x["ScheduleExpression"]) for name, x in whole.items()}

    return Set(EventBridgeScheduler(client, group=GROUP, queue=QUEUE, role=ROLE), found)


def _at(expression: str) -> int:
    return int(datetime.strptime(expression, "at(%Y-%m-%dT%H:%M:%S)").replace(tzinfo=UTC).timestamp())


def test_a_schedule_is_set_moved_and_cancelled_any_number_of_times(schedules: Set) -> None:
    for at in (1_790_000_000, 1_790_000_000, 1_790_086_399):
        schedules.scheduler.set("job-1", at)
        assert schedules.found() == {"job-1": at}
    schedules.scheduler.set("job-2", 1_790_000_001)
    for _ in range(2):
        schedules.scheduler.cancel("job-1")
        assert schedules.found() == {"job-2": 1_790_000_001}


def test_what_is_set_once_is_neither_moved_nor_made_twice(schedules: Set) -> None:
    for at in (1_790_000_000, 1_790_000_000, 1_790_086_399):
        schedules.scheduler.set_once("digests-1790000040", at, "{}")
        assert schedules.found() == {"digests-1790000040": 1_790_000_000}


def test_a_schedule_of_a_minute_brings_its_body(moto_scheduler: Any) -> None:
    minute = DueMinute(DueKind.DIGESTS, 1_790_000_040)
    made = EventBridgeScheduler(moto_scheduler, group=GROUP, queue=QUEUE, role=ROLE)
    made.set_once(minute.name, 1_789_999_950, minute.dumps())
    found = moto_scheduler.get_schedule(GroupName=GROUP, Name="digests-1790000040")
    assert (found["ActionAfterCompletion"], found["ScheduleExpression"]) == ("DELETE", "at(2026-09-21T14:12:30)")
    assert DueMinute.loads(found["Target"]["Input"]) == minute
    assert len(minute.name) <= SCHEDULE_NAME.most


def test_a_schedule_sends_once_to_the_queue_and_goes(moto_scheduler: Any) -> None:
    EventBridgeScheduler(moto_scheduler, group=GROUP, queue=QUEUE, role=ROLE).set("job-1", 1_790_000_000)
    found = moto_scheduler.get_schedule(GroupName=GROUP, Name="job-1")
    assert (found["ActionAfterCompletion"], found["FlexibleTimeWindow"]) == ("DELETE", {"Mode": "OFF"})
    assert (found["ScheduleExpression"], found["ScheduleExpressionTimezone"]) == ("at(2026-09-21T14:13:20)", "UTC")
    target = found["Target"]
    assert (target["Arn"], target["RoleArn"], target["Input"]) == (QUEUE, ROLE, '{"job":"job-1"}')
    assert target["DeadLetterConfig"] == {"Arn": f"{QUEUE}-dlq"}
    assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] <= 600
