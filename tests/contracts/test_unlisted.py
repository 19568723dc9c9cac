"""Small jobs that come into the index of open jobs only once they have waited: found by their minute until then."""

from dataclasses import replace

import pytest

from shared.adapters.dynamo import indices
from shared.domain.ids import made_at, minute_of, new_id, small_id
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.states import Change, JobState
from tests.contracts.conftest import Parts, job, leased, passing
from tests.contracts.test_small_jobs import accepted, begun, end, stored
from tests.fakes.clock import FakeClock
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores

pytestmark = pytest.mark.promise(3)


@pytest.fixture(params=["memory", "dynamo"])
def stores(request: pytest.FixtureRequest, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Stores:
    """Stores, for small jobs."""
    monkeypatch.setattr(Parts, "small", True)
    return FakeStores(clock) if request.param == "memory" else MotoStores(request.getfixturevalue("moto_dynamo"), clock)


def listed(stores: Stores, x: Parts) -> bool:
    slots = [indices.open_slot(None, x.job.shard, running=running) for running in (False, True)]
    return x.job.id in {entry.job for entry in stores.records.open_jobs(slots)}


def walked(stores: Stores, x: Parts) -> list[str]:
    return list(stores.records.unlisted(minute_of(x.job.id), x.job.id[-2]))


def ended(stores: Stores, clock: FakeClock, x: Parts) -> None:
    assert stores.records.end_jobs([end(clock, begun(stores, clock, x))], clock.ms) == {x.job.id}


def left_waiting(stores: Stores, clock: FakeClock, held: Ledger) -> None:
    left = stores.ledgers.release(held, (), (), passing(clock))
    assert left is not None
    assert left.status is LedgerStatus.IDLE


def test_a_new_job_is_found_by_its_minute_and_part_alone(stores: Stores, clock: FakeClock) -> None:
    x = accepted(stores, clock)
    assert made_at(x.job.id) == x.job.created_at
    assert not listed(stores, x)
    assert walked(stores, x) == [x.job.id]
    other = "0" if x.job.id[-2] != "0" else "1"
    assert list(stores.records.unlisted(minute_of(x.job.id), other)) == []
    assert list(stores.records.unlisted(minute_of(x.job.id) + 1, x.job.id[-2])) == []


def test_a_job_of_the_version_before_is_in_the_index_from_the_first(stores: Stores, clock: FakeClock) -> None:
    x = Parts(clock, (2,))
    name = small_id(new_id(clock.ms), listed=True)
    x.job = replace(x.job, id=name)
    x.chunks = [replace(chunk, job=name) for chunk in x.chunks]
    x.ledgers = [replace(ledger, job=name) for ledger in x.ledgers]
    x.store(stores)
    assert listed(stores, x)
    assert walked(stores, x) == []
    assert stored(stores, x).job == name


def test_what_has_not_ended_is_put_there_once(stores: Stores, clock: FakeClock) -> None:
    x = accepted(stores, clock)
    stores.records.enlist(x.job.id)
    once = job(stores, x)
    assert once.version == x.job.version + 1
    assert listed(stores, x)
    assert walked(stores, x) == []
    stores.records.enlist(x.job.id)
    assert job(stores, x) == once


def test_what_has_ended_is_walked_no_more_and_never_put_there(stores: Stores, clock: FakeClock) -> None:
    x = accepted(stores, clock)
    ended(stores, clock, x)
    assert walked(stores, x) == []
    stores.records.enlist(x.job.id)
    assert not listed(stores, x)
    assert job(stores, x).state is JobState.LOGGED


def test_a_job_that_was_put_there_leaves_it_when_it_ends(stores: Stores, clock: FakeClock) -> None:
    x = accepted(stores, clock)
    stores.records.enlist(x.job.id)
    ended(stores, clock, x)
    assert not listed(stores, x)


def test_a_lease_that_leaves_something_waiting_puts_it_there(stores: Stores, clock: FakeClock) -> None:
    x = accepted(stores, clock)
    held = leased(stores, clock, x.job.id)
    assert not listed(stores, x)
    left_waiting(stores, clock, held)
    assert listed(stores, x)


def test_a_stop_puts_it_there(stores: Stores, clock: FakeClock) -> None:
    x = accepted(stores, clock)
    assert stores.records.change(x.job, Change.STOP, clock.ms, reason="user").won
    assert listed(stores, x)
    assert walked(stores, x) == []


def test_a_release_leaves_a_job_where_its_hours_put_it(stores: Stores, clock: FakeClock) -> None:
    """The job is READY when the lease ends. Among the running ones, nothing would start it."""
    x = accepted(stores, clock)
    held = leased(stores, clock, x.job.id)
    assert stores.records.change(x.job, Change.CLOSE, clock.ms + 60_000).won
    left_waiting(stores, clock, held)
    ready = [entry.job for entry in stores.records.open_jobs([indices.open_slot(None, x.job.shard, running=False)])]
    assert ready == [x.job.id]
