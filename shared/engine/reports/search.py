"""Searches all jobs of namespaces for one recipient, newest first: chunks are read; no item names a recipient."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Final, Protocol

from shared.domain.ids import parse_message_id
from shared.domain.jobs.job import Job
from shared.engine.reports.message_log import Filter, LogLine, MessageLog, Position
from shared.frozen import dataclass
from shared.ports import After, Limit

BUDGET: Final = 60
"""Chunks, of 30,000 messages, after which a page ends; it may be empty and still have a next one. One large job that it
has begun then reads as many more at the most."""
JOBS: Final = 20
"""Jobs that are listed at once."""
WAVE: Final = 10
"""Jobs of one chunk that are read side by side."""
Within = tuple[list[LogLine], Position | None, int]
"""Lines of one job, the place in it to continue from, and how many chunks that took."""
Each = Callable[[Callable[[Job], Within], Sequence[Job]], Iterable[Within]]
"""Calls a function for every job, side by side or in turn, and returns the results in order."""


class JobPages(Protocol):
    """Jobs of namespaces, newest first."""

    def among(
        self, spaces: Sequence[str], kinds: Sequence[str], *, after: After = "", limit: Limit
    ) -> tuple[list[Job], str]:
        """Return some jobs, and the place to continue from; empty at the end."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message to the recipient."""

    job: Job
    line: LogLine


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """Where a search continues: after a place of the list of jobs, so many jobs further, at a chunk and an index."""

    after: str = ""
    skip: int = 0
    chunk: int = 0
    index: int = 0


class MessageSearch:
    """Finds messages by their recipient.

    Args:
        logs: reads the results of their messages.
        each: reads small jobs, in turn or side by side.
    """

    def __init__(self, jobs: JobPages, logs: MessageLog, each: Each = map) -> None:
        self._jobs = jobs
        self._logs = logs
        self._each = each

    def find(
        self, spaces: Sequence[str], kinds: Sequence[str], recipient: str, place: SearchPlace, *, limit: int = 50
    ) -> tuple[list[Hit], SearchPlace | None]:
        """Return messages to a recipient, and where to continue; None at the end of the jobs.

        Args:
            spaces: names of the namespaces whose jobs are searched.
            recipient: a normalised key.
            place: where the page before ended.
            limit: of messages.
        """
        hits: list[Hit] = []
        left = BUDGET
        while left > 0:
            jobs, after = self._jobs.among(spaces, kinds, after=place.after, limit=JOBS)
            for number, (found, rest, read) in self._looked(jobs, recipient, place, limit):
                more = _more(found, limit - len(hits)) or rest
                hits += [Hit(jobs[number], line) for line in found[: limit - len(hits)]]
                left -= read
                if more is not None:
                    return hits, SearchPlace(place.after, number, *more)
                if len(hits) == limit or left <= 0:
                    return hits, _next(place.after, number, jobs, after)
            if not after:
                return hits, None
            place = SearchPlace(after)
        return hits, place

    def _looked(
        self, jobs: Sequence[Job], recipient: str, place: SearchPlace, limit: int
    ) -> Iterator[tuple[int, Within]]:
        """Yield the number of each job with what is found in it, in order.

        Args:
            recipient: a normalised key.
            place: where the search continues in them.
            limit: of lines of one job.
        """
        number = place.skip
        while number < len(jobs):
            start = (place.chunk, place.index) if number == place.skip else (0, 0)
            wave = _wave(jobs[number:], begun=start != (0, 0))
            found = self._each(partial(self._within, recipient=recipient, start=start, limit=limit), wave)
            yield from enumerate(found, number)
            number += len(wave)

    def _within(self, job: Job, *, recipient: str, start: Position, limit: int) -> Within:
        """Return lines of one job.

        Args:
            recipient: a normalised key.
            start: where to begin in it.
            limit: of lines.
        """
        found: list[LogLine] = []
        wanted = Filter(recipient=recipient)
        at: Position | None = start
        read = 0
        while at is not None and len(found) < limit and read < BUDGET:
            begun = at[0]
            some, at = self._logs.lines(job, wanted, start=at, limit=limit - len(found))
            found += some
            read += max(1, (job.chunks if at is None else at[0]) - begun)
        return found, at, read


def _wave(jobs: Sequence[Job], *, begun: bool) -> Sequence[Job]:
    """Return the jobs that are read side by side: the first ones of one chunk, or one that is larger or begun."""
    small = list(takewhile(lambda job: job.chunks <= 1, jobs[:WAVE]))
    return jobs[:1] if begun or not small else small


def _more(found: Sequence[LogLine], room: int) -> Position | None:
    """Return where to continue in a job of which more was found than there is room for; None: all fits."""
    if len(found) <= room:
        return None
    last = parse_message_id(found[room - 1].message)
    if last is None:
        raise ValueError("a line without a message's id")
    return last[0], last[1] + 1


def _next(after: str, number: int, jobs: Sequence[Job], more: str) -> SearchPlace | None:
    """Return the place behind a job of a page of jobs."""
    if number + 1 < len(jobs):
        return SearchPlace(after, number + 1)
    return SearchPlace(more) if more else None
