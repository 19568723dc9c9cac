"""Whose turn it is on a credential: at every instant one campaign's jobs run on it, and the oldest went first."""

from collections.abc import Callable, Mapping
from typing import Final

from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from tests.statemachine.peek import Peek
from tests.statemachine.stage import running

RUNNING: Final = frozenset({JobState.ENQUEUED, JobState.SENDING, JobState.SENT})


class CampaignQueue:
    """Compares the jobs that reserve credentials with the reservations.

    Args:
        peek: reads what is stored.
        fail: told of a violation.
    """

    def __init__(self, peek: Peek, fail: Callable[[str], None]) -> None:
        self._peek = peek
        self._fail = fail
        self._now = 0
        """Counts looks: what happened before what."""
        self._began: dict[str, int] = {}
        self._states: dict[str, JobState] = {}
        self._ready: dict[str, int] = {}
        self._free: dict[str, int] = {}
        self._planned: set[str] = set()

    def begins(self, process: str) -> None:
        """Note that a process is about to begin: what is so by now, it can know."""
        self._began[process] = self._now

    def look(self, jobs: Mapping[str, Job]) -> None:
        """Check all jobs as they are stored now. `jobs`: by name."""
        self._now += 1
        exclusive = [job for job in jobs.values() if job.exclusive]
        for job in exclusive:
            self._step(job, exclusive)
        for credential in {job.route[0] for job in exclusive}:
            self._check(credential, [job for job in exclusive if job.route[0] == credential])

    def claims(self, job: Job) -> None:
        """Check that a job of which a worker claims messages holds its credential."""
        if job.exclusive and job.id not in self._peek.holder(job.route[0])[1]:
            self._fail(f"a claim of {job.campaign}, which does not hold the credential")

    def _step(self, job: Job, jobs: list[Job]) -> None:
        before, self._states[job.id] = self._states.get(job.id), job.state
        if before is job.state:
            return
        if job.state is JobState.READY:
            self._ready[job.id] = self._now
        elif before is JobState.READY and job.state in RUNNING:
            self._planned.add(job.id)
            self._oldest(job, jobs)
        elif job.state is JobState.LOGGED:
            self._planned.discard(job.id)

    def _oldest(self, started: Job, jobs: list[Job]) -> None:
        """Check that whoever started a job passed over no older one, if the credential was free all the time."""
        credential = started.route[0]
        began = self._began.get(running(), self._now)
        if self._free.get(credential, 0) > began or self._planned & {job.id for job in jobs} != {started.id}:
            return
        for job in jobs:
            waits = job.state is JobState.READY and self._ready[job.id] <= began and job.route[0] == credential
            older = (job.created_at, job.id) < (started.created_at, started.id)
            if waits and older and job.due_at <= started.planned_at:
                self._fail(f"a job of {started.campaign} starts before an older one of {job.campaign}")

    def _check(self, credential: str, jobs: list[Job]) -> None:
        holder, held = self._peek.holder(credential)
        active = {job.id for job in jobs if job.state in RUNNING}
        self._planned -= {job.id for job in jobs if job.state is JobState.READY} - held  # these have given it back
        if len({job.campaign for job in jobs if job.id in active}) > 1:
            self._fail("jobs of two campaigns run on one credential")
        if active - held:
            self._fail("a job runs without its credential")
        if held - self._planned:
            self._fail("a credential is held by a job that does not run")
        if self._planned - held & {job.id for job in jobs}:
            self._fail("a job that has not come to its end has lost its credential")
        if {job.campaign for job in jobs if job.id in held} - {holder}:
            self._fail("a credential is held by one campaign for the jobs of another")
        if not held and self._free.get(credential, -1) < 0:
            self._free[credential] = self._now
        elif held:
            self._free[credential] = -1
