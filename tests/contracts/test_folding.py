"""Ledgers are counted in their job and the stats exactly once, whatever is repeated or lost."""

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo import indices
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.states import Cell, Change, JobState
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
        "singles.settled": 1,
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
    slot = indices.open_slot("one" if campaign else None, parts.job.shard, running=True)
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


@pytest.mark.promise(7)
def test_several_ledgers_are_folded_together_exactly_once(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [3, 2, 4])
    parts.store(stores)
    ledgers = [sent(stores, clock, parts, chunk) for chunk in (0, 1)]
    untouched = parts.ledgers[2]
    assert stores.records.fold_all([*ledgers, untouched], parts.job) == {}
    stored = {x.chunk: x for x in stores.ledgers.read_all(parts.job.id)}
    assert [stored[chunk].dirty for chunk in range(3)] == [False] * 3
    assert stored[2] == untouched
    after = job(stores, parts)
    assert {k: v for k, v in after.counts.items() if v} == {"queued": 4, "sent": 3, "failed": 2}
    assert after.by == {"one": (5, 3, 0, 2), "two": (0, 0, 0, 0)}
    assert stores.stats(ACCOUNT)["failure"] == 2
    assert stores.records.fold_all(ledgers, parts.job) == {0: stored[0], 1: stored[1]}
    assert stores.records.fold_all(list(stored.values()), parts.job) == {}
    assert job(stores, parts) == after


@pytest.mark.promise(7)
def test_a_fold_of_several_changes_nothing_when_one_has_moved_on_and_returns_that_one(
    stores: Stores, clock: FakeClock
) -> None:
    parts = Parts(clock, [3, 2])
    parts.store(stores)
    ledgers = [sent(stores, clock, parts, chunk) for chunk in (0, 1)]
    now = stores.ledgers.join(parts.job.id, 1, [(1, 1, Cell.DELIVERED)], route=ROUTE, credential="one")
    gone = replace(ledgers[0], chunk=7)
    assert stores.records.fold_all([*ledgers, gone], parts.job) == {1: now, 7: None}
    assert job(stores, parts) == parts.job
    assert stores.ledgers.read(parts.job.id, 0) == ledgers[0]


def test_a_fold_of_several_whose_job_has_gone_changes_nothing(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [3, 2])
    parts.store(stores)
    ledgers = [sent(stores, clock, parts, chunk) for chunk in (0, 1)]
    stores.expire(parts.job.id)
    assert stores.records.fold_all(ledgers, parts.job) == {0: None, 1: None}
    assert stores.ledgers.read_all(parts.job.id) == ledgers


def test_jobs_and_ledgers_are_read_by_the_hundred(stores: Stores, clock: FakeClock) -> None:
    several = [Parts(clock, [1, 1]) for _ in range(2)]
    for parts in several:
        parts.store(stores)
    names = [parts.job.id for parts in several]
    assert stores.records.read_jobs([*names, "0" * 26]) == {parts.job.id: parts.job for parts in several}
    places = [(names[0], 1), (names[1], 0), (names[1], 0), (names[1], 5)]
    found = sorted(stores.ledgers.read_these(places), key=lambda x: names.index(x.job))
    assert found == [several[0].ledgers[1], several[1].ledgers[0]]


def test_a_job_is_logged_by_the_unknown_that_its_finaliser_counted(stores: Stores, clock: FakeClock) -> None:
    """Its own counts may lack what is not folded yet."""
    parts = Parts(clock)
    parts.store(stores)
    stopped = stores.records.change(parts.job, Change.STOP, clock.ms).job
    assert stopped is not None
    stores.records.change(replace(stopped, counts={**stopped.counts, "unknown": 1}), Change.LOG, clock.ms, strict=True)
    assert list(stores.records.doubts(clock.ms + 3_600_000)) == [parts.job.id]
