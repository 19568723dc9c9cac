"""Jobs that wait for their time: which there are, and what takes one back."""

from typing import Final

from functions.api.call import Call, now_of
from functions.api.jobs.routes import owned
from functions.api.views import JobPage, JobView, job_view
from shared.domain.accounts import Scope
from shared.engine.jobs.progress import JobSurroundings
from shared.web import cursors
from shared.web.http import Answer
from shared.web.inputs import Paging
from shared.web.problems import Problem, missing
from shared.web.routing import Nothing, Route, section


def waiting(call: Call[Paging, Nothing]) -> Answer:
    """Return a page of the account's jobs that wait for their time."""
    place = cursors.jobs(call)
    jobs, after = call.services.schedules.page(
        call.key.account, tests_only=call.key.test, after=place, limit=call.query.limit
    )
    now = now_of(call)
    items = [job_view(job, call.services.settings, now) for job in jobs]
    return JobPage(items=items, next_cursor=cursors.seal(call, after)).answer()


def withdraw(call: Call[Nothing, Nothing]) -> Answer:
    """Stop a job that still waits."""
    before, control = owned(call)
    job, stopped = call.services.schedules.withdraw(before.id, call.key.account, by=call.key.id)
    if job is None:
        raise missing("scheduled job", before.id)
    if not stopped:
        raise Problem("already_started")
    live = call.services.logs.counts(job)
    now = now_of(call)
    return job_view(job, call.services.settings, now, live, JobSurroundings(paused=control.paused)).answer()


ROUTES: Final = section(
    "Schedules",
    Route(
        method="GET",
        path="/schedules",
        name="listSchedules",
        summary="Jobs that wait for their time, soonest first",
        description="A test key sees only the jobs of test keys. A page is full or the last one, unless thousands of "
        "jobs between were stopped.",
        scope=Scope.READ,
        handler=waiting,
        answers={200: JobPage},
        problems=("bad_cursor",),
    ),
    Route(
        method="DELETE",
        path="/schedules/{id}",
        name="deleteSchedule",
        summary="Stop a job that still waits for its time",
        description="Cancels the job. None of its messages are sent. Returns 409 "
        "`already_started` if the job no longer waits.",
        scope=Scope.SEND,
        handler=withdraw,
        answers={200: JobView},
        problems=("not_found", "already_started"),
    ),
)
