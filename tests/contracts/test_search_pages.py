"""Pages that searches read: who writes them, when, and what a crash leaves."""

from contextlib import suppress
from dataclasses import replace

import pytest

from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.labels import Labels
from shared.domain.searching.marks import SearchPage, Sought, mark, marked, marks_left, marks_of, marks_to, place_of
from shared.ports import JobEnd, Stored
from tests.contracts.conftest import ACCOUNT, Parts
from tests.contracts.test_counted_later import stored, uncounted
from tests.contracts.test_folding import sent
from tests.fakes.clock import FakeClock
from tests.fakes.faults import Crash, When
from tests.fakes.stores import Stores

LABELS = Labels("order-1", ("receipt", "paid"))


def pages(stores: Stores, namespace: str = ACCOUNT) -> list[SearchPage]:
    """Return all pages of a namespace, newest first."""
    found, more = stores.search_pages.read(namespace, newest="9" * 15, oldest="0" * 15)
    assert not more
    return found


def single(clock: FakeClock) -> Parts:
    """Return a small job with marks."""
    parts = uncounted(clock, 2)
    marks = marks_of(ACCOUNT, LABELS) + marks_to(ACCOUNT, (r.key for r in parts.chunks[0].recipients))
    parts.job = replace(parts.job, labels=LABELS, marks=marks)
    return parts


def test_acceptance_makes_a_page_of_a_job_that_it_counts(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [3, 2], labels=LABELS)
    assert parts.store(stores) == Stored()
    [page] = pages(stores)
    [found] = page.jobs
    assert (page.place, page.newest, page.ttl) == (place_of(parts.job), place_of(parts.job), parts.job.ttl)
    assert (found.job, found.apart) == (parts.job.id, False)
    for what, text in ((Sought.REFERENCE, "order-1"), (Sought.TAG, "paid"), (Sought.RECIPIENT, "r1.1@example.com")):
        assert marked(found.marks, mark(ACCOUNT, what, text))
    assert stores.search_pages.chunks(parts.job.id) == {}


def test_the_chunks_of_a_large_job_have_their_marks_apart(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [400, 400], labels=LABELS)
    parts.store(stores)
    [found] = pages(stores)[0].jobs
    assert (found.marks, found.apart) == (marks_of(ACCOUNT, LABELS), True)
    chunks = stores.search_pages.chunks(parts.job.id)
    assert chunks == {x.number: marks_to(ACCOUNT, (r.key for r in x.recipients)) for x in parts.chunks}


def test_a_job_of_an_account_without_search_is_in_no_page(stores: Stores, clock: FakeClock) -> None:
    parts = Parts(clock, [400, 400], unsearched=True)
    parts.store(stores)
    assert (pages(stores), stores.search_pages.chunks(parts.job.id)) == ([], {})
    small = uncounted(clock)
    small.job = replace(small.job, unsearched=True)
    small.store(stores)
    stores.records.fold(stored(stores, small), small.job)
    assert pages(stores) == []


@pytest.mark.parametrize("way", ["fold", "fold_jobs", "fold_all", "end_jobs"])
def test_the_first_fold_makes_a_page_of_a_small_job(stores: Stores, clock: FakeClock, way: str) -> None:
    parts = single(clock)
    parts.store(stores)
    assert pages(stores) == []
    held = sent(stores, clock, parts) if way != "fold_jobs" else stored(stores, parts)
    current = stores.records.job(parts.job.id)
    assert current is not None
    assert current.marks == parts.job.marks
    if way == "fold":
        stores.records.fold(held, current)
    elif way == "fold_jobs":
        stores.records.fold_jobs([(held, current)], clock.ms)
    elif way == "fold_all":
        stores.records.fold_all([held], current)
    else:
        stores.records.end_jobs([JobEnd(current, held, held, None)], clock.ms)
    found = [(page.place, [(x.job, x.marks, x.apart) for x in page.jobs]) for page in pages(stores)]
    assert found == [(place_of(parts.job), [(parts.job.id, parts.job.marks, False)])]
    assert not stored(stores, parts).uncounted


def test_later_folds_make_no_page(stores: Stores, clock: FakeClock) -> None:
    parts = single(clock)
    parts.store(stores)
    stores.records.fold(stored(stores, parts), parts.job)
    held = sent(stores, clock, parts)
    before = pages(stores)
    stores.records.fold(held, parts.job)
    assert pages(stores) == before


def test_jobs_that_are_folded_together_share_a_page(stores: Stores, clock: FakeClock) -> None:
    some = []
    for _ in range(10):
        clock.advance(0.1)
        some.append(single(clock))
        some[-1].store(stores)
    folds = [(stored(stores, x), x.job) for x in some]
    assert len(stores.records.fold_jobs(folds, clock.ms)) == 10
    [page] = pages(stores)
    assert [x.job for x in page.jobs] == [x.job.id for x in reversed(some)]
    assert page.newest == place_of(some[-1].job)


def test_jobs_of_other_minutes_have_other_pages(stores: Stores, clock: FakeClock) -> None:
    some = [single(clock)]
    clock.advance(60)
    some.append(single(clock))
    for x in some:
        x.store(stores)
    stores.records.fold_jobs([(stored(stores, x), x.job) for x in some], clock.ms)
    assert [x.place for x in pages(stores)] == [place_of(x.job) for x in reversed(some)]


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize("call", [0, 1])
def test_a_crash_between_loses_no_page(stores: Stores, clock: FakeClock, call: int, when: When) -> None:
    """The page comes first: what is counted is in one."""
    some = [single(clock), single(clock)]
    for x in some:
        x.store(stores)
    folds = [(stored(stores, x), x.job) for x in some]
    stores.tap.arm(call, when)
    with suppress(Crash):
        stores.records.fold_jobs(folds, clock.ms)
    stores.tap.arm(0, where=lambda _: False)  # one store makes one call of it
    paged = {x.job for page in pages(stores) for x in page.jobs}
    assert {x.job.id for x in some if not stored(stores, x).uncounted} <= paged
    for x in some:
        stores.records.fold(stored(stores, x), x.job)
    assert {x.job for page in pages(stores) for x in page.jobs} == {x.job.id for x in some}


def test_a_page_that_others_share_is_not_replaced_by_a_part_of_it(stores: Stores, clock: FakeClock) -> None:
    """A fold whose other jobs have moved on writes a page of its own."""
    older = single(clock)
    clock.advance(1)
    newer = single(clock)
    for x in (older, newer):
        x.store(stores)
    folds = [(stored(stores, x), x.job) for x in (older, newer)]
    stores.records.fold_jobs(folds, clock.ms)
    stores.records.fold_jobs(folds[1:], clock.ms)
    assert older.job.id in {x.job for page in pages(stores) for x in page.jobs}


def test_namespaces_have_pages_of_their_own(stores: Stores, clock: FakeClock) -> None:
    Parts(clock, test=True).store(stores)
    Parts(clock, account=f"{ACCOUNT}-team").store(stores)
    assert pages(stores) == []
    assert [len(pages(stores, f"{ACCOUNT}{x}")) for x in ("#TEST", "-team")] == [1, 1]


def test_pages_are_read_between_two_places(stores: Stores, clock: FakeClock) -> None:
    some = []
    for _ in range(3):
        clock.advance(1)
        some.append(Parts(clock))
        some[-1].store(stores)
    found, _ = stores.search_pages.read(
        ACCOUNT, newest=f"{some[1].job.created_at:015d}~", oldest=f"{some[1].job.created_at:015d}"
    )
    assert [x.place for x in found] == [place_of(some[1].job)]


def test_a_job_that_is_kept_longer_stays_in_a_page(stores: Stores, clock: FakeClock) -> None:
    large, small = Parts(clock, [2]), single(clock)
    for x in (large, small):
        x.store(stores)
    stores.records.fold(stored(stores, small), small.job)
    later = large.job.ttl + 1_000_000
    for x in (large, small):
        stores.records.keep_job(x.job, later)
    assert [x.ttl for x in pages(stores)] == [later, later]


def test_since_when_all_jobs_are_in_pages_is_noted_once(stores: Stores) -> None:
    assert stores.search_pages.begun(ACCOUNT) is None
    stores.search_pages.begin(5_000)
    stores.search_pages.begin(9_000)
    assert stores.search_pages.begun(ACCOUNT) == 5_000


def test_erased_recipients_have_no_marks() -> None:
    ann, ben = "ann@example.com", "ben@example.com"
    left = marks_left(marks_to(ACCOUNT, [ann, ben]), ["", ben])
    assert left == marks_to(ACCOUNT, [Recipient("", "").key, ben])
    assert not marked(left, mark(ACCOUNT, Sought.RECIPIENT, ann))
    assert marked(left, mark(ACCOUNT, Sought.RECIPIENT, ben))
