"""Logging: a released ledger's figures go into its job and the day's stats once; a finished job is closed (J2, J3)."""

from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from typing import Final

from shared.domain import ledger as rules
from shared.domain.jobs import Job
from shared.domain.ledger import Ledger, LedgerStatus
from shared.domain.states import ACTIVE, Change, JobState
from shared.engine.guard import BounceGuard
from shared.engine.recover import Recovery
from shared.ports import Clock, LedgerStore, Records

ROUNDS: Final = 20
"""How often the finaliser starts over when others write meanwhile; the sweeper comes back for the rest."""
KNOWN_JOBS: Final = 256


@dataclass(frozen=True, slots=True)
class Folded:
    """What folding one ledger led to.

    Attributes:
        folded: whether anything was added to the job.
        state: the job's afterwards, None if it has gone.
        retrying: an owner's retry of the job is on its way, to be carried on.
    """

    folded: bool
    state: JobState | None
    retrying: bool = False


class Logger:
    """Folds ledgers and finalises jobs."""

    def __init__(self, *, records: Records, ledgers: LedgerStore, recovery: Recovery, clock: Clock) -> None:
        self._records = records
        self._ledgers = ledgers
        self._recovery = recovery
        self._clock = clock
        self._guard = BounceGuard(records=records, clock=clock)
        self._known: OrderedDict[str, Job] = OrderedDict()

    def fold(self, ledger: Ledger) -> Folded:
        """Fold a ledger as a stream record shows it, and close its job if that was the last.

        A record that is older than the ledger changes nothing: a newer record follows, or the sweeper comes.
        """
        if ledger.status is LedgerStatus.BUSY:
            return Folded(folded=False, state=None)
        job = self._known.get(ledger.job) or self._records.job(ledger.job)
        if job is None:
            return Folded(folded=False, state=None)
        if job.chunks > 1:
            self._remember(job)
        elif ledger.status is LedgerStatus.DONE and job.state in ACTIVE:
            done = self._records.fold(ledger, job, finish=self._now())
            if done is not None and done[1] is not None:
                self._guard.check(done[1])
                ended = done[1] if done[1].state is JobState.LOGGED else self._log(done[1])
                return Folded(folded=True, state=ended.state)
        folded = self._records.fold(ledger, job) is not None
        after = self._close(ledger.job, hint=True)
        return Folded(folded, after.state if after else None, retrying=after is not None and after.retry is not None)

    def _remember(self, job: Job) -> None:
        """Keep a job's unchanging fields (account, route, age), which is all that folding one of many needs."""
        self._known[job.id] = job
        if len(self._known) > KNOWN_JOBS:
            self._known.popitem(last=False)

    def finalise(self, job_id: str, *, hint: bool = False) -> JobState | None:
        """Move a job towards LOGGED as far as its ledgers allow (J3) and return its state; None if it has gone.

        Args:
            job_id: the job.
            hint: look at the ledgers only if the folded counts say that it may be finished.
        """
        job = self._close(job_id, hint=hint)
        return job.state if job else None

    def _close(self, job_id: str, *, hint: bool) -> Job | None:
        """Finalise a job and return it as it is then; None also if others write all the time."""
        for _ in range(ROUNDS):
            job = self._records.job(job_id)
            if job is None:
                return None
            if self._guard.check(job):
                continue
            resting = job.state in (JobState.READY, JobState.LOGGED)
            if resting or (hint and job.state in ACTIVE and not job.quiet):
                return job
            verdict = self._settle(job)
            if verdict is _Verdict.WAIT:
                return job
            if verdict is _Verdict.CHANGED:
                continue
            if job.state in ACTIVE:
                changed = self._records.change(job, Change.FINISH, self._now(), strict=True)
                if not changed.won or changed.job is None:
                    continue
                job = changed.job
            logged = self._log(job)
            if logged.state is JobState.LOGGED:
                return logged
        return None

    def _settle(self, job: Job) -> "_Verdict":
        """Read all ledgers, after the job; take over and fold what needs it.

        CLEAN says that the job may move on if its version is still the one read.
        """
        verdict = _Verdict.CLEAN
        for x in self._ledgers.read_all(job.id):
            current = x
            if x.status is LedgerStatus.BUSY:
                taken = self._recovery.take_over(job, x)
                if taken is None:
                    return _Verdict.WAIT
                current = taken
                verdict = _Verdict.CHANGED
            if rules.fold(current) is not None:
                self._records.fold(current, job)
                verdict = _Verdict.CHANGED
            if current.status is LedgerStatus.IDLE and job.state is not JobState.STOPPED:
                return _Verdict.WAIT
        return verdict

    def _log(self, job: Job) -> Job:
        changed = self._records.change(job, Change.LOG, self._now(), strict=True)
        return changed.job if changed.job is not None else job

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


class _Verdict(Enum):
    CLEAN = "clean"
    CHANGED = "changed"
    WAIT = "wait"
