"""An owner's retry on its way: one at a time, and only while the job is LOGGED (J4)."""

from dataclasses import replace

import pytest

from shared.adapters.dynamo import indices
from shared.domain.jobs.job import Job, RetryRequest
from shared.domain.jobs.states import COUNT_KEYS, Cell, Change, JobState
from shared.ports import OpenJob
from tests.contracts.conftest import Parts
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores

ASKED = RetryRequest((Cell.DROPPED, Cell.UNKNOWN), 5, 1)


def logged(stores: Stores, clock: FakeClock, unknown: int = 0) -> Job:
    parts = Parts(clock, [2, 2])
    counts = dict.fromkeys(COUNT_KEYS, 0) | {"queued": 4 - unknown, "unknown": unknown}
    parts.job = replace(parts.job, counts=counts)
    parts.store(stores)
    job = parts.job
    for change in (Change.FINISH, Change.LOG):
        changed = stores.records.change(job, change, clock.ms)
        assert changed.job is not None
        job = changed.job
    return job


def entries(stores: Stores, job: Job) -> list[OpenJob]:
    slots = [indices.open_slot(None, job.shard, running=running) for running in (False, True)]
    return list(stores.records.open_jobs(slots))


def test_a_retry_is_recorded_moves_on_and_ends_with_the_job_ready(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock)
    assert entries(stores, job) == []
    asked = stores.records.set_retry(job, ASKED)
    assert asked.won
    assert asked.job == stores.records.job(job.id) == replace(job, retry=ASKED, version=job.version + 1)
    assert entries(stores, job) == [OpenJob(job.id, running=True, not_before=0, created_at=job.created_at)]
    moved = stores.records.set_retry(asked.job, replace(ASKED, next=2))
    assert moved.won
    assert moved.job is not None
    assert moved.job.retry == replace(ASKED, next=2)
    assert not stores.records.change(asked.job, Change.RESUME, clock.ms).won
    assert not stores.records.change(job, Change.RESUME, clock.ms).won
    ready = stores.records.change(moved.job, Change.RESUME, clock.ms)
    assert ready.job is not None
    assert (ready.won, ready.job.state, ready.job.retry) == (True, JobState.READY, None)
    assert entries(stores, job) == [OpenJob(job.id, running=False, not_before=0, created_at=job.created_at)]


def test_of_two_retries_one_is_recorded(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock)
    first = stores.records.set_retry(job, ASKED)
    second = stores.records.set_retry(job, replace(ASKED, asked_at=6))
    assert (first.won, second.won) == (True, False)
    assert second.job == first.job == stores.records.job(job.id)


def test_a_record_whose_answer_was_lost_is_known_again(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock)
    stores.tap.arm(0, When.REPEATED)
    asked = stores.records.set_retry(job, ASKED)
    assert stores.tap.fired == 1
    assert asked.won
    assert asked.job == replace(job, retry=ASKED, version=job.version + 1)


def test_only_a_logged_job_takes_one(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock)
    ready = stores.records.change(job, Change.RESUME, clock.ms)
    assert ready.job is not None
    refused = stores.records.set_retry(ready.job, ASKED)
    assert (refused.won, refused.job) == (False, ready.job)
    assert not stores.records.set_retry(replace(job, id="0" * 26), ASKED).won


@pytest.mark.parametrize("unknown", [0, 1])
def test_a_withdrawn_one_leaves_the_job_as_it_was(stores: Stores, clock: FakeClock, unknown: int) -> None:
    job = logged(stores, clock, unknown)
    late = clock.ms + 3 * 86_400_000
    assert list(stores.records.doubts(late)) == [job.id] * unknown
    asked = stores.records.set_retry(job, ASKED)
    assert asked.job is not None
    assert list(stores.records.doubts(late)) == []
    stores.records.look_again(job.id, None)  # by one who saw it before
    assert len(entries(stores, job)) == 1
    withdrawn = stores.records.set_retry(asked.job, None)
    assert withdrawn.won
    assert withdrawn.job == replace(job, version=job.version + 2)
    assert entries(stores, job) == []
    assert list(stores.records.doubts(late)) == [job.id] * unknown


# Ledgers


def test_some_ledgers_from_a_number_on(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [1] * 5)
    parts.store(stores)
    assert stores.ledgers.read_some(parts.job.id, 1, 3) == parts.ledgers[1:4]
    assert stores.ledgers.read_some(parts.job.id, 4, 3) == parts.ledgers[4:]
    assert stores.ledgers.read_some(parts.job.id, 5, 3) == []


@pytest.mark.promise(1)
def test_cells_are_queued_again_only_under_the_retry_that_was_read(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock)
    old = stores.ledgers.read(job.id, 0)
    assert old is not None
    new = replace(old, cells=bytes([1 << 4 | Cell.QUEUED, Cell.QUEUED]), dirty=True, version=old.version + 1)
    asked = stores.records.set_retry(job, ASKED)
    assert asked.job is not None
    moved = stores.records.set_retry(asked.job, replace(ASKED, next=2))
    assert moved.job is not None
    assert not stores.records.requeue(old, new, job)
    assert not stores.records.requeue(old, new, asked.job)
    assert stores.ledgers.read(job.id, 0) == old
    assert stores.records.requeue(old, new, moved.job)
    assert stores.ledgers.read(job.id, 0) == new
    assert not stores.records.requeue(old, new, moved.job)
