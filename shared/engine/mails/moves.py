"""An owner's actions on a destination that waits: show it, drop it, or send it at another time."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.jobs.chunks import Chunk
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import Cell
from shared.domain.mails.destination import MailDestination, destination, waits
from shared.domain.mails.mail import StoredMail, host_of
from shared.domain.times import Millis
from shared.engine.lane.recovery import Recovery
from shared.engine.reports.attempts import detail_of
from shared.engine.reports.message_log import MessageLog
from shared.frozen import dataclass
from shared.ports import Clock, Journal, Records

EachShown = Callable[
    [Callable[[tuple[Ledger, Chunk]], MailDestination], Sequence[tuple[Ledger, Chunk]]], Iterable[MailDestination]
]
"""Calls a function for each of some destinations, in turn or side by side, and returns the results in order."""
RACES: Final = 5
"""Times that a destination is moved anew while others move it."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """The destination does not wait: it is being sent, or has its end."""


@dataclass(frozen=True, slots=True)
class MailMoves:
    """Shows and moves destinations.

    Attributes:
        records: their jobs and chunks.
        ledgers: their states.
        recovery: sends pointers.
        logs: the attempts of each, by provider.
        journal: the audit log; an entry is written after its change.
        clock: the time of an entry.
    """

    records: Records
    ledgers: LedgerQueue
    recovery: Recovery
    logs: MessageLog
    journal: Journal
    clock: Clock

    def show(self, mail: StoredMail, first: int, count: int, *, each: EachShown = map) -> Sequence[MailDestination]:
        """Return destinations of a mail, in their order; none before it is committed, or when there is no job any more.

        Args:
            first: number of the first one, from 0.
            count: the most to return.
            each: reads the attempts of those that were tried, in turn or side by side.
        """
        job = self._job(mail)
        if job is None:
            return []
        found = self.ledgers.read_some(job.id, first, count)
        chunks = self.records.some_chunks(job.id, [x.chunk for x in found])
        there = [(x, chunks[x.chunk]) for x in found if x.chunk in chunks]
        return list(each(lambda place: self._line(job, *place), there))

    def drop(self, mail: StoredMail, key: str, *, by: str = SYSTEM) -> MailDestination | InFlight | None:
        """Take a destination out that waits; one that is dropped already stays so.

        Args:
            key: the destination's normalised address.

        Returns:
            The destination as it is then. None: the mail has no such destination.
        """
        job, found = self._job(mail), self._find(mail, key)
        if job is None or found is None:
            return None
        dropped = self.ledgers.drop(mail.job, found.chunk, [0], Cell.WITHDRAWN)
        if dropped is None or not dropped.having(Cell.WITHDRAWN):
            return InFlight()
        if not found.having(Cell.WITHDRAWN):
            self._note(mail, Act.MAIL_DROPPED, by)
        return self._shown(job, dropped)

    def reschedule(
        self, mail: StoredMail, key: str, at: Millis, *, by: str = SYSTEM
    ) -> MailDestination | InFlight | None:
        """Have a destination that waits sent at another time.

        Args:
            key: the destination's normalised address.
            at: Unix milliseconds, before the mail expires.

        Returns:
            The destination as it is then. None: the mail has no such destination.
        """
        job, found = self._job(mail), self._find(mail, key)
        if job is None or found is None:
            return None
        for _ in range(RACES):
            if not waits(found):
                return InFlight()
            moved = self.ledgers.reschedule(mail.job, found.chunk, not_before=at, lane=found.lane, at=found.not_before)
            if moved is None or not waits(moved):
                return InFlight()
            if moved.not_before == at:
                self.recovery.point(job, moved)  # the pointer before may be delayed until the former time
                if found.not_before != at:
                    self._note(mail, Act.MAIL_HURRIED, by)
                return self._shown(job, moved)
            found = moved
        return InFlight()

    def _note(self, mail: StoredMail, act: Act, by: str) -> None:
        now = int(self.clock.now() * 1000)
        self.journal.write(audited(mail.namespace, now, mail.id, act, by))

    def _job(self, mail: StoredMail) -> Job | None:
        """Return the job of a mail; None before it is committed, and when the job no longer exists."""
        return self.records.job(mail.job) if mail.job else None

    def _find(self, mail: StoredMail, key: str) -> Ledger | None:
        """Return the ledger of a destination. Only chunks of its domain are read."""
        for n in mail.at_host(host_of(key)):
            chunk = self.records.chunk(mail.job, n)
            if chunk is not None and chunk.recipients[0].key == key:
                return self.ledgers.read(mail.job, n)
        return None

    def _shown(self, job: Job, x: Ledger) -> MailDestination | None:
        chunk = self.records.chunk(x.job, x.chunk)
        return self._line(job, x, chunk) if chunk is not None else None

    def _line(self, job: Job, x: Ledger, chunk: Chunk) -> MailDestination:
        line = self.logs.only(job, chunk, x)
        last = line.attempts[-1] if line.attempts else None
        names = dict(zip(job.route, job.providers, strict=True))
        error = line.error or (last.code if last is not None and waits(x) else "")
        provider = names.get(last.credential_id, "") if last is not None else ""
        one = chunk.recipients[0]
        said = detail_of(line.attempts, one.address) if error else ""
        return destination(x, one, provider=provider, error=error, error_detail=said)
