"""Messages that acceptance leaves out of the day's stats: their ledger's first fold counts them there, once."""

from dataclasses import replace

import pytest

from shared.domain.ids import is_small
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import Cell, JobState
from shared.ports import Replay, Stored
from tests.contracts.conftest import ACCOUNT, Parts, job, key
from tests.contracts.test_folding import sent
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores

pytestmark = pytest.mark.promise(7)


def uncounted(clock: FakeClock, size: int = 3) -> Parts:
    """Return a job that its first fold counts."""
    parts = Parts(clock, [size])
    parts.ledgers = [replace(x, uncounted=x.folded) for x in parts.ledgers]
    return parts


def stored(stores: Stores, parts: Parts) -> Ledger:
    found = stores.ledgers.read(parts.job.id, 0)
    assert found is not None
    return found


def amounts(stores: Stores) -> dict[str, int]:
    """Return the account's messages by their ends."""
    return {k: v for k, v in stores.stats(ACCOUNT).items() if "." not in k}


def test_acceptance_leaves_it_out_and_the_job_counts_it_at_once(stores: Stores, clock: FakeClock) -> None:
    parts = uncounted(clock)
    assert parts.store(stores) == Stored()
    assert stores.stats(ACCOUNT) == {}
    assert job(stores, parts) == parts.job
    assert stored(stores, parts) == parts.ledgers[0]


@pytest.mark.parametrize("when", [When.REPEATED, When.AFTER])
def test_an_acceptance_whose_answer_was_lost_is_made_once(stores: Stores, clock: FakeClock, when: When) -> None:
    parts = uncounted(clock)
    stores.tap.arm(1, when, ConnectionError)
    try:
        assert parts.store(stores) == Stored()
    except ConnectionError:
        assert parts.store(stores) == Stored()
    assert stores.tap.fired == 1
    assert job(stores, parts) == parts.job


@pytest.mark.parametrize("together", [False, True])
def test_the_first_fold_counts_all_of_it_and_later_ones_what_is_new(
    stores: Stores, clock: FakeClock, *, together: bool
) -> None:
    parts = uncounted(clock)
    parts.store(stores)
    held = sent(stores, clock, parts)
    assert held.uncounted == parts.ledgers[0].folded
    for _ in range(2):
        if together:
            stores.records.fold_all([held], parts.job)
        else:
            stores.records.fold(held, parts.job, finish=clock.ms)
        assert amounts(stores) == {"queued": 2, "failure": 1}
        assert {k: v for k, v in job(stores, parts).counts.items() if v} == {"sent": 2, "failed": 1}
    assert stored(stores, parts).uncounted == ()
    said = stores.ledgers.join(parts.job.id, 0, [(1, 1, Cell.DELIVERED)], route=parts.job.route, credential="one")
    assert said is not None
    stores.records.fold_all([said], job(stores, parts))
    assert sum(amounts(stores).values()) == 3


def test_what_waits_is_counted_as_queued_by_a_fold_of_nothing_new(stores: Stores, clock: FakeClock) -> None:
    parts = uncounted(clock)
    parts.store(stores)
    assert stores.records.fold_all([stored(stores, parts)], parts.job) == {}
    assert amounts(stores) == {"queued": 3}
    assert job(stores, parts).counts == parts.job.counts
    counted = stored(stores, parts)
    assert stores.records.fold_all([counted], parts.job) == {}
    assert stores.records.fold_all([parts.ledgers[0]], parts.job) == {0: counted}
    sent(stores, clock, parts)
    assert stores.records.fold_all([stored(stores, parts)], parts.job) == {}
    assert amounts(stores) == {"queued": 2, "failure": 1}


def test_a_repeated_request_leaves_chunks_that_are_counted_nowhere(stores: Stores, clock: FakeClock) -> None:
    first, second = uncounted(clock), uncounted(clock)
    stores.tap.arm(2, error=ConnectionError)
    with pytest.raises(ConnectionError):
        second.store(stores, key(clock, answer="second"))
    assert first.store(stores, key(clock)) == Stored()
    assert second.store(stores, key(clock, answer="second")) == Replay("first")
    assert (stores.ledgers.read(second.job.id, 0) is None) == is_small(second.job.id)
    [orphan] = second.ledgers
    assert stores.records.fold_all([orphan], second.job) == {0: None}
    assert stores.records.fold(orphan, second.job) is None
    assert stores.stats(ACCOUNT) == {}
    stores.records.fold_all([stored(stores, first)], first.job)
    assert amounts(stores) == {"queued": 3}
    assert job(stores, first).state is JobState.ENQUEUED
