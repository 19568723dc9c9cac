"""The sweeper: the only guarantee of liveness; everything else is speed. Source: docs/protocol.md, "Sweep"."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from shared.contracts import question
from shared.domain import ledger as rules
from shared.domain.doubt import due, next_look
from shared.domain.jobs import Job
from shared.domain.ledger import Ledger, LedgerStatus
from shared.domain.states import ACTIVE, Cell, JobState
from shared.domain.switches import Hold
from shared.engine.census import Census
from shared.engine.log import Logger
from shared.engine.plan import Planner
from shared.engine.recover import Recovery
from shared.engine.retry import Retrier
from shared.ports import Clock, Holds, Lanes, LedgerStore, OpenJob, Records

LOST_AFTER_MS: Final = 3_600_000
"""A pointer of a lane that is not empty counts as lost after an hour: sending pointers again every minute would flood
a slow lane, where a million recipients wait for days."""
RESUMED_MS: Final = 300_000
"""For so long after a resume what was paused is pointed to, if it has not been worked on since: the pointers of a
paused lane are acknowledged, and others may keep that lane from ever being empty."""
MAX_LEDGERS: Final = 1_000
"""Ledgers of one job looked at in one run."""
INTERVAL: Final = 60.0
"""Seconds between two runs."""
_LOG: Final = logging.getLogger(__name__)

Look = tuple[str, Callable[[], None]]
"""What is looked at, by its name, and what is done about it."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a run did and saw.

    Attributes:
        asked: chunks whose providers are asked about doubts.
        complete: it saw every open job.
        stuck: jobs in which nothing has happened for too long; known only if it is complete.
    """

    planned: int
    taken_over: int
    folded: int
    pointed: int
    logged: int
    asked: int
    complete: bool
    stuck: tuple[str, ...] = ()


class Sweeper:
    """Walks all open jobs."""

    def __init__(
        self,
        *,
        records: Records,
        ledgers: LedgerStore,
        holds: Holds,
        lanes: Lanes,
        planner: Planner,
        recovery: Recovery,
        logger: Logger,
        retrier: Retrier,
        clock: Clock,
        slots: Iterable[str],
        others: Sequence[Callable[[], Iterator[Look]]] = (),
    ) -> None:
        """`slots`: every partition of the index `open`; `others` walk what else somebody may have left, after jobs."""
        self._records = records
        self._ledgers = ledgers
        self._holds = holds
        self._lanes = lanes
        self._planner = planner
        self._recovery = recovery
        self._logger = logger
        self._retrier = retrier
        self._clock = clock
        self._slots = slots
        self._others = others
        self._cursor: dict[str, int] = {}
        self._held: dict[tuple[str, str], Hold] = {}
        """Account and lane → what is held back, as this run has read it."""
        self._census = Census(records, self._hold, 0)

    def sweep(self, deadline: float) -> Swept:
        """Look at every open job once, until `deadline` (Unix seconds).

        Raises:
            Exception: the first fault of a job, once all others have been looked at: a job whose lane has gone, say,
                must not take their sweeper from them.
        """
        done = {"planned": 0, "taken_over": 0, "folded": 0, "pointed": 0, "logged": 0, "asked": 0}
        empty: dict[str, bool] = {}
        asked: set[str] = set()
        faults: list[Exception] = []
        self._held.clear()
        self._census = Census(self._records, self._hold, int(self._clock.now() * 1000))
        complete = True
        for name, look in self._all(done, empty, asked, deadline):
            if self._clock.now() > deadline:
                complete = False
                break
            try:
                look()
            except Exception as fault:  # noqa: BLE001 - raised at the end
                _LOG.exception("not swept", extra={"job": name})
                faults.append(fault)
        if faults:
            raise faults[0]
        return Swept(**done, complete=complete, stuck=tuple(self._census.stuck()) if complete else ())

    def _all(self, done: dict[str, int], empty: dict[str, bool], asked: set[str], deadline: float) -> Iterator[Look]:
        """Yield every job with what is to be done about it. `asked`: credentials whose next job was looked for."""
        for entry in self._records.open_jobs(self._slots):
            if entry.running:
                yield entry.job, partial(self._open, entry, done, empty, deadline)
            elif entry.credential not in asked:
                asked |= {entry.credential} - {""}
                yield entry.job, partial(self._ready, entry, done)
        for name in self._records.doubts(int(self._clock.now() * 1000)):
            yield name, partial(self._look, name, done)
        for walk in self._others:
            yield from walk()

    def _ready(self, entry: OpenJob, done: dict[str, int]) -> None:
        """Start a job, or the next of those that wait for its credential."""
        self._census.wait(entry)
        started = self._planner.next(entry.credential) if entry.credential else self._planner.react(entry.job)
        if entry.credential and not started:
            self._records.clear(entry.credential)
        done["planned"] += len(started)

    def _open(self, entry: OpenJob, done: dict[str, int], empty: dict[str, bool], deadline: float) -> None:
        job = self._records.job(entry.job)
        if job is not None and job.retry is not None:
            done["planned"] += self._retrier.carry_on(job.id, deadline) and self._planner.plan(job.id) is not None
        if job is None or job.state in (JobState.READY, JobState.LOGGED):
            return
        for x in self._some(job):
            self._one(job, x, done, empty)
        done["logged"] += self._logger.finalise(job.id) is JobState.LOGGED

    def _some(self, job: Job) -> list[Ledger]:
        """Return the next MAX_LEDGERS ledgers of a job; the cursor lives as long as the function's instance."""
        ledgers = self._ledgers.read_all(job.id)
        self._census.see(job, ledgers)
        if len(ledgers) <= MAX_LEDGERS:
            return ledgers
        start = self._cursor.get(job.id, 0) % len(ledgers)
        self._cursor[job.id] = start + MAX_LEDGERS
        return (ledgers[start:] + ledgers[:start])[:MAX_LEDGERS]

    def _one(self, job: Job, x: Ledger, done: dict[str, int], empty: dict[str, bool]) -> None:
        current = x
        if x.status is LedgerStatus.BUSY:
            taken = self._recovery.take_over(job, x)
            if taken is None:
                return
            done["taken_over"] += 1  # and pointed to, if work is left
            current = taken
        elif x.status is LedgerStatus.DONE and due(self._clock.now() - x.released_at / 1000, INTERVAL):
            done["asked"] += bool(x.having(Cell.UNKNOWN)) and self._ask(job, x)
        elif x.status is LedgerStatus.IDLE and job.state in ACTIVE:
            if x.lane not in self._lanes:
                done["pointed"] += self._is_left(job, x) and self._recovery.leave(job, x)
            elif self._lost(job, x, empty):
                done["pointed"] += self._recovery.point(job, x)
        if rules.fold(current) is not None:
            done["folded"] += self._records.fold(current, job) is not None

    def _look(self, name: str, done: dict[str, int]) -> None:
        """Have providers asked about a finished job's doubts, and note when to ask again."""
        job = self._records.job(name)
        if job is None or job.state is not JobState.LOGGED:
            return
        elapsed = self._clock.now() - job.finished_at / 1000
        doubtful = [x for x in self._ledgers.read_all(name) if x.having(Cell.UNKNOWN)]
        following = next_look(elapsed) if doubtful else None
        self._records.look_again(name, job.finished_at + round(following * 1000) if following else None)
        done["asked"] += sum(self._ask(job, x) for x in doubtful)

    def _ask(self, job: Job, x: Ledger) -> bool:
        """Have the providers of a chunk's doubtful attempts asked, each in its own lane."""
        doubts = {(i, x.cells[i] >> 4) for i in x.having(Cell.UNKNOWN)}
        windows, _ = self._records.details(job.id, x.chunk)
        made = {w.credential for w in windows for e in w.entries if (e.index, e.attempt) in doubts}
        for credential in sorted(made):
            self._lanes[credential].send([question(job.id, x.chunk)], group=job.id)
        return bool(made)

    def _lost(self, job: Job, x: Ledger, empty: dict[str, bool]) -> bool:
        """Tell whether the ledger's pointer seems lost: its lane is empty, or nothing happened for an hour.

        That of a paused one is not needed; once it is resumed it may be gone.
        """
        now = int(self._clock.now() * 1000)
        if x.not_before > now:
            return False
        hold = self._hold(job.account, x.lane)
        if hold.paused:
            return False
        last = max(job.planned_at, x.released_at, x.not_before)
        if last <= hold.resumed_at and now - hold.resumed_at < RESUMED_MS:
            return True
        if x.lane not in empty:
            empty[x.lane] = self._lanes[x.lane].is_empty()
        return empty[x.lane] or now - last > LOST_AFTER_MS

    def _is_left(self, job: Job, x: Ledger) -> bool:
        """Tell whether a chunk waits in the lane of a credential that is declared no more, for an hour by now.

        While a deployment is under way, others may know of a credential that is not declared here yet.
        """
        now = int(self._clock.now() * 1000)
        last = max(job.planned_at, x.released_at, x.not_before)
        return now - last > LOST_AFTER_MS and not self._hold(job.account, x.lane).paused

    def _hold(self, account: str, lane: str) -> Hold:
        key = (account, lane)
        if key not in self._held:
            self._held[key] = self._holds.read(account, lane)
        return self._held[key]
