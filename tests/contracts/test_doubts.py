"""Finished jobs with messages of unknown fate are found when their providers are to be asked."""

from dataclasses import replace

import pytest

from shared.adapters.dynamo.jobs.transitions import FIRST_LOOK_MS
from shared.domain.jobs.job import NOTICE
from shared.domain.jobs.look_ups import LOOKS
from shared.domain.jobs.states import COUNT_KEYS, Cell, Change
from tests.contracts.conftest import Parts
from tests.fakes.clock import FakeClock
from tests.fakes.stores import Stores

UNKNOWN = dict.fromkeys(COUNT_KEYS, 0) | {"unknown": 3}
FIRST = LOOKS[0] * 1000


def doubts(stores: Stores, at: int) -> list[str]:
    return list(stores.records.doubts(at))


def logged(stores: Stores, clock: FakeClock, **changes: object) -> str:
    """Store a job, end it, and return its id."""
    parts = Parts(clock, [3], **changes)
    parts.store(stores)
    for change in (Change.FINISH, Change.LOG):
        assert stores.records.change(parts.job, change, clock.ms).won
    return parts.job.id


def test_a_job_that_ends_in_doubt_is_found_when_it_is_due(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock, counts=UNKNOWN)
    assert doubts(stores, clock.ms + FIRST - 1) == []
    assert doubts(stores, clock.ms + FIRST) == [job]


def test_a_job_without_doubts_is_not(stores: Stores, clock: FakeClock) -> None:
    logged(stores, clock)
    assert doubts(stores, clock.ms + 10**9) == []


@pytest.mark.parametrize("unknown", [0, 2])
def test_the_fold_that_ends_a_job_sees_what_it_leaves_unknown(stores: Stores, clock: FakeClock, unknown: int) -> None:
    parts = Parts(clock, [3])
    parts.store(stores)
    old = parts.ledgers[0]
    cells = bytes([1 << 4 | Cell.UNKNOWN] * unknown + [1 << 4 | Cell.SENT] * (3 - unknown))
    done = replace(old, cells=cells, dirty=True)
    stores.ledgers.enqueue([done])
    assert stores.records.fold(done, parts.job, finish=clock.ms) is not None
    assert doubts(stores, clock.ms + FIRST) == ([parts.job.id] if unknown else [])


def test_another_look_is_taken_later_or_never(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock, counts=UNKNOWN)
    stores.records.look_again(job, clock.ms + 900_000)
    assert doubts(stores, clock.ms + 899_999) == []
    assert doubts(stores, clock.ms + 900_000) == [job]
    stores.records.look_again(job, None)
    assert doubts(stores, clock.ms + 10**9) == []
    stores.records.look_again(job, clock.ms)
    assert doubts(stores, clock.ms + 10**9) == []


def test_a_job_that_goes_on_is_none_of_them(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock, counts=UNKNOWN)
    stored = stores.records.job(job)
    assert stored is not None
    assert stores.records.change(stored, Change.RESUME, clock.ms).won
    assert doubts(stores, clock.ms + 10**9) == []
    stores.records.look_again(job, clock.ms)
    assert doubts(stores, clock.ms + 10**9) == []
    assert len(list(stores.records.open_jobs([f"shared#READY#{n}" for n in range(16)]))) == 1


def test_a_finished_run_of_notices_is_found_among_runs_alone(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock, counts=UNKNOWN, kind=NOTICE)
    assert list(stores.records.notice_runs(clock.ms + FIRST_LOOK_MS - 1)) == []
    assert list(stores.records.notice_runs(clock.ms + FIRST_LOOK_MS)) == [job]
    assert doubts(stores, clock.ms + 10**9) == []


def test_a_run_is_looked_at_later_or_no_more(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock, kind=NOTICE)
    stores.records.look_at_run_again(job, clock.ms + 900_000)
    assert list(stores.records.notice_runs(clock.ms + 899_999)) == []
    assert list(stores.records.notice_runs(clock.ms + 900_000)) == [job]
    stores.records.look_at_run_again(job, None)
    assert list(stores.records.notice_runs(clock.ms + 10**9)) == []
    stores.records.look_at_run_again(job, clock.ms)
    assert list(stores.records.notice_runs(clock.ms + 10**9)) == []


def test_another_kind_of_job_is_no_run(stores: Stores, clock: FakeClock) -> None:
    job = logged(stores, clock, counts=UNKNOWN)
    stores.records.look_at_run_again(job, clock.ms)
    assert list(stores.records.notice_runs(clock.ms + 10**9)) == []
