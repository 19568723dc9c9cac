"""Searches in an account with a million single messages: what a request reads at the most, and how many it takes."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from shared.adapters.dynamo import keys
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState, MessageState
from shared.domain.searching.marks import MarkedJob, SearchPage, pack, page_of, place_of
from shared.engine.reports.candidates import BUDGET, JOBS, QUERY, Candidates, Search
from shared.engine.reports.search import MessageSearch, SearchPlace
from tests.contracts.conftest import ACCOUNT
from tests.engine.test_search import PEOPLE, Room, search

MANY = 1_000_000
APART_MS = 86
"""Milliseconds between two of them: a day."""
QUERY_BYTES = 1_048_576
"""Of a page of a query."""


def size(page: SearchPage) -> int:
    """Return the bytes of a page's item, as DynamoDB counts them."""
    key = keys.search_page(page.namespace, f"{page.place}#{'0' * 16}")
    texts = sum(len(name) + len(value["S"]) for name, value in key.items())
    return texts + len("marks") + len(pack(page.jobs)) + len("ttl") + 6


class Crowd:
    """A million other single messages, delivered and in pages, and one real job among them.

    Attributes:
        queries: of pages, and their bytes.
        listed: queries of jobs.
        looked: jobs that were read because of their marks.
        partitions: that were read.
    """

    def __init__(self, room: Room, real: Job, together: int = 10) -> None:
        """`together`: jobs of a page, which one fold has taken."""
        self._together = together
        self.queries = self.bytes = self.listed = self.looked = 0
        self.partitions: set[str] = set()
        self._room = room
        self._real = real
        self._begin = room.clock.ms - MANY * APART_MS
        self._other = replace(real, state=JobState.LOGGED, counts={**real.counts, "queued": 0, "delivered": 1})
        one = self._page(together - 1)
        self._size = size(one)

    def _place(self, k: int) -> str:
        return f"{self._begin + k * APART_MS:015d}#{k:026d}"

    def _page(self, k: int) -> SearchPage:
        """Return the page whose newest job is the `k`th of ten."""
        jobs = tuple(MarkedJob(f"{i:026d}", i.to_bytes(4, "big")) for i in range(k, k - self._together, -1) if i >= 0)
        return SearchPage(ACCOUNT, self._place(k), jobs, 0)

    def _below(self, place: str) -> int:
        """Return the newest of them at or below a place."""
        k = min(MANY - 1, (int(place[:15]) - self._begin) // APART_MS)
        return k if k < 0 or self._place(k) <= place else k - 1

    # As of `SearchPages`

    def read(self, namespace: str, *, newest: str, oldest: str) -> tuple[list[SearchPage], bool]:
        if namespace != ACCOUNT:
            return [], False
        self.partitions.add(namespace)
        self.queries += 1
        last = self._below(newest)
        last -= (last + 1) % self._together
        pages = [self._page(k) for k in range(last, max(-1, last - self._together * self._per_query), -self._together)]
        pages = [x for x in pages if x.place >= oldest]
        more = len(pages) == self._per_query
        self.bytes += len(pages) * self._size
        mine = page_of(self._real, self._real.marks)
        low = pages[-1].place if more else oldest
        if low <= mine.place <= newest:
            pages = sorted([*pages, mine], key=lambda x: x.place, reverse=True)
        return pages, more

    @property
    def _per_query(self) -> int:
        return QUERY_BYTES // self._size

    def chunks(self, job: str) -> dict[int, bytes]:
        raise AssertionError(f"{job} has its marks itself")

    def begun(self, account: str) -> int | None:
        return 0

    def begin(self, at: int) -> None:
        raise AssertionError("a search begins nothing")

    # As of `JobPages`

    def among(
        self, spaces: Sequence[str], kinds: Sequence[str], *, after: str = "", limit: int
    ) -> tuple[list[Job], str]:
        self.listed += 1
        top = self._below(after)
        top -= self._place(top) == after if top >= 0 else 0
        jobs = [
            replace(self._other, id=f"{k:026d}", created_at=self._begin + k * APART_MS)
            for k in range(top, max(-1, top - limit), -1)
        ]
        if place_of(self._real) < after and (not jobs or place_of(self._real) > place_of(jobs[-1])):
            jobs = sorted([*jobs, self._real], key=place_of, reverse=True)
        return jobs, place_of(jobs[-1]) if jobs else ""

    def places(self, space: str, kind: str, *, after: str, limit: int) -> list[str]:
        return []

    def jobs(self, wanted: Sequence[str]) -> dict[str, Job]:
        self.looked += len(wanted)
        return {x: self._real for x in wanted if x == self._real.id}


def walked(crowd: Crowd, room: Room, wanted: Search) -> tuple[list[str], int, int, int]:
    """Return what a search finds, its requests, and the most queries of pages and of jobs that one of them made."""
    logs = room.search._logs
    made = MessageSearch(Candidates(crowd, crowd, lambda: room.clock.ms), logs)
    place: SearchPlace | None = None
    found: list[str] = []
    requests = most_pages = most_jobs = 0
    reached = room.clock.ms
    while True:
        before = crowd.queries, crowd.listed
        hits, place = made.find(wanted, place)
        found += [x.job.id for x in hits]
        requests += 1
        most_pages, most_jobs = max(most_pages, crowd.queries - before[0]), max(most_jobs, crowd.listed - before[1])
        if place is None:
            return found, requests, most_pages, most_jobs
        assert place.searched_to < reached, "each request gets further"
        reached = place.searched_to


def furnished(together: int = 10) -> tuple[Room, Job, Crowd]:
    room = Room()
    real = room.accept([[PEOPLE[0]]], small=True)
    room.clock.advance(MANY * APART_MS / 1000 * 0.6)
    return room, real, Crowd(room, real, together)


@pytest.mark.slow
@pytest.mark.parametrize(("together", "needed", "queries", "megabytes"), [(10, 4, 32, 33), (1, 12, 118, 123)])
def test_a_person_among_a_million_is_found_in_one_partition_by_bounded_requests(
    together: int, needed: int, queries: int, megabytes: int
) -> None:
    room, real, crowd = furnished(together)
    found, requests, most_pages, most_jobs = walked(crowd, room, search(recipient=PEOPLE[0]))
    assert found == [real.id]
    assert (requests, crowd.queries, crowd.listed, crowd.looked) == (needed, queries, 0, 1)
    assert most_pages <= BUDGET // QUERY
    assert most_jobs == 0
    assert crowd.partitions == {ACCOUNT}
    assert round(crowd.bytes / 1_000_000) == megabytes


@pytest.mark.slow
def test_a_rare_state_in_a_busy_day_looks_into_those_jobs_only_whose_figures_have_it() -> None:
    room, real, crowd = furnished()
    found, requests, _, most_jobs = walked(crowd, room, search(states=frozenset({MessageState.QUEUED})))
    assert found == [real.id]
    assert most_jobs <= BUDGET
    assert requests <= MANY // (BUDGET * JOBS) + 2
    assert requests == 834


def test_an_ended_job_is_looked_into_only_if_its_figures_have_the_state() -> None:
    job = Room().accept([[PEOPLE[0]]])
    figures = {**job.counts, "queued": 0, "bounced": 1}
    failed, queued = (search(states=frozenset({x})) for x in (MessageState.FAILED, MessageState.QUEUED))
    ended = replace(job, state=JobState.LOGGED, counts=figures)
    assert (failed.takes(ended), queued.takes(ended), search().takes(ended)) == (True, False, True)
    going = replace(ended, state=JobState.SENDING)
    assert (failed.takes(going), queued.takes(going)) == (True, True), "its figures are not whole yet"
