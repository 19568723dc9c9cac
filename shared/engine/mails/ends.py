"""The end of mails: the result of each destination is noted, its sender is notified, and the content is removed.

It is asked for by the stream of ledgers, and by looks at finished jobs, which find what the stream has lost. Doing
anything again changes nothing.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.look_ups import LOOKS, next_look
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.runs import SAFE_MS
from shared.domain.jobs.states import Cell, JobState
from shared.domain.mails.destination import fails, has_end, is_pending
from shared.domain.mails.mail import MailState, StoredMail, cleaned
from shared.domain.times import Millis
from shared.engine.mails.reports import MailReporter
from shared.engine.walks.doubts import Asking
from shared.frozen import dataclass
from shared.ports import Clock, MailFigures, MailFiles, Mails, Records

_LOG: Final = logging.getLogger(__name__)

SOON_MS: Final = 60_000
LATE_MS: Final = 3_600_000
"""The next look comes after a sixteenth of the job's age, in these bounds."""
OVERDUE_MS: Final = 3 * 3_600_000
"""A mail should be cleaned so long after its end: a doubt takes up to an hour, and so does the next look."""


@dataclass(frozen=True, slots=True)
class MailCompletion:
    """Ends mails.

    Attributes:
        mails: where they are.
        records: their jobs.
        ledgers: their destinations.
        files: their contents.
        reporter: notifies their senders.
    """

    mails: Mails
    records: Records
    ledgers: LedgerQueue
    files: MailFiles
    reporter: MailReporter

    def tell(self, name: str, some: Sequence[Ledger]) -> int:
        """Note the ends of destinations of one mail, and notify its sender of those that failed; return how many.

        Args:
            some: ledgers of the mail, which may be old.

        Raises:
            Retriable: the store could not be reached; what was noted stays noted.
        """
        pending = [(name, x.chunk) for x in some if is_pending(x)]
        ended = [x for x in self.ledgers.read_these(pending) if is_pending(x)] if pending else []
        failed = [x.chunk for x in ended if fails(x)]
        job = self.records.job(name) if failed else None
        if job is not None:
            self.reporter.report(job, failed)
        for x in ended:
            if not fails(x) or job is None:
                self.ledgers.tell(name, x.chunk, {0: x.cell(0)[0]}, x)
        return len(ended)

    def finish(self, job: Job, *, told: bool = False) -> bool:
        """Remove the content of a mail whose destinations all have their end; False if one has not.

        Args:
            told: those whose end is not noted count as if they had none; else their ends are noted.
        """
        some = self.ledgers.read_all(job.id)
        if not told:
            self.tell(job.id, some)
        if not all(has_end(x) and not (told and is_pending(x)) for x in some):
            return False
        mail = self.mails.get(job.name)
        if mail is None:
            return True
        self.reporter.resume(job, mail)
        return self._clean(mail.id)

    def _clean(self, name: str) -> bool:
        """Remove the content, then note it: a process that dies in between leaves the note to the next one."""
        mail = self.mails.get(name)
        new = cleaned(mail) if mail is not None else None
        if mail is None or new is None:
            return mail is None or not mail.content
        self.files.remove(mail.content)
        return self.mails.change(mail, new)


@dataclass(frozen=True, slots=True)
class MailJobs:
    """The walk of finished jobs of mails.

    Attributes:
        records: the jobs.
        ledgers: their destinations.
        mails: when they expire.
        ends: ends the mails.
        asking: has providers asked about doubts.
        clock: the time.
        figures: counts mails that are late.
    """

    records: Records
    ledgers: LedgerQueue
    mails: Mails
    ends: MailCompletion
    asking: Asking
    clock: Clock
    figures: MailFigures

    def walk(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield the jobs at which to look by now."""
        for name in self.records.mail_jobs(self._now()):
            yield name, partial(self.look, name)

    def look(self, name: str) -> None:
        """Look at one job, and note when to look again: never, once its mail is cleaned."""
        job = self.records.job(name)
        if job is None or job.state is not JobState.LOGGED:
            return
        now = self._now()
        some = self.ledgers.read_all(name)
        doubtful = [x for x in some if x.having(Cell.UNKNOWN)]
        mail = self.mails.get(job.name) if doubtful or now - job.finished_at >= OVERDUE_MS else None
        self._tell_late(mail, job, some, now)
        for x in doubtful:
            self._doubt(job, mail, x, now)
        done = self.ends.finish(job)
        self.records.look_at_run_again(name, None if done else self._next(job, now))

    def _tell_late(self, mail: StoredMail | None, job: Job, some: Sequence[Ledger], now: Millis) -> None:
        """Tell operators of a mail that should have been cleaned hours before."""
        if mail is not None and is_overdue(mail, job, some, now):
            waiting = [x.chunk for x in some if is_pending(x)]
            _LOG.error("mail not cleaned", extra={"mail": mail.id, "job": job.id, "cleanup": waiting[:10]})
            self.figures.late()

    def _doubt(self, job: Job, mail: StoredMail | None, x: Ledger, now: Millis) -> None:
        """Have the provider asked about a destination of unknown fate, or give it up when the mail has expired."""
        if (mail is None or now >= mail.expires_at) and now - x.released_at >= SAFE_MS:
            self.ledgers.close(job.id, x.chunk, [0])
            return
        elapsed, before = (now - job.finished_at) / 1000, (self._last(job, now) - job.finished_at) / 1000
        if any(before < look <= elapsed for look in LOOKS):
            self.asking.about(job, x)

    def _next(self, job: Job, now: Millis) -> Millis:
        """Return when to look again (Unix ms): also when a provider is to be asked next."""
        elapsed = now - job.finished_at
        ask = next_look(elapsed / 1000)
        step = now + self._step(job, now)
        return step if ask is None else min(step, job.finished_at + round(ask * 1000))

    def _last(self, job: Job, now: Millis) -> Millis:
        """Return a time before which the job was last checked."""
        return now - self._step(job, now) if now - job.finished_at > LOOKS[0] * 1000 else job.finished_at

    def _step(self, job: Job, now: Millis) -> Millis:
        return min(LATE_MS, max(SOON_MS, (now - job.finished_at) // 16))

    def _now(self) -> Millis:
        return int(self.clock.now() * 1000)


def is_overdue(mail: StoredMail, job: Job, some: Iterable[Ledger], now: Millis) -> bool:
    """Tell whether a mail should have been cleaned hours before."""
    if mail.state is not MailState.COMMITTED:
        return False
    every = list(some)
    ends = [mail.expires_at, *(x.released_at for x in every if is_pending(x))]
    if all(map(has_end, every)):
        ends.append(max((x.released_at for x in every), default=0))
    return now - max(min(ends), job.finished_at) >= OVERDUE_MS
