"""Having providers asked about messages of unknown fate. Source: docs/protocol.md, "Resolve"."""

from collections.abc import Callable, Iterator
from functools import partial

from shared.contracts import question
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.look_ups import next_look
from shared.domain.jobs.queue import LedgerQueue
from shared.domain.jobs.states import Cell, JobState
from shared.engine.walks import Inspection, Run
from shared.frozen import dataclass
from shared.ports import Clock, Lanes, Records


@dataclass(frozen=True, slots=True)
class Asking:
    """Sends questions to the lanes of doubtful attempts. `answers`: whether a credential's provider can be asked."""

    records: Records
    lanes: Lanes
    answers: Callable[[str], bool]

    def about(self, job: Job, x: Ledger) -> bool:
        """Have the providers of a chunk's doubtful attempts asked, each in its own lane; False if none can answer."""
        if not any(map(self.answers, job.route)):
            return False
        doubts = {(i, x.cells[i] >> 4) for i in x.having(Cell.UNKNOWN)}
        windows, _ = self.records.details(job.id, x.chunk)
        made = {w.credential for w in windows for e in w.entries if (e.index, e.attempt) in doubts}
        asked = sorted(filter(self.answers, made))
        for credential in asked:
            self.lanes[credential].send([question(job.id, x.chunk)], group=job.account, express=job.express)
        return bool(asked)


@dataclass(frozen=True, slots=True)
class Doubts:
    """The walk of finished jobs with messages of unknown fate, by when to ask next."""

    records: Records
    ledgers: LedgerQueue
    clock: Clock
    asking: Asking

    def looks(self, run: Run, _after: str) -> Iterator[Inspection]:
        """Yield the jobs whose time has come; each has another time afterwards, or is no more among them."""
        for name in self.records.doubts(int(self.clock.now() * 1000)):
            yield Inspection(name, "", partial(self._look, name, run))

    def _look(self, name: str, run: Run) -> None:
        """Have providers asked about a job's doubts, and note when to ask again: never, if none of them can answer."""
        job = self.records.job(name)
        if job is None or job.state is not JobState.LOGGED:
            return
        doubtful = [x for x in self.ledgers.read_all(name) if x.having(Cell.UNKNOWN)]
        asked = sum(self.asking.about(job, x) for x in doubtful)
        following = next_look(self.clock.now() - job.finished_at / 1000) if asked else None
        self.records.look_again(name, job.finished_at + round(following * 1000) if following else None)
        run.tally.add("asked", asked)
