"""Finds messages of an account by recipient, reference, tag, day, state or credential, newest first."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, Protocol

from shared.domain.ids import parse_message_id
from shared.domain.jobs.job import Job
from shared.domain.searching.marks import place_of
from shared.domain.times import Millis
from shared.engine.reports.candidates import BUDGET, LAST, Budget, Candidate, Candidates, Search, Step
from shared.engine.reports.message_log import LogLine, MessageLog, Position
from shared.frozen import dataclass

WAVE: Final = 10
"""Jobs of one chunk that are read side by side."""
PAST: Final = 99_999
"""A chunk that no job has."""
Within = tuple[list[LogLine], Position | None, int]
"""Lines of one job, the place in it to continue from, and how many chunks that took."""


class Each(Protocol):
    """Calls a function for every candidate, side by side or in turn, and returns the results in order."""

    def __call__(self, fn: Callable[[Candidate], Within], each: Sequence[Candidate], /) -> Iterable[Within]:
        """Make the calls."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found."""

    job: Job
    line: LogLine


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """Where a search continues: in a job (`created_at#job`), from a chunk and an index on, then with older jobs.

    A chunk that no job has: the job was seen.
    """

    job: str = LAST
    chunk: int = PAST
    index: int = 0

    @property
    def text(self) -> str:
        """Itself as `read` reads it."""
        return f"{self.job} {self.chunk} {self.index}"

    @classmethod
    def read(cls, text: str) -> "SearchPlace | None":
        """Return the place in a text; None for an empty one.

        Raises:
            ValueError: it has another form.
        """
        if not text:
            return None
        job, chunk, index = text.split(" ")
        return cls(job, int(chunk), int(index))

    @property
    def searched_to(self) -> Millis:
        """When the job was accepted that the search has reached, Unix milliseconds."""
        return int(self.job.partition("#")[0])

    @property
    def before(self) -> str:
        """The place that all are before where it continues."""
        return self.job if self.chunk == PAST else f"{self.job}~"


class _Found:
    """A page of results. `place`: where the next one begins, once a job was taken."""

    def __init__(self, limit: int) -> None:
        self.hits: list[Hit] = []
        self.place: SearchPlace | None = None
        self._limit = limit

    @property
    def room(self) -> int:
        """How many messages are still wanted."""
        return self._limit - len(self.hits)

    def takes(self, job: Job, within: Within) -> bool:
        """Take what was found in a job; tell whether the page is full, or more of the job is left."""
        lines, rest, _ = within
        more = _more(lines, self.room) or rest
        self.hits += [Hit(job, line) for line in lines[: self.room]]
        self.place = SearchPlace(place_of(job), *(more or (PAST, 0)))
        return more is not None or not self.room


class MessageSearch:
    """Finds messages.

    Args:
        candidates: the jobs to look into.
        logs: reads the results of their messages.
        each: reads small jobs, in turn or side by side.
    """

    def __init__(self, candidates: Candidates, logs: MessageLog, each: Each = map) -> None:
        self._candidates = candidates
        self._logs = logs
        self._each = each

    def find(
        self, search: Search, start: SearchPlace | None = None, *, limit: int = 50
    ) -> tuple[list[Hit], SearchPlace | None]:
        """Return messages, newest first, and where to continue; None at the end.

        Args:
            start: where the page before ended.
            limit: of messages.
        """
        start, budget, found = start or SearchPlace(), Budget(), _Found(limit)
        steps = self._candidates.walk(search, start.before, budget)
        look = partial(self._within, search=search, start=start, limit=limit)
        for wave, last in _waves(steps, start, lambda: found.room):
            for candidate, within in zip(wave, self._each(look, wave), strict=True):
                budget.spend(within[2])
                if found.takes(candidate.job, within):
                    return found.hits, found.place
            if last is not None or budget.spent:
                return found.hits, last or found.place
        return found.hits, None

    def _within(self, candidate: Candidate, *, search: Search, start: SearchPlace, limit: int) -> Within:
        """Return lines of one job.

        Args:
            start: where the search continues, perhaps in this job.
            limit: of lines.
        """
        begun = start.job == place_of(candidate.job)
        found: list[LogLine] = []
        read = 0
        for first, end in _ranges(candidate, (start.chunk, start.index) if begun else (0, 0)):
            at: Position | None = first
            while at is not None and at[0] < end:
                if len(found) == limit or read >= BUDGET:
                    return found, at, read
                before = at[0]
                some, at = self._logs.lines(candidate.job, search.wanted, start=at, limit=limit - len(found), end=end)
                found += some
                read += max(1, (end if at is None else at[0]) - before)
        return found, None, max(1, read)


def _ranges(candidate: Candidate, start: Position) -> Iterator[tuple[Position, int]]:
    """Yield where to look in a job: a first place, and the chunk to end before."""
    if candidate.chunks is None:
        yield start, candidate.job.chunks
        return
    for chunk in candidate.chunks:
        if chunk >= start[0]:
            yield max(start, (chunk, 0)), chunk + 1


def _waves(
    steps: Iterable[Step], start: SearchPlace, room: Callable[[], int]
) -> Iterator[tuple[Sequence[Candidate], SearchPlace | None]]:
    """Yield candidates that are read side by side, and where to continue after them if the budget is spent.

    These are some of one chunk, or one that is larger or begun.

    Args:
        room: how many messages are still wanted.
    """
    wave: list[Candidate] = []
    for place, candidate in steps:
        if candidate is None:
            yield wave, SearchPlace(place)
            return
        alone = candidate.job.chunks > 1 or place == start.job
        if alone and wave:
            yield wave, None
            wave = []
        wave.append(candidate)
        if alone or len(wave) >= min(WAVE, room()):
            yield wave, None
            wave = []
    if wave:
        yield wave, None


def _more(found: Sequence[LogLine], room: int) -> Position | None:
    """Return where to continue in a job of which more was found than there is room for; None: all fits."""
    if len(found) <= room:
        return None
    last = parse_message_id(found[room - 1].message)
    if last is None:
        raise ValueError("a line without a message's id")
    return last[0], last[1] + 1
