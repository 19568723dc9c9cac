"""Giving a credential back: a campaign that cannot send for now lets the next one go first, and waits its turn.

So does one that another account's campaign has waited for (`domain.campaigns.turns`).

First its jobs become READY, so that no lease that begins later sends. Then its ledgers are read. If none is leased, and
the job is as it was written, it holds the credential no more. Source: docs/protocol.md, "J1 Give way"; docs/adr/0176.
"""

from collections.abc import Iterator
from typing import Final

from shared.domain.campaigns import turns
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import ACTIVE, Cell, Change, JobState
from shared.domain.times import Millis
from shared.ports import Records

LEAST_WAIT_MS: Final = 5_000
"""For a shorter wait no campaign gives way: the other would have begun no sooner."""
HANDOVER_MS: Final = 60_000
"""Time after which no lease is left of a job that became READY to give way, unless its worker has died."""
_SLICE: Final = 100
"""Ledgers of one read, from the last one on: in a job that sends, chunks that were not begun are at its end."""


class GiveWay:
    """Takes credentials from campaigns that cannot send for now."""

    def __init__(self, *, records: Records, ledgers: LedgerQueue) -> None:
        self._records = records
        self._ledgers = ledgers

    def ask(self, credential: str, now: Millis, account: str) -> bool:
        """Let the campaign that holds a credential give it back to an account, if all of its jobs can.

        A job with nothing left to send ends by itself.

        Returns:
            Whether the credential is free.
        """
        found = [self._records.job(job) for job in self._records.reserved(credential)[1]]
        jobs = [job for job in found if job is not None]
        over = turns.is_over(jobs, account, now)
        rests = [(job, self._until(job, now, over=over)) for job in jobs]
        able = [(job, until) for job, until in rests if until is not None]
        if len(able) < len(rests):
            return False
        given = [self._gives_back(job, until) for job, until in able]  # all begin to, also if a lease keeps the first
        return all(given)

    def stuck(self, credential: str, now: Millis) -> set[str]:
        """Return the jobs that became READY to give a credential back and cannot: a dead worker's lease is left.

        The sweeper takes such a lease over only from active jobs.
        """
        found = self._records.read_jobs(self._records.reserved(credential)[1]).values()
        return {x.id for x in found if x.state is JobState.READY and now - x.rests_until >= HANDOVER_MS}

    def _gives_back(self, job: Job, until: Millis) -> bool:
        stored = self._records.change(job, Change.GIVE_WAY, until).job if job.state in ACTIVE else job
        if stored is None or stored.state is not JobState.READY:
            return False
        leased = any(x.status is LedgerStatus.BUSY for x in self._ledgers.read_all(job.id))
        return not leased and self._records.give_back(stored)

    def is_paused(self, job: Job) -> bool:
        """Tell whether a job's account is paused: it would keep others' campaigns from their credential."""
        return self._records.control(job.id, job.account).paused

    def _until(self, job: Job, now: Millis, *, over: bool) -> Millis | None:
        """Return the time before which a job is not planned again if it gives way; None if it does not.

        `over`: its turn is. Then its leases end after their present windows.
        """
        if job.state is JobState.READY:  # it gives way already, or its hours have ended its turn
            return job.rests_until
        if over and any(x.having(Cell.QUEUED, Cell.RETRY) for x in self._from_the_end(job)):
            return now + LEAST_WAIT_MS
        return self._rests_until(job, now)

    def _rests_until(self, job: Job, now: Millis) -> Millis | None:
        """Return when the first chunk of a job is due that cannot send before; None if it does not give way.

        It does if its account is paused, or if all that is left was tried and waits for another try. One that waits
        for its hours is READY.
        """
        paused = self.is_paused(job)
        soonest: Millis | None = None
        for x in self._from_the_end(job):
            if x.status is LedgerStatus.BUSY or not (paused or may_wait(x, now)):
                return None
            if x.status is LedgerStatus.IDLE:
                soonest = x.not_before if soonest is None else min(soonest, x.not_before)
        return soonest

    def _from_the_end(self, job: Job) -> Iterator[Ledger]:
        for end in range(job.chunks, 0, -_SLICE):
            first = max(0, end - _SLICE)
            yield from self._ledgers.read_some(job.id, first, end - first)


def may_wait(ledger: Ledger, now: Millis) -> bool:
    """Tell whether a chunk is done, or all messages left in it were tried and wait for another try.

    A call that the provider refused with a request to wait is no try.
    """
    if ledger.status is not LedgerStatus.IDLE:
        return ledger.status is LedgerStatus.DONE
    tried = all(ledger.cell(i)[1] for i in ledger.having(Cell.QUEUED, Cell.RETRY))
    return tried and ledger.not_before >= now + LEAST_WAIT_MS
