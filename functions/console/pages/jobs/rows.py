"""Jobs as rows, with what keeps those that are open: read side by side."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final

from functions.console.call import ConsoleCall
from functions.console.pages.jobs.view import JobRow, row
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.engine.jobs.progress import progress
from shared.ports.records import Control

NO_JOB: Final = "0" * 26
"""Whether an account is paused is read with a job; this one is not there."""


def pause_of(call: ConsoleCall) -> "Future[Control]":
    """Begin to read whether the account, or everything, is paused."""
    return call.services.reads.submit(call.services.records.control, NO_JOB, call.account)


def rows(call: ConsoleCall, jobs: Sequence[Job], *, paused: bool) -> list[JobRow]:
    """Return jobs as people read them. An open job has its live counts and the reason why it waits.

    Args:
        paused: whether the account, or everything, is paused.
    """
    services = call.services
    under_way = [job for job in jobs if job.state is not JobState.LOGGED]
    live = services.progress.read_all(under_way, paused=paused, each=services.reads.map)
    return [row(job, live.get(job.id) or progress(job, services.settings, services.now)) for job in jobs]
