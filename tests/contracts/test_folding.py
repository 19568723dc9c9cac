"""Ledgers are counted in their job and the stats exactly once, whatever is repeated or lost."""

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo import keys
from shared.domain.ledger import Ledger
from shared.domain.outcomes import Entry, Kind
from shared.domain.states import Cell, JobState
from tests.contracts.conftest import ACCOUNT, ROUTE, Parts, job, leased, passing
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores

# J2


def sent(stores: Stores, clock: FakeClock, parts: Parts, chunk: int = 0) -> Ledger:
    """Send a chunk to its end: the first recipient refused, the rest accepted."""
    held = leased(stores, clock, parts.job.id, chunk)
    claimed = stores.ledgers.claim(held, [], 500, route=ROUTE)
    assert claimed is not None
    words = [Entry(i, 1, Kind.ACCEPTED if i else Kind.REFUSED) for i in claimed[1]]
    released = stores.ledgers.send_done(claimed[0], words, passing(clock))
    assert released is not None
    return released


@pytest.mark.promise(7)
def test_a_ledger_is_folded_exactly_once(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [3, 2])
    parts.store(stores)
    ledger = sent(stores, clock, parts)
    done = stores.records.fold(ledger, parts.job)
    assert done is not None
    assert done[0] == stores.ledgers.read(parts.job.id, 0)
    assert not done[0].dirty
    for x in (ledger, done[0], ledger):
        assert stores.records.fold(x, parts.job) is None
    after = job(stores, parts)
    assert {k: v for k, v in after.counts.items() if v} == {"queued": 2, "sent": 2, "failed": 1}
    assert after.by == {"one": (3, 2, 0, 1), "two": (0, 0, 0, 0)}
    assert after.version == 2
    assert stores.stats(ACCOUNT) == {
        "queued": 4,
        "failure": 1,
        "p.sendgrid.tried": 3,
        "p.sendgrid.accepted": 2,
        "p.sendgrid.failed": 1,
    }


def test_a_fold_whose_answer_was_lost_counts_once(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)
    ledger = sent(stores, clock, parts)
    stores.tap.arm(0, When.REPEATED)
    assert stores.records.fold(ledger, parts.job) is None
    assert stores.tap.fired == 1
    assert {k: v for k, v in job(stores, parts).counts.items() if v} == {"sent": 2, "failed": 1}


def test_a_fold_of_what_has_moved_on_changes_nothing(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)
    ledger = sent(stores, clock, parts)
    assert stores.records.fold(replace(ledger, version=ledger.version - 1), parts.job) is None
    assert job(stores, parts) == parts.job


@pytest.mark.parametrize(("campaign", "state"), [("", JobState.LOGGED), ("spring", JobState.SENT)])
def test_the_fold_of_the_only_chunk_ends_the_job(
    stores: Stores, clock: FakeClock, campaign: str, state: JobState
) -> None:
    """A job that holds its credential is SENT; only another step may free the credential."""
    parts = Parts(clock, campaign=campaign)
    parts.store(stores)
    ledger = sent(stores, clock, parts)
    done = stores.records.fold(ledger, parts.job, finish=clock.ms + 7)
    assert done is not None
    assert done[1] == job(stores, parts)
    assert (done[1].state, done[1].version, done[1].quiet) == (state, 2, True)
    assert done[1].finished_at == (clock.ms + 7 if state is JobState.LOGGED else 0)
    slot = keys.open_slot("one" if campaign else None, parts.job.shard, running=True)
    assert len(list(stores.records.open_jobs([slot]))) == (state is JobState.SENT)


def test_an_ending_fold_whose_answer_was_lost_is_made_once(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)
    ledger = sent(stores, clock, parts)
    stores.tap.arm(0, When.REPEATED)
    assert stores.records.fold(ledger, parts.job, finish=clock.ms) is None
    assert stores.tap.fired == 1
    assert (job(stores, parts).state, job(stores, parts).version) == (JobState.LOGGED, 2)


@pytest.mark.parametrize("changes", [{"version": 9}, {"state": JobState.STOPPED}])
def test_a_job_that_has_moved_on_is_not_finished_by_a_fold(
    stores: Stores, clock: FakeClock, changes: dict[str, Any]
) -> None:
    parts = Parts(clock, **changes)
    parts.store(stores)
    ledger = sent(stores, clock, parts)
    assert stores.records.fold(ledger, replace(parts.job, version=1), finish=clock.ms) is None
    assert job(stores, parts) == parts.job
    assert stores.ledgers.read(parts.job.id, 0) == ledger


def test_a_fold_back_and_forth_leaves_the_sums(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock)
    parts.store(stores)
    ledger: Ledger | None = sent(stores, clock, parts)
    for index, word in ((1, Cell.DROPPED), (1, Cell.DELIVERED), (2, Cell.BOUNCED)):
        assert ledger is not None
        stores.records.fold(ledger, parts.job)
        ledger = stores.ledgers.join(parts.job.id, 0, [(index, 1, word)], route=ROUTE, credential="one")
    assert ledger is not None
    stores.records.fold(ledger, parts.job)
    assert {k: v for k, v in job(stores, parts).counts.items() if v} == {"failed": 1, "delivered": 1, "bounced": 1}
    sums = stores.stats(ACCOUNT)
    assert {k: v for k, v in sums.items() if "." not in k} == {"failure": 2, "success": 1}
