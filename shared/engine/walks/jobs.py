"""The walk of open jobs: what is READY starts, leases that ran out are taken over, lost pointers are sent again.

Jobs that are under way are read a hundred at a time, with the ledgers of those of one chunk. So a look at a single
message costs a fiftieth of a call. Jobs that, by the index, are not due or were just made are not read.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from shared.domain.jobs import ledger as rules
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.look_ups import due
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import ACTIVE, RESTING, Cell, JobState
from shared.domain.times import Millis
from shared.engine.intake.accept import send_pointers
from shared.engine.jobs.ledgers import only_ledgers
from shared.engine.jobs.plan import Planner
from shared.engine.jobs.retry import Retrier
from shared.engine.jobs.stop import open_places
from shared.engine.lane.recovery import Recovery
from shared.engine.outcome.fold import LedgerFolder
from shared.engine.walks import Inspection, Run
from shared.engine.walks.doubts import Asking
from shared.engine.walks.keeping import AGED_MS, RetentionExtender
from shared.engine.walks.pointing import Pointing
from shared.engine.walks.stuck_jobs import StuckJobs
from shared.frozen import dataclass
from shared.ports import Clock, Holds, Lanes, OpenJob, Records

YOUNG_MS: Final = 20_000
"""Age in milliseconds up to which a job is not checked: most have ended by then. The others cannot have lost anything
that the sweeper would find."""
PAGE: Final = 100
"""Jobs read at once: what one call of DynamoDB returns."""
LEDGERS: Final = 1_000
"""Ledgers of a large job read at once."""
RETRY_SECONDS: Final = 20.0
"""Spent on one owner's retry of a large job in one run."""


@dataclass(frozen=True, slots=True)
class JobActions:
    """The actions for an open job: start it, take over its dead leases, fold and end it, carry out a retry."""

    planner: Planner
    recovery: Recovery
    logger: LedgerFolder
    retrier: Retrier


class OpenJobs:
    """Walks all open jobs."""

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerQueue,
        holds: Holds,
        lanes: Lanes,
        actions: JobActions,
        clock: Clock,
        asking: Asking,
        slots: Iterable[str],
    ) -> None:
        """`slots`: every partition of the index `open` that has jobs."""
        self._records = records
        self._ledgers = ledgers
        self._holds = holds
        self._lanes = lanes
        self._planner = actions.planner
        self._recovery = actions.recovery
        self._logger = actions.logger
        self._retrier = actions.retrier
        self._clock = clock
        self._asking = asking
        self._slots = slots
        self._keeping = RetentionExtender(records)
        self._pointing = Pointing(holds=holds, lanes=lanes, now=0)
        self._stuck_jobs: StuckJobs | None = None
        """Of the present round; None: another process saw its beginning."""
        self._seen: set[str] = set()

    # The walk

    def looks(self, run: Run, after: str) -> Iterator[Inspection]:
        """Yield what was left over, then what is open from a place on, in the order of slots and age."""
        waited = self._pointing.longest()
        self._pointing = Pointing(holds=self._holds, lanes=self._lanes, now=run.now)
        self._seen = set()
        if not after:
            self._stuck_jobs = StuckJobs(self._records, self._pointing.hold, run.now)
        for name, (chunk, since) in sorted(run.progress.left.items()):
            yield Inspection(name, "", partial(self._again, run, name, chunk, since))
        for job, ledgers in waited:  # seen by a run that did not come to the end
            yield Inspection(job.id, "", partial(self._point_longest, run, job, ledgers))
        yield from self._open_looks(run, after)

    def _open_looks(self, run: Run, after: str) -> Iterator[Inspection]:
        """Yield a look at each page of jobs under way, and one at each job or credential where something may start."""
        asked: set[str] = set()
        page: list[tuple[OpenJob, int]] = []
        reached = ""
        for place, entry in self._entries(run, after):
            if page and (not entry.running or len(page) >= PAGE):
                yield self._page_look(run, page, reached)
                page = []
            reached = place
            if entry.running or run.now - entry.created_at >= AGED_MS:
                page.append((entry, run.progress.since(place)))
            if entry.running:
                continue
            if entry.credential not in asked:
                asked |= {entry.credential} - {""}
                yield Inspection(entry.job, place, partial(self._ready, run, entry))
        if page:
            yield self._page_look(run, page, reached)

    def ended(self, run: Run) -> None:
        """Point to what has waited the longest; tell which jobs are stuck, if this process saw all of the round."""
        for job, ledgers in self._pointing.longest():
            run.attempt(job.id, partial(self._point_longest, run, job, ledgers))
        if self._stuck_jobs is not None:
            run.stuck = tuple(self._stuck_jobs.stuck())
        self._stuck_jobs = None

    def _entries(self, run: Run, after: str) -> Iterator[tuple[str, OpenJob]]:
        """Yield the entries of the index that need a look, each with its place."""
        for place, entry in open_places(self._records, self._slots, after):
            if _is_early(entry, run.now):
                continue
            if not entry.running and self._stuck_jobs is not None:
                self._stuck_jobs.wait(entry)
            yield place, entry

    def _page_look(self, run: Run, page: Sequence[tuple[OpenJob, int]], place: str) -> Inspection:
        return Inspection(page[0][0].job, place, partial(self._page, run, page))

    # Looks

    def _ready(self, run: Run, entry: OpenJob) -> None:
        """Start a job, or the next of those that wait for its credential."""
        started = self._planner.start(entry)
        if entry.credential and not started:
            self._records.clear(entry.credential)
        run.tally.add("planned", len(started))

    def _page(self, run: Run, page: Sequence[tuple[OpenJob, int]]) -> None:
        """Look at jobs that are under way, each by itself. Jobs that cannot be read now come first in the next run."""
        try:
            wanted = [entry.job for entry, _ in page if entry.job not in self._seen]
            jobs = self._records.read_jobs(wanted) if wanted else {}
            firsts = only_ledgers(self._ledgers, jobs.values())
            counted = self._logger.count([(x, jobs[name]) for name, x in firsts.items()])
            run.tally.add("folded", len(counted))
            firsts |= counted
        except Exception:  # any fault, raised again
            for entry, since in page:
                run.progress.leave(entry.job, 0, since)
            raise
        for entry, since in page:
            job = jobs.get(entry.job)
            if job is not None:
                self._visit(run, job, firsts.get(job.id), since)

    def _again(self, run: Run, name: str, chunk: int, since: int) -> None:
        """Look at what an earlier run has left."""
        run.progress.left.pop(name, None)
        self._seen.add(name)
        job = self._records.job(name)
        if job is not None:
            self._visit(run, job, None, since, chunk)

    def _visit(self, run: Run, job: Job, only: Ledger | None, since: int, chunk: int = 0) -> None:
        if not run.attempt(job.id, partial(self._open, run, job, only, since, chunk)):
            run.progress.leave(job.id, chunk, since)

    def _open(self, run: Run, job: Job, only: Ledger | None, since: int, chunk: int) -> None:
        if job.retry is not None:
            until = min(run.deadline, self._clock.now() + RETRY_SECONDS)
            over = self._retrier.carry_on(job.id, until)
            run.tally.add("planned", over and self._planner.plan(job.id) is not None)
        if self._keeping.end(job, run.now):
            run.tally.add("given_up")
            self._logger.finalise(job.id)
            return
        sight = _Sight(job, run, since, whole=not chunk, until=self._keeping.until(job, run.now))
        if sight.rests and not sight.until:
            return
        self._walk(sight, only, chunk)
        if sight.until and sight.reached >= job.chunks:
            self._records.keep_job(job, sight.until)
            run.tally.add("prolonged")
            sight.changed = True
        if not sight.rests:
            self._close(sight)

    def _walk(self, sight: "_Sight", only: Ledger | None, chunk: int) -> None:
        """Look at a job's ledgers from a chunk on, for as long as there is time; the next run continues from there."""
        for part in self._parts(sight.job, only, chunk):
            if sight.reached and self._clock.now() > sight.run.deadline:
                sight.run.progress.leave(sight.job.id, sight.reached, sight.since)
                sight.whole = False
                return
            if sight.until:
                self._keeping.keep(part, sight.until)
            if not sight.rests:
                self._part(sight, part)
            sight.reached = part[-1].chunk + 1

    def _close(self, sight: "_Sight") -> None:
        """Note what was seen of a job that is under way, and close it if it can be."""
        if sight.noted:
            self._records.note_pointed(sight.job.id, sight.run.now)
        if sight.whole and self._stuck_jobs is not None:
            self._stuck_jobs.see(sight.job, sight.last, sight.waits)
        if not sight.closed:
            sight.run.tally.add("logged", self._end(sight) is JobState.LOGGED)

    def _end(self, sight: "_Sight") -> JobState | None:
        """Close a job if its ledgers allow it; those that were just read are not read again if nothing was changed."""
        ends = sight.whole and not sight.work_left
        if sight.whole and not sight.changed:
            return self._logger.conclude(sight.job, rests=ends)
        return self._logger.finalise(sight.job.id, hint=not ends)

    def _parts(self, job: Job, only: Ledger | None, chunk: int) -> Iterator[Sequence[Ledger]]:
        """Yield a job's ledgers from a chunk on, as they are read: after the job, so that they say whether it ends."""
        if only is not None:
            yield [only]
            return
        while chunk < job.chunks:
            some = self._ledgers.read_some(job.id, chunk, LEDGERS)
            if not some:
                return
            yield some
            chunk = some[-1].chunk + 1

    def _part(self, sight: "_Sight", ledgers: Sequence[Ledger]) -> None:
        job, run = sight.job, sight.run
        if self._stuck_jobs is not None:
            last, waits = self._stuck_jobs.note(ledgers)
            sight.last, sight.waits = max(sight.last, last), sight.waits | waits
        leased_at = _leased_at(job, ledgers, run.now)
        waiting: list[Ledger] = []
        news: list[Ledger] = []
        for x in ledgers:
            current = self._one(sight, x)
            if current is x and self._is_waiting(sight, x):
                waiting.append(x)
            if rules.fold(current) is not None:
                news.append(current)
        self._note_waits(sight, waiting)
        run.tally.add("pointed", send_pointers(self._lanes, job, self._lost(sight, waiting, leased_at)))
        self._fold(sight, [x for x in news if x.status is not LedgerStatus.BUSY])

    def _one(self, sight: "_Sight", x: Ledger) -> Ledger:
        """Do what is to be done about a ledger itself; return it as it is then."""
        x = self._expired(x, sight.run.now)
        match x.status:
            case LedgerStatus.BUSY:
                x = self._taken_over(sight, x)
            case LedgerStatus.DONE:
                self._ask(sight, x)
            case LedgerStatus.IDLE:
                self._leave(sight, x)
        busy = x.status is LedgerStatus.BUSY
        sight.work_left |= busy or (x.status is LedgerStatus.IDLE and sight.job.state is not JobState.STOPPED)
        return x

    def _taken_over(self, sight: "_Sight", x: Ledger) -> Ledger:
        """Take over a lease if it ran out; return the ledger as it is then."""
        taken = self._recovery.take_over(sight.job, x)
        if taken is None:
            return x
        sight.run.tally.add("taken_over")  # and pointed to, if work is left
        sight.changed = True
        return taken

    def _ask(self, sight: "_Sight", x: Ledger) -> None:
        """Have the provider asked about doubts, if a look at them is due."""
        now = sight.run.now
        if due((now - x.released_at) / 1000, (now - sight.since) / 1000):
            sight.run.tally.add("asked", bool(x.having(Cell.UNKNOWN)) and self._asking.about(sight.job, x))

    def _leave(self, sight: "_Sight", x: Ledger) -> None:
        """Move what waits in a lane that is no longer deployed."""
        if sight.job.state in ACTIVE and x.lane not in self._lanes:
            left = self._pointing.is_left(sight.job, x) and self._recovery.leave(sight.job, x)
            sight.run.tally.add("pointed", left)
            sight.changed |= left

    def _expired(self, x: Ledger, now: Millis) -> Ledger:
        """Drop recipients that wait past their time: a lane that is paused has no worker to do it."""
        waiting = rules.overdue(x, now)
        chunk = self._records.chunk(x.job, x.chunk) if waiting else None
        if chunk is None:
            return x
        over = [i for i in waiting if 0 < chunk.recipients[i].not_after < now]
        return (self._ledgers.drop(x.job, x.chunk, over, Cell.EXPIRED) if over else None) or x

    def _is_waiting(self, sight: "_Sight", x: Ledger) -> bool:
        return x.status is LedgerStatus.IDLE and sight.job.state in ACTIVE and x.lane in self._lanes

    def _note_waits(self, sight: "_Sight", ledgers: Sequence[Ledger]) -> None:
        """Note for how long a small job's ledgers have been due, for the alarm. Messages of test keys may wait."""
        job, run = sight.job, sight.run
        for x in ledgers if job.express and not job.test else ():
            since = self._pointing.due_since(job, x)
            if since is not None:
                run.tally.wait(x.lane, run.now - since)

    def _lost(self, sight: "_Sight", ledgers: Sequence[Ledger], leased_at: int) -> list[Ledger]:
        """Return those whose pointers seem lost."""
        lost, others = list[Ledger](), list[Ledger]()
        for x in ledgers:
            (lost if self._pointing.lost(sight.job, x, sight.since) else others).append(x)
        unserved = self._pointing.unserved(sight.job, others, leased_at)
        sight.noted |= bool(unserved)
        return lost + unserved

    def _point_longest(self, run: Run, job: Job, ledgers: Sequence[Ledger]) -> None:
        run.tally.add("pointed", send_pointers(self._lanes, job, ledgers))
        self._records.note_pointed(job.id, run.now)

    def _fold(self, sight: "_Sight", ledgers: Sequence[Ledger]) -> None:
        """Fold ledgers; that of a job of one chunk may end the job in the same transaction."""
        if not ledgers:
            return
        sight.changed = True
        if sight.job.chunks == 1:
            folded = self._logger.fold_some(sight.job, ledgers)
            sight.closed = folded.state is JobState.LOGGED
            sight.run.tally.add("logged", sight.closed)
            sight.run.tally.add("folded", folded.folded)
        else:
            sight.run.tally.add("folded", self._logger.add(sight.job, ledgers))


def _is_early(entry: OpenJob, now: Millis) -> bool:
    """Check whether an open job was just made, or is READY and not due."""
    return now - entry.created_at < YOUNG_MS or (not entry.running and entry.not_before > now)


def _leased_at(job: Job, ledgers: Sequence[Ledger], now: Millis) -> Millis:
    """Return when one of a job's ledgers was last leased, as far as is known (Unix ms); now if one is."""
    held = any(x.status is LedgerStatus.BUSY and x.until >= now for x in ledgers)
    at_work = held or (job.chunks > LEDGERS and job.state is JobState.SENDING)
    return max(now if at_work else 0, *(x.released_at for x in ledgers))


@dataclass(slots=True)
class _Sight:
    """The findings of one look at a job.

    Attributes:
        job: as read before its ledgers.
        since: the last look at it (Unix ms).
        whole: all ledgers were seen.
        until: until when the job is to be kept longer (Unix seconds), or 0.
        reached: the first chunk that was not.
        last: when something last happened to its ledgers (Unix ms).
        waits: the lanes that they wait for.
        work_left: a ledger needs a worker, or has one.
        changed: job or ledgers were written since they were read.
        noted: chunks that were never leased are pointed to, which is noted on the job (S.6).
        closed: the job is LOGGED.
    """

    job: Job
    run: Run
    since: int
    whole: bool
    until: int = 0
    reached: int = 0
    last: int = 0
    waits: frozenset[str] = frozenset()
    work_left: bool = False
    changed: bool = False
    noted: bool = False
    closed: bool = False

    @property
    def rests(self) -> bool:
        """Tell whether nothing is to be done about the job's ledgers."""
        return self.job.state in RESTING
