"""Feedback reopens a message: ledger and job move together or not at all (F)."""

from dataclasses import replace

import pytest

from shared.domain.jobs.job import Job, RetryRequest
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.states import Cell, Change, JobState
from shared.ports import OpenJob
from tests.contracts.conftest import Parts
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.stores import Stores

CHANGES = {
    JobState.ENQUEUED: (),
    JobState.SENDING: (Change.START,),
    JobState.SENT: (Change.FINISH,),
    JobState.LOGGED: (Change.FINISH, Change.LOG),
    JobState.READY: (Change.FINISH, Change.LOG, Change.RESUME),
}


def at(stores: Stores, clock: FakeClock, state: JobState) -> tuple[Job, Ledger, Ledger]:
    """Return a stored job in a state, its ledger, and the ledger with a message that waits again."""
    parts = Parts(clock, [2])
    parts.store(stores)
    job = parts.job
    for change in CHANGES[state]:
        changed = stores.records.change(job, change, clock.ms)
        assert changed.job is not None
        job = changed.job
    assert job.state is state
    old = stores.ledgers.read(job.id, 0)
    assert old is not None
    cells = bytes([1 << 4 | Cell.QUEUED, 1 << 4 | Cell.SENT])
    return (
        job,
        old,
        replace(old, cells=cells, status=LedgerStatus.IDLE, lane="two", dirty=True, version=old.version + 1),
    )


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (JobState.LOGGED, JobState.READY),
        (JobState.SENT, JobState.SENDING),
        (JobState.SENDING, JobState.SENDING),
        (JobState.ENQUEUED, JobState.ENQUEUED),
        (JobState.READY, JobState.READY),
    ],
)
def test_ledger_and_job_move_together(stores: Stores, clock: FakeClock, state: JobState, after: JobState) -> None:
    job, old, new = at(stores, clock, state)
    assert stores.records.reopen(old, new, job)
    assert stores.ledgers.read(job.id, 0) == new
    stored = stores.records.job(job.id)
    assert stored is not None
    assert (stored.state, stored.version) == (after, job.version + 1)
    assert not stores.records.reopen(old, new, job)


def test_a_job_with_a_retry_on_its_way_stays_logged(stores: Stores, clock: FakeClock) -> None:
    job, old, new = at(stores, clock, JobState.LOGGED)
    asked = stores.records.set_retry(job, RetryRequest((Cell.DROPPED,), clock.ms, 0))
    assert not stores.records.reopen(old, new, job)
    assert asked.job is not None
    assert stores.records.reopen(old, new, asked.job)
    stored = stores.records.job(job.id)
    assert stored is not None
    assert (stored.state, stored.retry) == (JobState.LOGGED, asked.job.retry)


def test_a_reopened_job_is_open_again(stores: Stores, clock: FakeClock) -> None:
    job, old, new = at(stores, clock, JobState.LOGGED)
    slots = [f"shared#READY#{n}" for n in range(16)]
    assert list(stores.records.open_jobs(slots)) == []
    stores.records.reopen(old, new, job)
    assert list(stores.records.open_jobs(slots)) == [OpenJob(job.id, running=False, not_before=0, created_at=clock.ms)]


@pytest.mark.promise(1)
def test_nothing_moves_if_one_of_them_has_moved_on(stores: Stores, clock: FakeClock) -> None:
    job, old, new = at(stores, clock, JobState.SENDING)
    stores.records.change(job, Change.STOP, clock.ms, reason="user")
    assert not stores.records.reopen(old, new, job)
    assert stores.ledgers.read(job.id, 0) == old
    stopped = stores.records.job(job.id)
    assert stopped is not None
    stores.ledgers.drop(job.id, 0, [0])
    assert not stores.records.reopen(old, new, stopped)
    assert stores.records.job(job.id) == stopped


@pytest.mark.promise(7)
def test_an_answer_that_was_lost_is_not_a_second_reopening(stores: Stores, clock: FakeClock) -> None:
    job, old, new = at(stores, clock, JobState.LOGGED)
    stores.tap.arm(0, When.AFTER)
    with pytest.raises(Crash):
        stores.records.reopen(old, new, job)
    assert not stores.records.reopen(old, new, job)
    stored = stores.records.job(job.id)
    assert stored is not None
    assert (stored.state, stored.version) == (JobState.READY, job.version + 1)


@pytest.mark.promise(4)
@pytest.mark.parametrize("state", CHANGES)
def test_a_ledger_is_queued_again_only_while_its_job_is_logged(
    stores: Stores, clock: FakeClock, state: JobState
) -> None:
    job, old, new = at(stores, clock, state)
    logged = state is JobState.LOGGED
    assert stores.records.requeue(old, new, job) is logged
    assert stores.ledgers.read(job.id, 0) == (new if logged else old)
    assert stores.records.job(job.id) == job


@pytest.mark.promise(1)
def test_a_ledger_that_has_moved_on_is_not_queued_again(stores: Stores, clock: FakeClock) -> None:
    job, old, new = at(stores, clock, JobState.LOGGED)
    stores.ledgers.drop(job.id, 0, [0])
    moved = stores.ledgers.read(job.id, 0)
    assert moved != old
    assert not stores.records.requeue(old, new, job)
    assert stores.ledgers.read(job.id, 0) == moved
