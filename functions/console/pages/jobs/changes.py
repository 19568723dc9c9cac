"""Stop, resume and retry: a page asks, with the number of messages that it is about, and its button does it."""

from collections.abc import Callable
from typing import Final

from functions.console.call import ConsoleCall
from functions.console.pages.jobs.routes import owned
from functions.console.pages.jobs.view import JobRow
from functions.console.screen import Denial, PageRoute, absent, leave_for
from shared.domain.accounts import Scope
from shared.domain.jobs.job import Job
from shared.domain.spending.limits import sentence
from shared.engine.jobs.control import NotNow, Resumed
from shared.web.http import Answer

TOO_LATE: Final = Denial(
    409, "This is no longer possible", "The job has changed since the page was shown. Look at it again."
)
NOTHING: Final = Denial(
    409,
    "There is nothing to send again",
    "Nothing was changed. A message can be repeated if it failed for the time being, not if it bounced or was refused.",
)
REASONS: Final = {
    "job_in_progress": "The job is still being sent. Wait until it has ended, or stop it first.",
    "stopping": "The job is being stopped. Try again in a few seconds.",
    "expired": "The job is too old: what is known of it goes soon.",
    "sender_removed": "The account may no longer send from the job's address.",
    "not_for_notices": "The job belongs to notices or to a mail, which decide themselves what is sent again.",
    "already_started": "The job no longer waits for its time. You can stop it.",
    "schedule_changed": "Somebody else has given the job another time meanwhile. Look at it again.",
    "time_approved": "The list was approved with its time. To send at another one, stop the job, upload the list again "
    "and have it approved.",
    "too_late": "Choose a time within 30 days of the upload.",
}
MAY_REPEAT: Final = "unknown"
"""A choice of a retry: those of unknown fate, which may arrive twice."""


def ask_to_stop(call: ConsoleCall) -> Answer:
    """Ask whether to stop a job."""
    row = owned(call)
    _possible(row.can_stop)
    waiting = row.counts["queued"]
    what = "will not be sent unless you resume the job"
    return _ask(call, row, "stop", "Stop", waiting, what, begins=_begins(call, row))


def ask_to_resume(call: ConsoleCall) -> Answer:
    """Ask whether to send what a stop kept back."""
    row = owned(call)
    _possible(row.can_resume)
    return _ask(call, row, "resume", "Resume", row.counts["queued"], "will be sent", begins=_begins(call, row))


def ask_to_retry(call: ConsoleCall) -> Answer:
    """Ask whether to send again what failed."""
    row = owned(call)
    _possible(row.can_retry)
    counts = call.services.control.repeatable(row.job)
    if not counts["failed"] + counts["unknown"]:
        raise NOTHING
    what = "that failed, and can be repeated, will be sent again"
    if counts["unsent"]:
        what += f". So will the {counts['unsent']:,} that a stop kept back"
    return _ask(call, row, "retry", "Retry", counts["failed"], what, unknown=counts["unknown"])


def _begins(call: ConsoleCall, row: JobRow) -> int:
    """Return the time that a job waits for, Unix milliseconds; 0: for none."""
    return row.job.not_before if row.job.not_before > call.services.now else 0


def _ask(call: ConsoleCall, row: JobRow, action: str, label: str, count: int, what: str, **more: int) -> Answer:
    """Show a question. `more`: how many are of `unknown` fate; when sending `begins`, in Unix milliseconds."""
    context = {"row": row, "action": action, "label": label, "count": count, "what": what}
    return call.services.pages.page(call, "jobs/change.html", {**context, "unknown": 0, "begins": 0, **more})


def _possible(holds: bool) -> None:  # noqa: FBT001 - of one argument
    if not holds:
        raise TOO_LATE


def stop(call: ConsoleCall) -> Answer:
    """Stop a job."""
    return _done(call, lambda job, by: call.services.control.stop(job.id, job.account, by=by))


def resume(call: ConsoleCall) -> Answer:
    """Send what a stop kept back."""
    return _done(call, lambda job, by: call.services.control.resume(job.id, job.account, by=by))


def retry(call: ConsoleCall) -> Answer:
    """Send again what failed; what may have arrived only if that was chosen."""
    include = {"failed"} | ({MAY_REPEAT} if call.form.get(MAY_REPEAT) else set())
    which = frozenset(include)
    return _done(call, lambda job, by: call.services.control.retry(job.id, job.account, which, by=by))


def _done(call: ConsoleCall, change: Callable[[Job, str], object]) -> Answer:
    """Change the job that the path names, in the visitor's name, and show it."""
    row = owned(call)
    changed = change(row.job, call.actor)
    if changed is None:
        raise absent("job")
    if isinstance(changed, NotNow):
        raise refused(changed)
    if isinstance(changed, Resumed) and not changed.messages:
        raise NOTHING
    return leave_for(call, f"jobs/{row.job.id}")


def refused(found: NotNow) -> Denial:
    """Return why a job is not changed."""
    if found.excess is not None:
        return Denial(429, "This is not possible now", sentence(found.excess))
    return Denial(409, "This is not possible now", REASONS.get(found.code, "Look at the job again."))


_JOB: Final = "/console/{account}/jobs/{job}"
ROUTES: Final = (
    PageRoute("GET", f"{_JOB}/stop", "ask to stop", ask_to_stop, Scope.SEND),
    PageRoute("GET", f"{_JOB}/resume", "ask to resume", ask_to_resume, Scope.SEND),
    PageRoute("GET", f"{_JOB}/retry", "ask to retry", ask_to_retry, Scope.SEND),
    PageRoute("POST", f"{_JOB}/stop", "stop", stop, Scope.SEND, ends=True),
    PageRoute("POST", f"{_JOB}/resume", "resume", resume, Scope.SEND),
    PageRoute("POST", f"{_JOB}/retry", "retry", retry, Scope.SEND),
)
