"""Notifications of mails that were not delivered: each is a mail of its own, and no destination is in two of them.

First the mail notes for which destinations a notification is being made. Then the notification is queued under a key
of its number, and its destinations are noted as cleaned up. A process that dies in between leaves all that the next one
needs to continue.
"""

from collections.abc import Sequence
from typing import Final

from shared.contracts import MAIL_CONTENTS
from shared.domain.audit import SYSTEM
from shared.domain.content.content import Content, Finished, Mailbox
from shared.domain.ids import new_id
from shared.domain.jobs.job import Job
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.mails.destination import fails, is_pending
from shared.domain.mails.mail import StoredMail, begin_report, end_report, opened
from shared.domain.mails.queue import MailSchedule, NewDestination
from shared.domain.mails.report import MAX_HEADER, FailedDestination, ReportedMail, notification
from shared.domain.times import KEY_LIFE_MS
from shared.engine.mails.queueing import MailQueuer, OutgoingMail
from shared.engine.reports.attempts import attempts_of, detail_of, last_refusal, skipped_early
from shared.frozen import dataclass
from shared.ports import Clock, FileChanged, Idempotency, MailFigures, MailFiles, Mails, Records, Retriable

RACES: Final = 10
"""Compare-and-swaps of one mail that others write meanwhile."""
_END: Final = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class MailReporter:
    """Notifies the senders of mails.

    Attributes:
        mails: where they are.
        records: which destination is in which chunk, and what refused it.
        ledgers: the state of each destination.
        files: the mails' bytes.
        queuer: queues the notifications.
        clock: the time.
        figures: counts notifications.
    """

    mails: Mails
    records: Records
    ledgers: LedgerQueue
    files: MailFiles
    queuer: MailQueuer
    clock: Clock
    figures: MailFigures

    def report(self, job: Job, failed: Sequence[int]) -> None:
        """Notify the sender of destinations that failed, and note them as cleaned up.

        Args:
            failed: numbers of destinations that have an end which is not noted.

        Raises:
            Retriable: the store could not be reached, or others write the mail all the time.
        """
        for _ in range(RACES):
            mail = self.mails.get(job.name)
            if mail is None or not mail.mail_from:
                self._note(job, failed)
                if mail is not None:
                    self.figures.given_up(len(failed))
                return
            if mail.reporting:
                self._finish(job, mail)
                continue
            # Read after the mail: had another process noted one of them since, the mail would be another version.
            new = begin_report(mail, self._pending(job, failed))
            if new is None:
                return
            if self.mails.change(mail, new):
                self._finish(job, new)
                return
        raise Retriable("others write the mail all the time")

    def resume(self, job: Job, mail: StoredMail) -> None:
        """Finish a notification that another process has begun, if there is one."""
        if mail.reporting:
            self._finish(job, mail)

    def _finish(self, job: Job, mail: StoredMail) -> None:
        """Queue the notification that a mail names, once, and note its destinations."""
        self._send(job, mail)
        self._note(job, mail.reporting)
        self.mails.change(mail, end_report(mail))  # if another process was faster, it has done the same

    def _send(self, job: Job, mail: StoredMail) -> None:
        now = int(self.clock.now() * 1000)
        failures = self._failures(job, mail.reporting)
        if not failures:
            return  # the job's items have reached the end of their retention
        name = new_id(now)
        header = self._header(job)
        reported = ReportedMail(mail.id, job.sender, mail.mail_from, mail.created_at, header)
        finished = self._stored(f"{MAIL_CONTENTS}{name}", notification(reported, failures, name=name, now=now))
        about = opened(
            mail=name,
            account=mail.account,
            test=mail.test,
            mail_from="",
            addresses=[mail.mail_from],
            by=SYSTEM,  # so that it is sent although the mail's key has been revoked
            now=now,
            until=0,
        )
        content = Content(Mailbox(job.sender), "Undelivered mail", finished=finished)
        to = NewDestination(mail.mail_from, MailSchedule(0))
        key = Idempotency(mail.account, f"\0mail#{mail.id}#{mail.reports}", mail.id, name, now + 30 * KEY_LIFE_MS)
        queued = self.queuer.queue(OutgoingMail(about, content, [to], job.route, new=True), key)
        if isinstance(queued, StoredMail):
            self.figures.notified()
        else:
            self.files.remove(finished.name)  # it was queued before

    def _failures(self, job: Job, numbers: Sequence[int]) -> list[FailedDestination]:
        places = [(job.id, n) for n in numbers]
        out = []
        for x in sorted(self.ledgers.read_these(places), key=lambda x: x.chunk):
            chunk = self.records.chunk(job.id, x.chunk)
            if chunk is not None:
                address = chunk.recipients[0].address
                code, words = self._refusal(job, x.chunk, address)
                out.append(FailedDestination(address, x.cell(0)[0], code, words))
        return out

    def _refusal(self, job: Job, chunk: int, address: str) -> tuple[str, str]:
        """Return the code of a destination's last refusal, and the refusing server's text."""
        windows, words = self.records.details(job.id, chunk)
        attempts = attempts_of(windows, words, frozenset({0})).get(0, {})
        some = [attempts[n] for n in sorted(attempts)]
        skips = [e.code for w in windows for e in w.entries if skipped_early(e)]
        return last_refusal(some)[0] or next(iter(skips), ""), detail_of(some, address)

    def _header(self, job: Job) -> bytes:
        """Return the beginning of the mail's header; empty if the content no longer exists."""
        content = self.records.content(job.id)
        finished = content.finished if content is not None else None
        if finished is None:
            return b""
        try:
            first = next(iter(self.files.read(finished.name, etag=finished.etag, start=0)), b"")
        except FileChanged:
            return b""
        return first.partition(_END)[0][:MAX_HEADER]

    def _stored(self, name: str, data: bytes) -> Finished:
        self.files.put(name, data)
        facts = self.files.facts(name)
        if facts is None:
            raise Retriable("the notification was not stored")
        return Finished("", name, facts.etag, facts.size)

    def _note(self, job: Job, numbers: Sequence[int]) -> None:
        for x in self.ledgers.read_these([(job.id, n) for n in numbers]):
            if is_pending(x):
                self.ledgers.tell(job.id, x.chunk, {0: x.cell(0)[0]})

    def _pending(self, job: Job, numbers: Sequence[int]) -> list[int]:
        found = self.ledgers.read_these([(job.id, n) for n in numbers])
        return sorted(x.chunk for x in found if is_pending(x) and fails(x))
