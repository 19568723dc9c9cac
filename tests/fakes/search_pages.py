"""`ports.SearchPages` in memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.searching.marks import SearchPage, is_inside, marks_of, marks_to, page_of, pages_of, place_of
from shared.domain.times import Millis
from tests.fakes.faults import Tap


class FakeSearchPages:
    """Pages, which the fake records write. `off`: accounts without pages; `queries`: how many were made.

    `most`: pages that one query returns.
    """

    def __init__(self, tap: Tap) -> None:
        self.pages: dict[tuple[str, str], SearchPage] = {}
        self.off: set[str] = set()
        self.queries = 0
        self.most = 100
        self._chunks: dict[str, dict[int, bytes]] = {}
        self._begun: Millis | None = None
        self._tap = tap

    def accepted(self, job: Job, chunks: Iterable[Chunk], ledgers: Iterable[Ledger]) -> None:
        """Keep what a new job is found by that no fold puts into a page."""
        if job.unsearched or any(x.uncounted for x in ledgers):
            return
        each = {x.number: marks_to(job.namespace, (r.key for r in x.recipients)) for x in chunks}
        inside = is_inside(job)
        self._chunks |= {} if inside else {job.id: each}
        marks = marks_of(job.namespace, job.labels) + (b"".join(each.values()) if inside else b"")
        self._keep([page_of(job, marks, apart=not inside)])

    def folded(self, jobs: Iterable[Job]) -> None:
        """Keep pages of small jobs."""
        self._keep(pages_of(jobs))

    def keep(self, job: Job, until: int) -> None:
        """Keep the page of a job longer; one that others share stays as it is, and the job gets its own."""
        if job.marks:
            self._keep(pages_of([replace(job, ttl=until)]))
        elif (name := (job.namespace, place_of(job))) in self.pages:
            self.pages[name] = replace(self.pages[name], ttl=until)

    def _keep(self, pages: Iterable[SearchPage]) -> None:
        self.pages |= {(x.namespace, x.place): x for x in pages}

    def read(self, namespace: str, *, newest: str, oldest: str) -> tuple[list[SearchPage], bool]:
        def make() -> tuple[list[SearchPage], bool]:
            self.queries += 1
            there = sorted(p for n, p in self.pages if n == namespace and oldest <= p <= newest)
            return [self.pages[namespace, p] for p in there[: -self.most - 1 : -1]], len(there) > self.most

        return self._tap("search_pages.read", make)

    def chunks(self, job: str) -> Mapping[int, bytes]:
        return self._tap("search_pages.chunks", lambda: dict(self._chunks.get(job, {})))

    def begun(self, account: str) -> Millis | None:
        return None if account in self.off else self._begun

    def begin(self, at: Millis) -> None:
        self._begun = at if self._begun is None else self._begun


class FakeJobPages:
    """Jobs of fake records by their places, as the index `mine` lists them. `read`: how many were read by id."""

    def __init__(self, jobs: Mapping[str, Job]) -> None:
        self._jobs = jobs
        self.read = 0

    def among(
        self, spaces: Sequence[str], kinds: Sequence[str], *, after: str = "", limit: int
    ) -> tuple[list[Job], str]:
        there = sorted(
            (x for x in self._jobs.values() if x.namespace in spaces and x.kind in kinds), key=place_of, reverse=True
        )
        left = [x for x in there if not after or place_of(x) < after]
        return left[:limit], place_of(left[limit - 1]) if len(left) > limit else ""

    def places(self, space: str, kind: str, *, after: str, limit: int) -> list[str]:
        return [place_of(x) for x in self.among([space], [kind], after=after, limit=limit)[0]]

    def jobs(self, wanted: Sequence[str]) -> dict[str, Job]:
        self.read += len(wanted)
        return {x: self._jobs[x] for x in wanted if x in self._jobs}
