"""Searches all jobs of an account for one recipient, newest first: chunks are read; no item names a recipient."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from shared.domain.jobs.job import Job
from shared.engine.reports.message_log import Filter, LogLine, MessageLog, Position

BUDGET: Final = 60
"""Chunks that one page reads at the most, 30,000 messages; it may be empty and still have a next one."""
JOBS: Final = 20
"""Jobs that are listed at once."""


class JobPages(Protocol):
    """An account's jobs, newest first."""

    def page(
        self, account: str, kinds: Sequence[str], *, tests_only: bool = False, after: str = "", limit: int
    ) -> tuple[list[Job], str]:
        """Return some jobs, and the place to go on from; empty at the end.

        Args:
            account: whose.
            kinds: of which kinds.
            tests_only: those of test keys alone.
            after: what the page before returned, or empty.
            limit: at least 1.
        """
        ...


@dataclass(frozen=True, slots=True)
class Hit:
    """A message to the recipient."""

    job: Job
    line: LogLine


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """Where a search goes on: after a place of the list of jobs, so many jobs further, at a chunk and an index."""

    after: str = ""
    skip: int = 0
    chunk: int = 0
    index: int = 0


class MessageSearch:
    """Finds messages by their recipient."""

    def __init__(self, jobs: JobPages, logs: MessageLog) -> None:
        self._jobs = jobs
        self._logs = logs

    def find(
        self, account: str, kinds: Sequence[str], recipient: str, place: SearchPlace, *, limit: int = 50
    ) -> tuple[list[Hit], SearchPlace | None]:
        """Return messages to a recipient, and where to go on; None at the end of the account's jobs.

        Args:
            account: whose jobs.
            kinds: of which kinds.
            recipient: a normalised key.
            place: where the page before ended.
            limit: of messages.
        """
        hits: list[Hit] = []
        left = BUDGET
        while left > 0:
            jobs, after = self._jobs.page(account, kinds, after=place.after, limit=JOBS)
            for number, job in enumerate(jobs[place.skip :], place.skip):
                start = (place.chunk, place.index) if number == place.skip else (0, 0)
                found, rest, read = self._within(job, recipient, start, limit - len(hits), left)
                hits += [Hit(job, line) for line in found]
                left -= read
                if rest is not None:
                    return hits, SearchPlace(place.after, number, *rest)
                if len(hits) == limit or left <= 0:
                    return hits, _next(place.after, number, jobs, after)
            if not after:
                return hits, None
            place = SearchPlace(after)
        return hits, place

    def _within(
        self, job: Job, recipient: str, start: Position, limit: int, budget: int
    ) -> tuple[list[LogLine], Position | None, int]:
        """Return lines of one job, where to go on in it, and how many chunks that took."""
        found: list[LogLine] = []
        wanted = Filter(recipient=recipient)
        at: Position | None = start
        read = 0
        while at is not None and len(found) < limit and read < budget:
            begun = at[0]
            some, at = self._logs.lines(job, wanted, start=at, limit=limit - len(found))
            found += some
            read += max(1, (job.chunks if at is None else at[0]) - begun)
        return found, at, read


def _next(after: str, number: int, jobs: Sequence[Job], more: str) -> SearchPlace | None:
    """Return the place behind a job of a page of jobs."""
    if number + 1 < len(jobs):
        return SearchPlace(after, number + 1)
    return SearchPlace(more) if more else None
