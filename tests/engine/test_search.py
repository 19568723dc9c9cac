"""Searches for messages, against a naive one: jobs in pages, in none yet, and of a time before there were pages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.ids import new_id, small_id
from shared.domain.jobs.chunks import Chunk, Recipient
from shared.domain.jobs.job import Job
from shared.domain.jobs.labels import NO_LABELS, Labels
from shared.domain.namespaces import namespaces_of
from shared.domain.searching.marks import marks_of, marks_to
from shared.engine.reports import candidates
from shared.engine.reports.candidates import LATELY_MS, Candidates, Search
from shared.engine.reports.message_log import Filter, MessageLog
from shared.engine.reports.search import MessageSearch, SearchPlace
from tests.contracts.conftest import ACCOUNT, CONTENT, Parts
from tests.fakes.clock import FakeClock
from tests.fakes.search_pages import FakeJobPages
from tests.fakes.stores import FakeStores
from tests.tiers import examples

KINDS = ("batch", "campaign", "digest", "notice", "mail")
PEOPLE = ("ann@example.com", "ben@example.com", "cleo@example.com")
TAGS = ("receipt", "news")
STATES = (frozenset[Any](), frozenset({"queued"}), frozenset({"delivered"}))


class Room:
    """An account with jobs, and what searches them."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.stores = FakeStores(self.clock)
        self.pages = self.stores.search_pages
        records = self.stores.records
        self.jobs = FakeJobPages(records.jobs)
        logs = MessageLog(records=records, ledgers=self.stores.ledgers, clock=self.clock)
        self.search = MessageSearch(Candidates(self.jobs, self.pages, lambda: self.clock.ms), logs)
        self.accepted: list[tuple[Job, Sequence[Chunk]]] = []

    def accept(
        self,
        chunks: Sequence[Sequence[str]],
        labels: Labels = NO_LABELS,
        *,
        small: bool = False,
        folded: bool = True,
        **changes: Any,
    ) -> Job:
        """Accept a job. `chunks`: each one's recipients; `small`: a fold puts it into a page, if it was `folded`."""
        parts = Parts(self.clock, [len(x) for x in chunks], labels=labels, **changes)
        name = small_id(new_id(self.clock.ms)) if small else parts.job.id
        of = [
            replace(x, job=name, recipients=tuple(Recipient(r, r) for r in each))
            for x, each in zip(parts.chunks, chunks, strict=True)
        ]
        ledgers = [replace(x, job=name) for x in parts.ledgers]
        job = replace(parts.job, id=name)
        if small:
            job = replace(job, marks=marks_of(job.namespace, labels) + marks_to(job.namespace, chunks[0]))
            ledgers = [replace(x, uncounted=x.folded) for x in ledgers]
        self.stores.records.accept(job, of, ledgers, CONTENT, None)
        if small and folded:
            self.fold(job)
        self.accepted.append((job, of))
        return job

    def fold(self, *jobs: Job) -> None:
        """Fold small jobs together for the first time."""
        held = [(x, job) for job in jobs if (x := self.stores.ledgers.read(job.id, 0)) is not None]
        self.stores.records.fold_jobs(held, self.clock.ms)

    def find(self, search: Search, limit: int = 50) -> list[tuple[str, str]]:
        """Return job and message of all that is found, page by page."""
        return [x for page in self.walk(search, limit) for x in page]

    def walk(self, search: Search, limit: int = 50) -> Iterator[list[tuple[str, str]]]:
        """Yield the pages of a search."""
        place: SearchPlace | None = None
        for _ in range(10_000):
            hits, place = self.search.find(search, place, limit=limit)
            assert len(hits) <= limit
            yield [(x.job.id, x.line.message) for x in hits]
            if place is None:
                return
        raise AssertionError("a search without an end")

    def naive(self, search: Search) -> list[tuple[str, str]]:
        """Return what is to be found: newest first, in the order of each list."""
        by_age = sorted(self.accepted, key=lambda x: (x[0].created_at, x[0].id), reverse=True)
        return [
            (job.id, f"{chunk.number}.{i}")
            for job, chunks in by_age
            if search.takes(job)
            for chunk in chunks
            for i, one in enumerate(chunk.recipients)
            if search.wanted.recipient in ("", one.key)
            and (not search.wanted.states or "queued" in search.wanted.states)
        ]


def search(**changes: Any) -> Search:
    """Return a search of an account. `recipient` is short for a filter by it."""
    wanted = Filter(recipient=changes.pop("recipient", ""), states=changes.pop("states", frozenset()))
    return Search(**{"spaces": namespaces_of(ACCOUNT), "kinds": KINDS, "wanted": wanted, **changes})


@dataclass(frozen=True)
class Draft:
    """A job of an example: after how many ms it is accepted, and what it is."""

    after: int
    chunks: tuple[tuple[str, ...], ...]
    labels: Labels
    small: bool
    test: bool
    team: bool
    kind: str


people = st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=3, unique=True).map(tuple)
drafts = st.builds(
    Draft,
    after=st.sampled_from((0, 1, 7_000, 30_000, 400_000)),
    chunks=st.lists(people, min_size=1, max_size=3).map(tuple),
    labels=st.builds(
        Labels,
        reference=st.sampled_from(("", "order-1", "order-2")),
        tags=st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple),
    ),
    small=st.booleans(),
    test=st.booleans(),
    team=st.booleans(),
    kind=st.sampled_from(KINDS),
)


@given(
    st.lists(drafts, max_size=12),
    st.integers(0, 12),
    st.integers(0, 4),
    st.tuples(st.sampled_from(("", *PEOPLE)), st.sampled_from(("", "order-1")), st.sampled_from(("", *TAGS))),
    st.sampled_from(STATES),
    st.tuples(st.integers(0, 12), st.integers(0, 12)),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 30), st.booleans()),
)
@settings(max_examples=examples(150), deadline=None)
def test_a_search_finds_what_a_naive_one_finds_in_its_order(
    given_: list[Draft],
    upgraded: int,
    unfolded: int,
    names: tuple[str, str, str],
    states: frozenset[Any],
    days: tuple[int, int],
    ways: tuple[int, int, int, bool],
) -> None:
    """`upgraded`: jobs that are older than pages; `unfolded`: the last small jobs that no fold has put into a page."""
    room = Room()
    limit, most, budget, off = ways
    room.pages.most = most
    if off:
        room.pages.off.add(ACCOUNT)
    times, waiting = [], list[Job]()
    for number, x in enumerate(given_):
        if number == upgraded:
            room.pages.pages.clear()
            room.clock.advance(1)
            room.pages.begin(room.clock.ms)
        room.clock.advance(x.after / 1000)
        small = x.small and x.kind == "batch" and not x.test
        account = f"{ACCOUNT}-team" if x.team else ACCOUNT
        chunks = x.chunks[:1] if small else x.chunks
        job = room.accept(chunks, x.labels, small=small, folded=False, kind=x.kind, account=account, test=x.test)
        times.append(room.clock.ms)
        waiting += [job] if small else []
    if upgraded < len(given_):
        late = [job for job in waiting[len(waiting) - unfolded :] if job.created_at > room.clock.ms - LATELY_MS]
        for job in waiting:
            if job not in late:
                room.fold(job)
    since, until = (([0, *times])[min(x, len(times))] for x in days)
    recipient, reference, tag = names
    wanted = search(recipient=recipient, reference=reference, tag=tag, states=states, since=since, until=until)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "BUDGET", budget)
        assert room.find(wanted, limit) == room.naive(wanted)


def test_a_job_that_two_folds_put_into_pages_is_found_once() -> None:
    room = Room()
    room.pages.begin(room.clock.ms)
    one = room.accept([["ann@example.com"]], small=True, folded=False)
    two = room.accept([["ben@example.com"]], small=True, folded=False)
    room.pages.folded([one, two])  # a process that died before its fold
    room.fold(one)
    room.fold(two)
    assert len(room.pages.pages) == 3
    assert room.find(search(recipient="ann@example.com")) == [(one.id, "0.0")]


def test_two_accounts_do_not_find_each_other() -> None:
    room = Room()
    room.pages.begin(room.clock.ms)
    room.accept([["ann@example.com"]], account="acc_000000000002")
    mine = room.accept([["ann@example.com"]])
    assert room.find(search(recipient="ann@example.com")) == [(mine.id, "0.0")]
    assert marks_to(ACCOUNT, ["ann@example.com"]) != marks_to("acc_000000000002", ["ann@example.com"])


def test_a_mark_that_two_recipients_share_shows_only_the_one(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room()
    room.pages.begin(room.clock.ms)
    monkeypatch.setattr("tests.engine.test_search.marks_to", lambda _, keys: b"same" * len([*keys]))
    monkeypatch.setattr(candidates, "mark", lambda *_: b"same")
    room.accept([["ben@example.com"]], small=True)
    ann = room.accept([["ann@example.com"]], small=True)
    assert room.find(search(recipient="ann@example.com")) == [(ann.id, "0.0")]


def test_of_a_large_list_only_the_chunks_that_match_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room()
    room.pages.begin(room.clock.ms)
    chunks = [[f"p{n}.{i}@example.com" for i in range(20)] for n in range(50)]
    job = room.accept(chunks, kind="campaign")
    read, chunk = list[int](), room.stores.records.chunk

    def noted(name: str, number: int) -> Chunk | None:
        read.append(number)
        return chunk(name, number)

    monkeypatch.setattr(room.stores.records, "chunk", noted)
    assert room.find(search(recipient="p37.3@example.com")) == [(job.id, "37.3")]
    assert read == [37]


def test_a_page_of_results_costs_no_more_than_its_budget_and_the_next_one_goes_on() -> None:
    room = Room()
    room.pages.begin(room.clock.ms)
    room.pages.most = 2
    for number in range(100):
        room.clock.advance(60)
        room.accept([[f"p{number}@example.com"]], small=True)
    found = list(room.walk(search(recipient="p3@example.com")))
    assert [len(x) for x in found if x] == [1]
    assert len(found) > 1, "pages of results that are empty, and carry a place"
    assert room.pages.queries < 100


def test_a_search_among_many_reads_pages_and_no_jobs() -> None:
    """Two thousand single messages, the one that is found among the oldest."""
    room = Room()
    room.pages.begin(room.clock.ms)
    room.pages.most = 5_000
    some = []
    for number in range(2_000):
        room.clock.advance(1)
        some.append(room.accept([[f"p{number}@example.com"]], small=True, folded=False))
        if len(some) == 10:
            room.fold(*some)
            some = []
    room.clock.advance(LATELY_MS / 1000)
    assert len(room.pages.pages) == 200
    assert len(room.find(search(recipient="p5@example.com"))) == 1
    assert room.jobs.read == 1
