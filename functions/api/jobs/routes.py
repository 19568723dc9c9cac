"""Jobs of every kind: lists, one of them, stop, retry, resume. Those of batches are the same calls."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from functions.api.call import Call, now_of
from functions.api.declined import accepted, overspent
from functions.api.jobs.narrowing import ListQuery, narrowed
from functions.api.requests import Reschedule, Retry, commas
from functions.api.views import JobPage, JobView, Restarted, job_view, progress_view
from shared.domain.accounts import Scope
from shared.domain.ids import is_id
from shared.domain.jobs.job import DIGEST, Job
from shared.domain.jobs.states import JobState
from shared.engine.jobs.control import NotNow, Resumed
from shared.engine.jobs.rescheduling import TOO_LATE
from shared.ports import Control
from shared.web import cursors
from shared.web.http import Answer
from shared.web.problems import Problem, invalid, missing
from shared.web.routing import Nothing, Route, section

KINDS: Final = ("batch", "campaign", DIGEST)
"""Kinds of jobs that there are; each has its own place in the index."""

SEEN: Final = "A test key sees only the jobs of test keys, a live key all."

NOT_MOVED: Final = ("already_started", "schedule_changed", "time_approved")
"""Why a job does not get another time."""

NARROWED: Final = f"{SEEN} With a filter a page may be short, even empty, and still carry a cursor."

Handler = Callable[[Call[Any, Any]], Answer]


def owned(call: Call[Any, Any], kind: str | None = None) -> tuple[Job, Control]:
    """Return the job that the path names; Problem not_found unless it is there for the caller, and of that kind."""
    job_id = call.path["id"]
    control = call.services.records.control(job_id, call.key.account) if is_id(job_id) else None
    job = control.job if control else None
    if control is None or job is None or not visible(call, job) or (kind and job.kind != kind):
        raise missing(kind or "job", job_id)
    return job, control


def visible(call: Call[Any, Any], job: Job) -> bool:
    """Tell whether a job is there for the caller: its account's, and for a test key one that reaches no provider."""
    return job.account == call.key.account and (job.test or not call.key.test)


def seen(call: Call[Any, Any], job: Job, *, paused: bool) -> JobView:
    """Return a job as it is now: live counts, what it waits for, and when it is done."""
    return progress_view(job, call.services.progress.read(job, paused=paused))


class JobListQuery(ListQuery):
    """Which jobs. All filters must hold."""

    state: Annotated[list[JobState] | None, BeforeValidator(commas)] = Field(
        None, description="States, separated by commas."
    )
    name: str | None = Field(None, min_length=1, max_length=200, description="A part of its name, in any case.")

    def takes(self, job: Job) -> bool:
        """Tell whether a job is asked for."""
        named = self.name is None or self.name.casefold() in job.name.casefold()
        return named and self.reference in (None, job.labels.reference) and (not self.state or job.state in self.state)


def lister(kinds: tuple[str, ...]) -> Handler:
    """Return the handler of a list of jobs of those kinds."""

    def answer(call: Call[JobListQuery, Nothing]) -> Answer:
        query = call.query

        def read(place: str) -> tuple[list[Job], str]:
            return call.services.listing.page(
                call.key.account, kinds, tests_only=call.key.test, after=place, limit=query.limit
            )

        jobs, after = narrowed(query, cursors.jobs(call), read, lambda job: visible(call, job) and query.takes(job))
        now = now_of(call)
        items = [job_view(job, call.services.settings, now) for job in jobs]
        return JobPage(items=items, next_cursor=cursors.seal(call, after)).answer()

    return answer


def reader(kind: str | None) -> Handler:
    """Return the handler of one job, of that kind or any."""

    def answer(call: Call[Nothing, Nothing]) -> Answer:
        job, control = owned(call, kind)
        return seen(call, job, paused=control.paused).answer()

    return answer


def stopper(kind: str | None) -> Handler:
    """Return the handler of stop."""

    def answer(call: Call[Nothing, Nothing]) -> Answer:
        before, control = owned(call, kind)
        job = call.services.control.stop(before.id, call.key.account, by=call.key.id)
        if job is None:
            raise missing(kind or "job", before.id)
        if isinstance(job, NotNow):
            raise not_now(job)
        return seen(call, job, paused=control.paused).answer()

    return answer


def retrier(kind: str | None) -> Handler:
    """Return the handler of retry."""

    def answer(call: Call[Nothing, Retry]) -> Answer:
        job, _ = owned(call, kind)
        include = frozenset(call.body.include)
        return _restarted(job.id, call.services.control.retry(job.id, call.key.account, include, by=call.key.id))

    return answer


def resumer(kind: str | None) -> Handler:
    """Return the handler of resume."""

    def answer(call: Call[Nothing, Nothing]) -> Answer:
        job, _ = owned(call, kind)
        return _restarted(job.id, call.services.control.resume(job.id, call.key.account, by=call.key.id))

    return answer


def mover(kind: str | None) -> Handler:
    """Return the handler that gives a job that waits another time."""

    def answer(call: Call[Nothing, Reschedule]) -> Answer:
        before, control = owned(call, kind)
        wanted = accepted(call.services.intake.begin_at(call.body.scheduled_at))
        job = call.services.rescheduler.move(before, wanted, by=call.key.id, seen=call.body.seen)
        if job is None:
            raise missing(kind or "job", before.id)
        if isinstance(job, NotNow):
            raise not_moved(job)
        return seen(call, job, paused=control.paused).answer()

    return answer


def not_moved(found: NotNow) -> Problem:
    """Return why a job does not get another time as its Problem."""
    late = found.code == TOO_LATE.code
    return invalid("scheduled_at", "Choose a time within 30 days of the upload.") if late else not_now(found)


def _restarted(job_id: str, found: Resumed | NotNow | None) -> Answer:
    if found is None:
        raise missing("job", job_id)
    if isinstance(found, NotNow):
        raise not_now(found)
    view = Restarted(job_id=found.job.id, state=found.job.state, messages=found.messages)
    return view.answer(202 if found.recorded else 200)


def not_now(found: NotNow) -> Problem:
    """Return why a job is not restarted as its Problem."""
    if found.excess is not None:
        return overspent(found.excess)
    headers = {"Retry-After": str(found.retry_after)} if found.retry_after is not None else {}
    return Problem(found.code, headers=headers)


def operations(path: str, name: str, kind: str | None) -> tuple[Route, ...]:
    """Return the operations on one job under a path such as `/batches/{id}`.

    Args:
        path: the resource's path, as in `/batches/{id}`.
        name: the end of each operation's id, as in `Batch`.
        kind: the job's kind that the path is for; None for any.
    """
    of_notices = () if kind else ("not_for_notices",)
    conflicts = ("job_in_progress", "stopping", "expired", "sender_removed", *of_notices)
    problems = ("not_found", "account_suspended", *conflicts, "quota_exceeded", "too_many_schedules")
    return (
        Route(
            method="GET",
            path=path,
            name=f"get{name}",
            summary="State, and counts that add up",
            scope=Scope.READ,
            handler=reader(kind),
            answers={200: JobView},
            problems=("not_found",),
        ),
        Route(
            method="POST",
            path=f"{path}/stop",
            name=f"stop{name}",
            summary="Stop",
            description="At most the windows already claimed still go out. Unchanged if all is sent already.",
            scope=Scope.SEND,
            handler=stopper(kind),
            answers={200: JobView},
            problems=("not_found",),
            while_suspended=True,
        ),
        Route(
            method="POST",
            path=f"{path}/reschedule",
            name=f"reschedule{name}",
            summary="Send at another time, or now",
            description="For what still waits for its time. A list that was approved with its time keeps it.",
            scope=Scope.SEND,
            handler=mover(kind),
            answers={200: JobView},
            problems=("not_found", "account_suspended", *NOT_MOVED, *of_notices),
        ),
        Route(
            method="POST",
            path=f"{path}/retry",
            name=f"retry{name}",
            summary="Send again what failed or was never sent",
            description="A large job (over 200 chunks) is made ready while its state still is LOGGED: 202.",
            scope=Scope.SEND,
            handler=retrier(kind),
            answers={200: Restarted, 202: Restarted},
            problems=problems,
        ),
        Route(
            method="POST",
            path=f"{path}/resume",
            name=f"resume{name}",
            summary="Send what was never sent",
            scope=Scope.SEND,
            handler=resumer(kind),
            answers={200: Restarted},
            problems=problems,
        ),
    )


ROUTES: Final = section(
    "Jobs",
    Route(
        method="GET",
        path="/jobs",
        name="listJobs",
        summary="Jobs of every kind, newest first",
        description=NARROWED,
        scope=Scope.READ,
        handler=lister(KINDS),
        answers={200: JobPage},
        problems=("bad_cursor",),
    ),
    *operations("/jobs/{id}", "Job", None),
)
