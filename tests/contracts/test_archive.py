"""Jobs that are to be archived are found when they are due, and only as long as they rest."""

from dataclasses import replace
from typing import Any, cast

import pytest

from shared.adapters.dynamo.jobs.records import DynamoRecords
from shared.domain.jobs.job import Job, RetryRequest
from shared.domain.jobs.look_ups import LOOKS
from shared.domain.jobs.states import COUNT_KEYS, Cell, Change
from tests.contracts.conftest import DAY_MS, Parts
from tests.fakes.clock import FakeClock
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

WAIT = 3 * DAY_MS
UNKNOWN = dict.fromkeys(COUNT_KEYS, 0) | {"unknown": 3}
FOR_EVER = 10**14


@pytest.fixture(params=["memory", "dynamo"])
def stores(request: pytest.FixtureRequest, clock: FakeClock) -> Stores:
    if request.param == "memory":
        fake = FakeStores(clock)
        fake.records.archive = WAIT
        return fake
    moto = MotoStores(request.getfixturevalue("moto_dynamo"), clock)
    names: Any = {"records": moto.tables.records, "ops": moto.tables.ops}
    moto.records = DynamoRecords(moto.dynamo, blobs=moto.blobs, archive=WAIT, **names)
    return moto


def waiting(stores: Stores, at: int = FOR_EVER) -> list[tuple[str, int]]:
    return list(stores.records.unarchived(at, 10))


def logged(stores: Stores, clock: FakeClock, **changes: object) -> Job:
    parts = Parts(clock, [3], **{"ttl": clock.ms // 1000 + 30 * 86_400, **changes})
    parts.store(stores)
    for change in (Change.FINISH, Change.LOG):
        assert stores.records.change(parts.job, change, clock.ms).won
    return cast("Job", stores.records.job(parts.job.id))


def test_a_job_that_ends_is_due_when_its_feedback_is_over(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock)
    assert waiting(stores, clock.ms + WAIT - 1) == []
    assert waiting(stores, clock.ms + WAIT) == [(job.id, clock.ms + WAIT)]


def test_so_is_one_that_ends_with_its_last_ledger(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [3], ttl=clock.ms // 1000 + 30 * 86_400)
    parts.store(stores)
    done = replace(parts.ledgers[0], cells=bytes([1 << 4 | Cell.SENT] * 3), dirty=True)
    stores.ledgers.enqueue([done])
    assert stores.records.fold(done, parts.job, finish=clock.ms) is not None
    assert waiting(stores) == [(parts.job.id, clock.ms + WAIT)]


def test_its_rows_are_still_there_when_it_is_due(stores: Stores, clock: FakeClock) -> None:
    soon = logged(stores, clock, ttl=(clock.ms + 2 * DAY_MS) // 1000)
    over = logged(stores, clock, ttl=clock.ms // 1000 + 60)
    assert sorted(waiting(stores)) == sorted([(soon.id, clock.ms + DAY_MS), (over.id, clock.ms)])


def test_tests_are_not_archived(stores: Stores, clock: FakeClock) -> None:
    logged(stores, clock, test=True)
    assert waiting(stores) == []


@pytest.mark.slow
def test_doubts_come_first(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock, counts=UNKNOWN)
    assert waiting(stores) == []
    first = clock.ms + LOOKS[0] * 1000
    assert list(stores.records.doubts(first)) == [job.id]
    stores.records.look_again(job.id, None)
    assert list(stores.records.doubts(FOR_EVER)) == []
    assert waiting(stores) == [(job.id, first)]
    stores.records.look_again(job.id, None)
    stores.records.look_again(job.id, first + 1)
    assert waiting(stores) == [(job.id, first)], "who comes late moves nothing"


def test_a_due_job_is_archived_later_or_never_on_condition(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock)
    at = clock.ms + WAIT
    stores.records.archive_again(job.id, at - 1, None)
    assert waiting(stores) == [(job.id, at)]
    for _ in range(2):
        stores.records.archive_again(job.id, at, at + 5)
        assert waiting(stores) == [(job.id, at + 5)]
    for _ in range(2):
        stores.records.archive_again(job.id, at + 5, None)
        assert waiting(stores) == []


def test_a_job_that_goes_on_has_no_place_until_it_ends_again(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock)
    at = clock.ms + WAIT
    assert stores.records.change(job, Change.RESUME, clock.ms).won
    stores.records.archive_again(job.id, at, None)
    assert waiting(stores) == []
    clock.advance(60)
    for change in (Change.PLAN, Change.FINISH, Change.LOG):
        assert stores.records.change(job, change, clock.ms).won
    assert waiting(stores) == [(job.id, at + 60_000)]


def test_a_retry_that_is_withdrawn_leaves_the_job_to_be_archived(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock)
    asked = stores.records.set_retry(job, RetryRequest((Cell.FAILED,), clock.ms, 0)).job
    assert asked is not None
    stores.records.archive_again(job.id, clock.ms + WAIT, None)
    assert stores.records.set_retry(asked, None).won
    assert waiting(stores) == [(job.id, clock.ms + WAIT)]
