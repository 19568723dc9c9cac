"""Where a search looks: jobs in which a wanted message may be, newest first. Source: docs/adr/0260.

Three sources, by time. The last minutes: small jobs of which no fold has made a page yet. From the moment on since when
all jobs are in pages: those whose marks match. Before that, or without anything that has a mark: each job.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import field
from operator import itemgetter
from typing import Final, Protocol

from shared.domain.ids import is_small
from shared.domain.jobs.job import BATCH, Job, public_counts
from shared.domain.jobs.states import JobState
from shared.domain.namespaces import TEST
from shared.domain.searching.marks import SPAN_MS, MarkedJob, SearchPage, Sought, mark, marked, place_of
from shared.domain.times import Millis
from shared.engine.reports.message_log import Filter
from shared.frozen import dataclass
from shared.ports import After, Limit, SearchPages

LATELY_MS: Final[Millis] = 300_000
"""Small jobs that were accepted so lately may be in no page yet. The sweeper has each folded within 80 s."""
BUDGET: Final = 60
"""The most that a page of results costs, in chunks that are read; it may be empty and still have a next one."""
QUERY: Final = 6
"""The cost of a query that reads a megabyte."""
CHUNKS: Final = 500
"""Chunks whose marks are a megabyte."""
JOBS: Final = 20
"""Jobs that are listed at once."""
PLACES: Final = 5_000
"""Places of jobs that are listed at once."""
LAST: Final = "9" * 15


class JobPages(Protocol):
    """Jobs of namespaces, newest first; a moment old. A place is `created_at#job`."""

    def among(
        self, spaces: Sequence[str], kinds: Sequence[str], *, after: After = "", limit: Limit
    ) -> tuple[list[Job], str]:
        """Return some jobs, and the place to continue from; empty at the end."""

    def places(self, space: str, kind: str, *, after: After, limit: Limit) -> list[str]:
        """Return some places before another one."""

    def jobs(self, wanted: Sequence[str]) -> dict[str, Job]:
        """Return those of some jobs that are still there, by id."""


@dataclass(frozen=True, slots=True)
class Search:
    """Which messages are wanted.

    Attributes:
        spaces: namespaces whose jobs are searched; all of one account.
        kinds: of the jobs.
        wanted: which messages of a job; its recipient is a normalised key.
        reference: of the message's job; empty: any.
        tag: of the message's job; empty: any.
        since: Unix milliseconds; its job was accepted then or later.
        until: Unix milliseconds; its job was accepted before. 0: at any time.
    """

    spaces: Sequence[str]
    kinds: Sequence[str]
    wanted: Filter = field(default_factory=Filter)
    reference: str = ""
    tag: str = ""
    since: Millis = 0
    until: Millis = 0

    def takes(self, job: Job) -> bool:
        """Tell whether messages of a job may be wanted."""
        named = self.reference in ("", job.labels.reference) and (not self.tag or self.tag in job.labels.tags)
        within = self.since <= job.created_at and (not self.until or job.created_at < self.until)
        known = job.kind in self.kinds and job.namespace in self.spaces
        return named and within and known and self._may_have_states(job)

    def _may_have_states(self, job: Job) -> bool:
        """Tell whether a job has messages in a wanted state, by its figures. They are whole once it is LOGGED."""
        if not self.wanted.states or job.state is not JobState.LOGGED:
            return True
        counts = public_counts(job.counts)
        return any(counts[state.value] for state in self.wanted.states)

    def sought(self, space: str) -> bytes:
        """Return the mark to look for in a namespace: of what is likely the rarest; empty if nothing has one."""
        each = ((Sought.RECIPIENT, self.wanted.recipient), (Sought.REFERENCE, self.reference), (Sought.TAG, self.tag))
        return next((mark(space, what, text) for what, text in each if text), b"")

    @property
    def by_recipient(self) -> bool:
        """Tell whether the mark is a recipient's: then the chunks' marks say in which of them to look."""
        return bool(self.wanted.recipient)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job to look into. `chunks`: only these, in order; None: all."""

    job: Job
    chunks: Sequence[int] | None = None


class Budget:
    """The part of its cost that a page of results has left."""

    def __init__(self) -> None:
        self._left = BUDGET

    def spend(self, cost: int) -> None:
        """Note a cost."""
        self._left -= cost

    @property
    def spent(self) -> bool:
        """Tell whether nothing is left."""
        return self._left <= 0


Step = tuple[str, Candidate | None]
"""A place, and the candidate there. None: the budget is spent, and all candidates from there on came before."""


class Candidates:
    """The candidates of searches, in order."""

    def __init__(self, jobs: JobPages, pages: SearchPages, now: Callable[[], Millis]) -> None:
        self._jobs = jobs
        self._pages = pages
        self._now = now

    def walk(self, search: Search, before: str, budget: Budget) -> Iterator[Step]:
        """Yield candidates, newest first, each once; a step without one is the last.

        Args:
            before: only places before this one; LAST for all.
        """
        if search.until:
            before = min(before, f"{search.until:015d}")
        begun = self._pages.begun(search.spaces[0]) if search.sought(search.spaces[0]) else None
        if begun is None:
            yield from self._listed(search, before, budget)
            return
        oldest = f"{max(begun, search.since):015d}"
        if oldest < before:
            parts = [_Paged(self, search, x, budget).walk(before, oldest) for x in search.spaces]
            for step in heapq.merge(*parts, key=itemgetter(0), reverse=True):
                yield step
                if step[1] is None:
                    return
        if search.since < begun:
            yield from self._listed(search, min(oldest, before), budget)

    def _listed(self, search: Search, after: str, budget: Budget) -> Iterator[Step]:
        """Yield each job before a place that may have wanted messages."""
        while after:
            if budget.spent:
                yield after, None
                return
            budget.spend(1)
            jobs, after = self._jobs.among(search.spaces, search.kinds, after=after, limit=JOBS)
            for job in jobs:
                if job.created_at < search.since:
                    return
                if search.takes(job):
                    yield place_of(job), Candidate(job)

    def lately(self, search: Search, space: str, before: str, budget: Budget) -> tuple[list[str], str]:
        """Return places of small jobs that may be in no page yet, and the place that the list ends before.

        That is empty if the list is whole.
        """
        after, end, found = before, f"{self._now() - LATELY_MS:015d}", list[str]()
        while after > end and BATCH in search.kinds and not space.endswith(TEST):
            some = self._jobs.places(space, BATCH, after=after, limit=PLACES)
            found += (x for x in some if x > end and is_small(x))
            if len(some) < PLACES:
                break
            after = some[-1]
            budget.spend(1)
            if budget.spent:
                return found, after
        return found, ""

    def pages(self, space: str, newest: str, oldest: str) -> tuple[list[SearchPage], bool]:
        """Return pages, newest first, and whether there are more."""
        return self._pages.read(space, newest=newest, oldest=oldest)

    def jobs(self, search: Search, ids: Collection[str], sought: bytes) -> Iterator[Job]:
        """Yield those of some jobs that are there, and may have wanted messages."""
        for job in self._jobs.jobs([*ids]).values() if ids else ():
            if search.takes(job) and (not job.marks or marked(job.marks, sought)):
                yield job

    def narrowed(self, job: Job, sought: bytes, budget: Budget) -> Sequence[int]:
        """Return the chunks of a job whose marks match, or that have none."""
        marks = self._pages.chunks(job.id)
        budget.spend(len(marks) * QUERY // CHUNKS)
        return [i for i in range(job.chunks) if i not in marks or marked(marks[i], sought)]


class _Paged:
    """The candidates of one namespace by its pages, and of those small jobs that are in none yet."""

    def __init__(self, of: Candidates, search: Search, space: str, budget: Budget) -> None:
        self._of = of
        self._search = search
        self._space = space
        self._budget = budget
        self._sought = search.sought(space)
        self._waiting: dict[str, Job] = {}
        """Found, and not yielded yet, by their places."""
        self._paged: set[str] = set()
        self._found: dict[str, bool] = {}
        """Jobs of pages that match, not looked at yet, and whether their chunks have marks of their own."""
        self._apart: set[str] = set()
        """Jobs whose chunks have marks of their own."""

    def walk(self, before: str, oldest: str) -> Iterator[Step]:
        """Yield candidates before a place, down to another one, newest first."""
        small, cut = self._of.lately(self._search, self._space, before, self._budget)
        oldest = max(oldest, cut)
        for known, unpaged in self._read(before, oldest, small):
            self._look(unpaged)
            yield from self._due(before, known)
            if known > oldest and self._budget.spent and known < before:  # else the next would begin where this one did
                yield known, None
                return
        if cut:
            yield cut, None

    def _read(self, before: str, oldest: str, small: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
        """Read pages; yield the place down to which all is known then, and the small jobs down to there.

        Args:
            small: places of jobs that may be in none, newest first.
        """
        newest, more = f"{min(int(before[:15]) + SPAN_MS, int(LAST)):015d}~", True
        while more:
            self._budget.spend(QUERY)
            pages, more = self._of.pages(self._space, newest, oldest)
            self._take(x for page in pages for x in page.jobs)
            known = pages[-1].newest if more else oldest
            due = [x for x in small if x >= known]
            small = small[len(due) :]
            yield known, [x.partition("#")[2] for x in due]
            newest = pages[-1].place[:-1] if more else newest

    def _take(self, jobs: Iterable[MarkedJob]) -> None:
        """Note the jobs of pages."""
        for x in jobs:
            self._paged.add(x.job)
            if self._may_have(x):
                self._found[x.job] = x.apart

    def _look(self, unpaged: Sequence[str]) -> None:
        """Note the jobs of pages that match, and of some others those that are in no page."""
        ids = {*self._found, *(x for x in unpaged if x not in self._paged)}
        self._apart |= {name for name, apart in self._found.items() if apart}
        self._found = {}
        for job in self._of.jobs(self._search, ids, self._sought):
            self._waiting[place_of(job)] = job

    def _may_have(self, x: MarkedJob) -> bool:
        return marked(x.marks, self._sought) or (x.apart and self._search.by_recipient)

    def _due(self, before: str, known: str) -> Iterator[Step]:
        """Yield what was found down to a place, as nothing else can be found there."""
        for place in sorted((x for x in self._waiting if x >= known), reverse=True):
            job = self._waiting.pop(place)
            if place >= before:
                continue
            apart = job.id in self._apart and self._search.by_recipient
            chunks = self._of.narrowed(job, self._sought, self._budget) if apart else None
            if chunks != []:
                yield place, Candidate(job, chunks)
