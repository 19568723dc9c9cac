"""The stream of ledgers of mails, and domains whose servers refuse for now.

A mail's other destinations at such a domain wait as long as the three that were refused.

Otherwise each of them would be refused separately, and a grey list would see a call for every one.
"""

from collections.abc import Iterable, Sequence

from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.mails.retry import IN_A_ROW, failed_for_now, is_refusal, row_of, to_hold
from shared.engine.mails.ends import MailCompletion
from shared.frozen import dataclass
from shared.ports import Mails, Records


@dataclass(frozen=True, slots=True)
class MailStream:
    """Handles released ledgers of mails.

    Attributes:
        records: the mails' jobs.
        ends: notes what has an end.
        holds: delays domains.
    """

    records: Records
    ends: MailCompletion
    holds: "DomainHolds"

    def released(self, name: str, some: Sequence[Ledger], *, logged: bool) -> None:
        """Note the ends of destinations, and delay the domains that refused the last three in a row.

        Args:
            some: ledgers of the job, as the stream shows them.
            logged: the job is LOGGED, so that the content may be removed.
        """
        self.ends.tell(name, some)
        job = self.records.job(name) if logged or any(map(failed_for_now, some)) else None
        if job is None:
            return
        self.holds.look(job, some)
        if logged:
            self.ends.finish(job)


@dataclass(frozen=True, slots=True)
class DomainHolds:
    """Delays the destinations of a domain together.

    Attributes:
        mails: which destination is at which domain.
        records: what refused them.
        ledgers: when they are due.
    """

    mails: Mails
    records: Records
    ledgers: LedgerQueue

    def look(self, job: Job, some: Iterable[Ledger]) -> int:
        """Delay the destinations of the domains that refused the last three in a row; return how many.

        Args:
            some: ledgers of the job that were released a moment ago.
        """
        failed = [x.chunk for x in some if failed_for_now(x)]
        mail = self.mails.get(job.name) if failed and job.total > IN_A_ROW else None
        if mail is None:
            return 0
        hosts = sorted({mail.hosts[n] for n in failed if n < len(mail.hosts)})
        if all(len(mail.at_host(host)) <= IN_A_ROW for host in hosts):
            return 0
        ledgers = {x.chunk: x for x in self.ledgers.read_all(job.id)}
        return sum(self._hold(job, [ledgers[n] for n in mail.at_host(host) if n in ledgers]) for host in hosts)

    def _hold(self, job: Job, at_host: Sequence[Ledger]) -> int:
        row = row_of(at_host)
        until = max((x.not_before for x in row), default=0)
        waiting = to_hold(at_host, until)
        if not row or not waiting or not all(self._refused(job, x) for x in row):
            return 0
        for x in waiting:
            self.ledgers.reschedule(job.id, x.chunk, not_before=until, lane=x.lane, at=x.not_before)
        return len(waiting)

    def _refused(self, job: Job, x: Ledger) -> bool:
        """Tell whether the last attempt of a destination met a server that refuses it for now."""
        windows, _ = self.records.details(job.id, x.chunk)
        attempt = x.cells[0] >> 4
        return any(is_refusal(e.code) for w in windows for e in w.entries if e.attempt == attempt)
