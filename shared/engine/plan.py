"""Planning: a READY job that is due becomes ENQUEUED, and its chunks' pointers go out (J1)."""

from shared.domain.jobs import Job
from shared.domain.states import Change, JobState
from shared.engine.accept import send_pointers
from shared.ports import Clock, Lanes, LedgerStore, Records


class Planner:
    """Starts jobs. A second plan of the same job only duplicates pointers."""

    def __init__(self, *, records: Records, ledgers: LedgerStore, lanes: Lanes, clock: Clock) -> None:
        self._records = records
        self._ledgers = ledgers
        self._lanes = lanes
        self._clock = clock

    def plan(self, job_id: str) -> Job | None:
        """Start a job if it is READY and due; None otherwise."""
        job = self._records.job(job_id)
        if job is None or job.state is not JobState.READY:
            return None
        now = int(self._clock.now() * 1000)
        if job.not_before > now:
            return None
        changed = self._records.change(job, Change.PLAN, now)
        if not changed.won or changed.job is None:
            return None
        send_pointers(self._lanes, job_id, self._ledgers.list_queue(job_id))
        return changed.job
