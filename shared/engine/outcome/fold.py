"""Logging: released ledgers' figures go into their job and the day's stats once; a finished job is closed (J2, J3)."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Final

from shared.domain.ids import is_small
from shared.domain.jobs import ledger as rules
from shared.domain.jobs.job import Job, add_figures
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import ACTIVE, COUNT_KEYS, RESTING, Change, JobState
from shared.engine.lane.recovery import Recovery
from shared.engine.outcome.announcer import Announcing, Silent
from shared.engine.outcome.bounce_guard import BounceGuard
from shared.frozen import dataclass
from shared.ports import ENDS, FOLDS, BouncingDays, Clock, Lists, Records, Retriable

_LOG: Final = logging.getLogger(__name__)
ROUNDS: Final = 3
"""How often the finaliser starts over when others write meanwhile; the next record or the sweeper comes back for the
rest."""
RACES: Final = 20
"""How often a fold starts over when others write its ledgers meanwhile."""
KNOWN_JOBS: Final = 256
_READ_BY_LOG: Final = ("unknown", "queued", "skipped")
"""Counts that LOG reads."""


@dataclass(frozen=True, slots=True)
class Folded:
    """The result of folding ledgers of one job.

    Attributes:
        folded: ledgers of which something was added to the job.
        job: as it is afterwards; None if it no longer exists, or others write it all the time.
        kind: the job's; empty if the job no longer exists.
    """

    folded: int
    job: Job | None = None
    kind: str = ""

    @property
    def state(self) -> JobState | None:
        """The job's state afterwards; None if it is not known."""
        return self.job.state if self.job is not None else None

    @property
    def retrying(self) -> bool:
        """Tell whether an owner's retry of the job is on its way, to be carried on."""
        return self.job is not None and self.job.retry is not None


@dataclass(frozen=True, slots=True)
class FoldListener:
    """The reaction of one product to folds.

    Attributes:
        hears: returns whether a ledger concerns it. It is asked about each one, so it loads nothing.
        tell: does it, for those ledgers of one job of which it hears.
        apart: `tell` gets one ledger at a time, so that the fault of one does not keep the others waiting.
    """

    hears: Callable[[Folded, Ledger], bool]
    tell: Callable[[Folded, Sequence[Ledger]], object]
    apart: bool = False

    def steps(self, folded: Folded, ledgers: Sequence[Ledger]) -> Iterator[Callable[[], object]]:
        """Yield what to call after a fold of these ledgers of one job."""
        heard = [x for x in ledgers if self.hears(folded, x)]
        for some in [[x] for x in heard] if self.apart else filter(None, [heard]):
            yield partial(self.tell, folded, some)


class LedgerFolder:
    """Folds ledgers and finalises jobs."""

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerQueue,
        lists: Lists,
        recovery: Recovery,
        clock: Clock,
        announcer: Announcing | None = None,
        bouncing: BouncingDays | None = None,
    ) -> None:
        """Make it.

        Args:
            announcer: what webhooks hear of changes from; None: there are no webhooks.
            bouncing: tells accounts whose single messages bounce; None: nothing does.
        """
        self._announcer = announcer or Silent()
        self._records = records
        self._ledgers = ledgers
        self._recovery = recovery
        self._clock = clock
        self._guard = BounceGuard(records=records, lists=lists, clock=clock, bouncing=bouncing)
        self._known: OrderedDict[str, Job] = OrderedDict()

    def fold(self, ledger: Ledger) -> Folded:
        """Fold one ledger as a stream record shows it; see `batch`."""
        _, fold = next(self.batch([ledger]), (ledger.job, lambda: Folded(folded=0)))
        return fold()

    def batch(self, ledgers: Sequence[Ledger], *, late: bool = False) -> Iterator[tuple[str, Callable[[], Folded]]]:
        """Yield the jobs of some ledgers, as stream records show them, with what folds a job's and closes the job.

        Each job is closed once, after all its folds. A record that is older than its ledger folds the ledger as it is
        now: its own record may never come.

        Args:
            ledgers: the newest record of each.
            late: the records are old, so most ledgers have moved on: they are read first, which costs less than to
                find that out by writing.
        """
        return self.again([(x.job, x.chunk) for x in ledgers]) if late else self._by_job(ledgers)

    def again(self, places: Sequence[tuple[str, int]]) -> Iterator[tuple[str, Callable[[], Folded]]]:
        """Yield the jobs of chunks `(job, number)`, with what folds their ledgers as they are now; see `batch`."""
        return self._by_job(self._ledgers.read_these(places))

    def _by_job(self, ledgers: Sequence[Ledger]) -> Iterator[tuple[str, Callable[[], Folded]]]:
        by_job: dict[str, list[Ledger]] = {}
        for x in ledgers:
            if x.status is not LedgerStatus.BUSY:
                by_job.setdefault(x.job, []).append(x)
        jobs = self._jobs(by_job.keys())
        silent = self._announcer.announce(jobs, (x for some in by_job.values() for x in some))
        folded = self._fold_alike([(by_job[name][0], job) for name, job in jobs.items() if name not in silent])
        for name, some in by_job.items():
            if name in folded:
                yield name, partial(self._ended, folded[name])
            else:
                yield name, _unannounced if name in silent else partial(self._fold_announced, jobs.get(name), some)

    def _jobs(self, names: KeysView[str]) -> dict[str, Job]:
        """Return jobs by their ids. Of those that this process knows, only what never changes is as of now."""
        jobs = {name: self._known[name] for name in names if name in self._known}
        unknown = names - jobs.keys()
        return jobs | (self._records.read_jobs(unknown) if unknown else {})

    def count(self, ledgers: Sequence[tuple[Ledger, Job]]) -> dict[str, Ledger]:
        """Count jobs that wait, and are in no stats yet, in their stats; return the ledgers of those that were, by job.

        Args:
            ledgers: as just read, each with its job.
        """
        waiting = [
            (x, job)
            for x, job in ledgers
            if x.uncounted and x.status is LedgerStatus.IDLE and not x.dirty and job.chunks == 1 and job.state in ACTIVE
        ]
        return {name: x for name, (x, _) in self._fold_jobs(waiting, least=1).items()}

    def _fold_alike(self, ledgers: Sequence[tuple[Ledger, Job]]) -> dict[str, Job]:
        """Fold jobs whose only ledgers end them, or are small ones' that have ended; return them as they are then.

        Each other job is left to a fold of its own. Each ledger comes with its job.
        """
        alike = [x for x in ledgers if _ends(*x) or (is_small(x[1].id) and x[1].state is JobState.LOGGED)]
        after = {job.id: _counted(x, job) for x, job in alike}
        return {name: job or after[name] for name, (_, job) in self._fold_jobs(alike, least=2).items()}

    def _fold_jobs(self, ledgers: Sequence[tuple[Ledger, Job]], *, least: int) -> dict[str, tuple[Ledger, Job | None]]:
        """Fold the only ledgers of jobs, ENDS in a transaction; return by job what `Records.fold` does.

        A job that reserves its credential is left to a fold of its own.

        Args:
            least: fewer jobs are left to folds of their own.
        """
        groups: dict[tuple[str, bool, str, str], list[tuple[Ledger, Job]]] = {}
        for x, job in ledgers:
            if not job.exclusive:
                groups.setdefault((job.account, job.test, job.day, job.channel), []).append((x, job))
        folded: dict[str, tuple[Ledger, Job | None]] = {}
        for group in groups.values():
            for start in range(0, len(group), ENDS):
                if len(some := group[start : start + ENDS]) >= least:
                    folded |= self._fold_together(some)
        return folded

    def _fold_together(self, some: Sequence[tuple[Ledger, Job]]) -> Mapping[str, tuple[Ledger, Job | None]]:
        """Fold in one transaction; none if that fails: then each by itself shows whose fault it is."""
        try:
            return self._records.fold_jobs(some, self._now())
        except Exception:  # noqa: BLE001 - each job is folded by itself, and raises what is its own
            _LOG.exception("not folded together", extra={"jobs": [job.id for _, job in some]})
            return {}

    def _ended(self, job: Job) -> Folded:
        """Return what a fold did that ended a job, or came after its end, once the bounce guard has seen the job."""
        self._guard.check(job)
        return Folded(folded=1, job=job if job.state is JobState.LOGGED else self._log(job), kind=job.kind)

    def fold_some(self, job: Job | None, ledgers: Sequence[Ledger]) -> Folded:
        """Fold some ledgers of a job, as just read, that have no worker, and close it if they were the last.

        Raises:
            Retriable: others write them all the time, or webhooks cannot hear of their changes now.
        """
        if job is not None:
            self._announce(job, ledgers)
        return self._fold_announced(job, ledgers)

    def _fold_announced(self, job: Job | None, ledgers: Sequence[Ledger]) -> Folded:
        """Fold ledgers of a job whose changes were announced."""
        if job is None:
            return Folded(folded=0)
        first = ledgers[0]
        if job.chunks > 1:
            self._remember(job)
        elif _ends(first, job):
            done = self._records.fold(first, job, finish=self._now())
            if done is not None and done[1] is not None:
                return self._ended(done[1])
        folded = self._add(job, ledgers)
        return Folded(folded, self._close(job.id, hint=True), kind=job.kind)

    def add(self, job: Job, ledgers: Sequence[Ledger]) -> int:
        """Add the new figures of a job's ledgers to it, FOLDS in a transaction; return how many had some.

        Those that have moved on are folded as they are now, unless a worker holds them.

        Raises:
            Retriable: others write them all the time, or webhooks cannot hear of their changes now.
        """
        self._announce(job, ledgers)
        return self._add(job, ledgers)

    def _announce(self, job: Job, ledgers: Iterable[Ledger]) -> None:
        if self._announcer.announce({job.id: job}, ledgers):
            _unannounced()

    def _add(self, job: Job, ledgers: Sequence[Ledger]) -> int:
        """Do the same for ledgers whose changes were announced, and also announce what has changed since."""
        folded = 0
        waiting = list(ledgers)
        for _ in range(RACES + len(waiting) // FOLDS):
            waiting = [x for x in waiting if x.status is not LedgerStatus.BUSY and rules.fold(x) is not None]
            if not waiting:
                return folded
            some = waiting[:FOLDS]
            moved = self._records.fold_all(some, job)
            if not moved:
                folded += len(some)
                waiting = waiting[FOLDS:]
                continue
            self._announce(job, filter(None, moved.values()))
            now = [moved.get(x.chunk, x) for x in some]
            waiting = [*(x for x in now if x is not None), *waiting[FOLDS:]]
        raise Retriable("others write all the time")

    def _remember(self, job: Job) -> None:
        """Keep a job's unchanging fields (account, route, age), which is all that folding one of many needs."""
        self._known[job.id] = job
        if len(self._known) > KNOWN_JOBS:
            self._known.popitem(last=False)

    def finalise(self, job_id: str, *, hint: bool = False) -> JobState | None:
        """Move a job towards LOGGED as far as its ledgers allow (J3) and return its state; None if there is no job.

        Args:
            hint: look at the ledgers only if the folded counts say that it may be finished.
        """
        job = self._close(job_id, hint=hint)
        return job.state if job else None

    def conclude(self, job: Job, *, rests: bool) -> JobState | None:
        """Do as `finalise` from a job as just read, and from all its ledgers, which were read after it and are folded.

        `rests`: they allow the job to move on; if not, the bounce guard may still stop it.
        """
        if self._guard.check(job):
            return self.finalise(job.id)
        if not rests:
            return job.state
        current = job
        if job.state in ACTIVE:
            changed = self._records.change(job, Change.FINISH, self._now(), strict=True)
            if not changed.won or changed.job is None:
                return self.finalise(job.id)
            current = changed.job
        logged = self._log(current)
        return logged.state if logged.state is JobState.LOGGED else self.finalise(job.id)

    def _close(self, job_id: str, *, hint: bool) -> Job | None:
        """Finalise a job and return it as it is then; None also if others write all the time."""
        for _ in range(ROUNDS):
            job = self._records.job(job_id)
            if job is None:
                return None
            if self._guard.check(job):
                continue
            if _stays(job, hint=hint):
                return job
            verdict, exact = self._settle(job)
            if verdict is _Verdict.WAIT:
                return job
            if verdict is _Verdict.CHANGED:
                continue
            finished = self._finished(job)
            if finished is None:
                continue
            logged = self._log(replace(finished, counts={**finished.counts, **exact}))
            if logged.state is JobState.LOGGED:
                return logged
        return None

    def _finished(self, job: Job) -> Job | None:
        """Return a job whose messages all have an end, no more ACTIVE; None if another write came first."""
        if job.state not in ACTIVE:
            return job
        changed = self._records.change(job, Change.FINISH, self._now(), strict=True)
        return changed.job if changed.won else None

    def _settle(self, job: Job) -> "tuple[_Verdict, Mapping[str, int]]":
        """Read all ledgers, after the job; take over what needs it. Returns the counts of LOGGED, also unfolded ones.

        CLEAN means that the job may move on if its version is still the one read. Figures that are not folded do not
        prevent that: they are as exact afterwards, and feedback would bring new ones all the time. Those that are in no
        stats do: nothing comes back for them.
        """
        verdict, found = _Verdict.CLEAN, Counter[str]()
        for x in self._ledgers.read_all(job.id):
            current = x
            if x.status is LedgerStatus.BUSY:
                taken = self._recovery.take_over(job, x)
                if taken is None:
                    return _Verdict.WAIT, {}
                current = taken
                verdict = _Verdict.CHANGED
            if current.status is LedgerStatus.IDLE and job.state is not JobState.STOPPED:
                return _Verdict.WAIT, {}
            if current.uncounted:
                self.add(job, [current])
                verdict = _Verdict.CHANGED
            found.update(dict(zip(COUNT_KEYS, rules.histogram(current.cells), strict=True)))
        return verdict, {name: found[name] for name in _READ_BY_LOG}

    def _log(self, job: Job) -> Job:
        changed = self._records.change(job, Change.LOG, self._now(), strict=True)
        return changed.job if changed.job is not None else job

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def _counted(ledger: Ledger, job: Job) -> Job:
    """Return a job with the new figures of its only ledger."""
    folded = rules.fold(ledger)
    if folded is None:
        return job
    counts, by = add_figures(job.counts, job.by, job.route, folded[1])
    return replace(job, counts=counts, by=by)


def _unannounced() -> Folded:
    """Fail, so that what is not announced is not folded: its next record or the sweeper comes back for it."""
    raise Retriable("webhooks cannot hear of changes")


class _Verdict(Enum):
    CLEAN = "clean"
    CHANGED = "changed"
    WAIT = "wait"


def _ends(ledger: Ledger, job: Job) -> bool:
    """Check whether a ledger is a job's only one, and its fold may end the job.

    That fold makes a job LOGGED that shares its credential. If the job holds a part of limits, it needs a LOG.
    """
    held = job.charge and not job.exclusive
    return job.chunks == 1 and ledger.status is LedgerStatus.DONE and job.state in ACTIVE and not held


def _stays(job: Job, *, hint: bool) -> bool:
    """Check whether a job has no ledgers to close; with `hint` also by its folded counts."""
    return job.state in RESTING or (hint and job.state in ACTIVE and not job.quiet)
