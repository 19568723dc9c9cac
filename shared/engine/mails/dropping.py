"""Dropping what waits of many mails at once, for operators who end what a leaked key has begun."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from shared.domain.audit import Act, audited
from shared.domain.jobs.job import Job
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import Cell
from shared.domain.mails.destination import waits
from shared.engine.pool import Pool
from shared.ports import Clock, Journal

WIDTH: Final = 8
"""Calls side by side."""
T = TypeVar("T")
V = TypeVar("V")


class WaitingMails:
    """Drops the destinations of mails that wait; a mail's job cannot be stopped.

    Args:
        pool: makes calls side by side.
        clock: the time of the entries.
    """

    def __init__(self, *, ledgers: LedgerQueue, journal: Journal, pool: Callable[[int], Pool], clock: Clock) -> None:
        self._ledgers = ledgers
        self._journal = journal
        self._pool = pool
        self._clock = clock

    def drop(self, jobs: Sequence[Job], *, by: str, data: Mapping[str, str]) -> list[Job]:
        """Drop what waits of some mails, and return those of which something was dropped.

        Reads all of them, then writes their entries of the audit log, then drops: three rounds, however many mails
        and destinations there are. A process that dies before the last one has dropped nothing that no entry names.
        """
        read = zip(jobs, self._each(self._waiting, jobs), strict=True)
        found = [(job, chunks) for job, chunks in read if chunks]
        self._each(lambda x: self._note(x[0], len(x[1]), by, data), found)
        places = [(job, chunk) for job, chunks in found for chunk in chunks]
        dropped = self._each(self._drop, places)
        return list({job.id: job for (job, _), done in zip(places, dropped, strict=True) if done}.values())

    def _waiting(self, job: Job) -> list[int]:
        return [x.chunk for x in self._ledgers.read_all(job.id) if waits(x)]

    def _note(self, job: Job, destinations: int, by: str, data: Mapping[str, str]) -> None:
        now = int(self._clock.now() * 1000)
        told: dict[str, str | int] = {**data, "destinations": destinations}
        self._journal.write(audited(job.namespace, now, job.name, Act.MAIL_DROPPED, by, told))

    def _drop(self, place: tuple[Job, int]) -> bool:
        job, chunk = place
        found = self._ledgers.drop(job.id, chunk, [0], Cell.WITHDRAWN)
        return found is not None and bool(found.having(Cell.WITHDRAWN))

    def _each(self, fn: Callable[[T], V], things: Iterable[T]) -> list[V]:
        """Call something with each of some things, `WIDTH` at once, and return the results in their order."""
        with self._pool(WIDTH) as pool:
            calls = [pool.submit(fn, x) for x in things]
            return [call.result() for call in calls]
