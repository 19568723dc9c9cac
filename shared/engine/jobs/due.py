"""The message that says that a job's time has come."""

from shared.domain.jobs.job import Job
from shared.engine.intake.schedules import Schedules
from shared.engine.jobs.plan import Planner
from shared.ports import Records


class Due:
    """Handles the message that a job's time has come."""

    def __init__(self, *, records: Records, planner: Planner, schedules: Schedules) -> None:
        self._records = records
        self._planner = planner
        self._schedules = schedules

    def arrived(self, job_id: str) -> Job | None:
        """Start a job if its time has come, None otherwise; one that still waits is waited for again.

        A message that is repeated, late, or about a job that was stopped or started changes nothing.
        """
        planned = self._planner.plan(job_id)
        if planned is None:
            job = self._records.job(job_id)
            if job is not None:
                self._schedules.hint(job)
        return planned
