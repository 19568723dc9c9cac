"""Jobs of one chunk are folded and ended many at a time: each exactly once, and none for another's sake."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.ids import is_small
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import Entry, Kind
from shared.domain.jobs.states import Cell, Change, JobState
from shared.ports import ENDS
from tests.contracts.conftest import ACCOUNT, ROUTE, Parts, job, leased, passing
from tests.contracts.test_counted_later import amounts, uncounted
from tests.contracts.test_folding import sent
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import Stores

pytestmark = pytest.mark.promise(7)


class Some:
    """Jobs whose only ledgers are done and not folded: all but the first of each one's two messages were accepted."""

    def __init__(self, stores: Stores, clock: FakeClock, count: int = 3, **changes: Any) -> None:
        self.parts = [uncounted(clock, 2) if not changes else Parts(clock, [2], **changes) for _ in range(count)]
        for x in self.parts:
            x.store(stores)
        self.ledgers: list[Ledger] = [sent(stores, clock, x) for x in self.parts]
        self.ends: list[tuple[Ledger, Job]] = [(x, p.job) for x, p in zip(self.ledgers, self.parts, strict=True)]


def test_jobs_end_together_as_each_would_by_itself(stores: Stores, clock: FakeClock) -> None:
    some = Some(stores, clock)
    before = len(stores.tap.calls)
    folded = stores.records.fold_jobs(some.ends, clock.ms + 7)
    assert len(stores.tap.calls) == before + 1
    ended = {name: after for name, (_, after) in folded.items() if after is not None}
    assert ended == {x.job.id: job(stores, x) for x in some.parts}
    for x in ended.values():
        assert (x.state, x.finished_at, x.version) == (JobState.LOGGED, clock.ms + 7, 2)
        assert {k: v for k, v in x.counts.items() if v} == {"sent": 1, "failed": 1}
        assert x.by == {"one": (2, 1, 0, 1), "two": (0, 0, 0, 0)}
        ledger = stores.ledgers.read(x.id, 0)
        assert ledger == folded[x.id][0]
        assert (ledger.dirty, ledger.uncounted) == (False, ())
    assert stores.stats(ACCOUNT) == {
        "queued": 3,
        "failure": 3,
        "p.sendgrid.tried": 6,
        "p.sendgrid.accepted": 3,
        "p.sendgrid.failed": 3,
        "singles.settled": 3,
    }
    assert stores.records.fold_jobs(some.ends, clock.ms) == {}
    assert amounts(stores) == {"queued": 3, "failure": 3}


def test_as_many_as_one_transaction_takes(stores: Stores, clock: FakeClock) -> None:
    some = Some(stores, clock, ENDS)
    assert len(stores.records.fold_jobs(some.ends, clock.ms)) == ENDS
    assert amounts(stores) == {"queued": ENDS, "failure": ENDS}


def test_one_that_has_moved_on_is_left_as_it_is_and_keeps_no_other(stores: Stores, clock: FakeClock) -> None:
    some = Some(stores, clock, 4)
    said = stores.ledgers.join(some.ledgers[0].job, 0, [(1, 1, Cell.DELIVERED)], route=ROUTE, credential="one")
    stopped = stores.records.change(some.parts[1].job, Change.STOP, clock.ms).job
    stores.expire(some.ledgers[3].job)
    folded = stores.records.fold_jobs(some.ends, clock.ms)
    assert {name: after for name, (_, after) in folded.items()} == {some.parts[2].job.id: job(stores, some.parts[2])}
    assert job(stores, some.parts[0]) == some.parts[0].job
    assert stores.ledgers.read(some.ledgers[0].job, 0) == said
    assert job(stores, some.parts[1]) == stopped
    assert stores.ledgers.read(some.ledgers[1].job, 0) == some.ledgers[1]
    left = None if is_small(some.ledgers[3].job) else some.ledgers[3]
    assert stores.ledgers.read(some.ledgers[3].job, 0) == left, "a small job's ledger is gone with it"
    assert amounts(stores) == {"queued": 1, "failure": 1}


def test_ends_whose_answer_was_lost_are_made_once(stores: Stores, clock: FakeClock) -> None:
    some = Some(stores, clock)
    stores.tap.arm(0, When.REPEATED)
    assert stores.records.fold_jobs(some.ends, clock.ms) == {}
    assert stores.tap.fired == 1
    assert {(job(stores, x).state, job(stores, x).version) for x in some.parts} == {(JobState.LOGGED, 2)}
    assert amounts(stores) == {"queued": 3, "failure": 3}


def test_those_that_wait_are_counted_beside_one_that_ends_and_go_on(stores: Stores, clock: FakeClock) -> None:
    some, parts = Some(stores, clock, 1), [uncounted(clock, 2) for _ in range(2)]
    for x in parts:
        x.store(stores)
    waiting = [(x.ledgers[0], x.job) for x in parts]
    found = stores.records.fold_jobs([waiting[0], *some.ends, waiting[1]], clock.ms)
    assert [ended is not None for _, ended in found.values()] == [False, True, False]
    for x in parts:
        assert found[x.job.id][0] == stores.ledgers.read(x.job.id, 0)
        assert (job(stores, x).state, job(stores, x).counts) == (JobState.ENQUEUED, x.job.counts)
    assert amounts(stores) == {"queued": 5, "failure": 1}
    assert stores.records.fold_jobs(waiting, clock.ms) == {}


def test_those_that_acceptance_has_counted_add_what_is_new(stores: Stores, clock: FakeClock) -> None:
    some = Some(stores, clock, 2, kind="batch")
    assert amounts(stores) == {"queued": 4}
    stores.records.fold_jobs([*some.ends, *Some(stores, clock, 1).ends], clock.ms)
    assert amounts(stores) == {"queued": 3, "failure": 3}


def test_test_jobs_end_together_and_are_in_no_stats(stores: Stores, clock: FakeClock) -> None:
    some = Some(stores, clock, 2, test=True)
    assert len(stores.records.fold_jobs(some.ends, clock.ms)) == 2
    assert stores.stats(ACCOUNT) == {}


def test_doubts_are_asked_about_as_after_an_end_by_itself(stores: Stores, clock: FakeClock) -> None:
    parts = [uncounted(clock, 1) for _ in range(2)]
    ends: list[tuple[Ledger, Job]] = []
    for x in parts:
        x.store(stores)
        claimed = stores.ledgers.claim(leased(stores, clock, x.job.id), [], 1, route=ROUTE)
        assert claimed is not None
        kind = Kind.UNKNOWN if x is parts[0] else Kind.ACCEPTED
        done = stores.ledgers.send_done(claimed[0], [Entry(0, 1, kind)], passing(clock))
        assert done is not None
        ends.append((done, replace(x.job)))
    assert len(stores.records.fold_jobs(ends, clock.ms)) == 2
    assert list(stores.records.doubts(clock.ms + 3_600_000)) == [parts[0].job.id]
