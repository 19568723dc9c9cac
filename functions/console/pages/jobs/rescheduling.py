"""Another time for a job that waits, or now: a page asks, with the old time, the new one and the number of messages."""

from datetime import UTC, datetime
from typing import Final

from functions.console import lists
from functions.console.call import ConsoleCall
from functions.console.pages.jobs.changes import TOO_LATE, refused
from functions.console.pages.jobs.routes import owned
from functions.console.pages.jobs.view import JobRow
from functions.console.pages.moments import TypedTime, typed_time
from functions.console.screen import Denial, PageRoute, absent, leave_for
from shared.domain.accounts import Scope
from shared.domain.hours.hours import begin_of
from shared.domain.times import Millis
from shared.engine.intake.declined import Declined
from shared.engine.jobs.control import NotNow
from shared.web.http import Answer


def ask_for_now(call: ConsoleCall) -> Answer:
    """Ask whether to send a job now."""
    row = _waiting(call)
    return _page(call, row, "now")


def ask_for_time(call: ConsoleCall) -> Answer:
    """Ask for a time; once one is chosen, ask whether to send the job then."""
    row = _waiting(call)
    query = call.request.query
    if "at" not in query:
        return _page(call, row, "time")
    try:
        chosen = typed_time(query)
    except ValueError as fault:
        return _page(call, row, "time", fault=str(fault))
    begin = _begin(call, chosen.begin)
    if isinstance(begin, Declined):
        return _page(call, row, "time", fault=_said(begin))
    return _page(call, row, "time", chosen)


def _waiting(call: ConsoleCall) -> JobRow:
    row = owned(call)
    if not row.can_move:
        raise TOO_LATE
    return row


def _page(call: ConsoleCall, row: JobRow, action: str, chosen: TypedTime | None = None, fault: str = "") -> Answer:
    """Show the question, or the form that comes before it.

    Args:
        action: `now` or `time`.
        chosen: the time that was typed; None: none was yet, or it is now.
        fault: what is wrong with the time; empty: nothing.
    """
    asked = chosen.begin if chosen is not None else call.services.now
    context = {
        "row": row,
        "action": action,
        "chosen": chosen,
        "typed": {name: call.request.query.get(name, "") for name in ("at", "zone")},
        "fault": fault,
        "was": row.job.not_before,
        "begins": begin_of(row.job.hours, asked),
        "asked": asked,
    }
    return call.services.pages.page(call, "jobs/time.html", context, status=422 if fault else 200)


def _begin(call: ConsoleCall, chosen: Millis) -> Millis | Declined:
    """Return when sending is to begin, 0: now."""
    return call.services.campaigns().intake.begin_at(datetime.fromtimestamp(chosen / 1000, UTC))


def _said(found: Declined) -> str:
    return " ".join(fault.text for fault in found.faults)


def move_to_now(call: ConsoleCall) -> Answer:
    """Send a job now."""
    return _moved(call, owned(call), 0)


def move(call: ConsoleCall) -> Answer:
    """Send a job at the time that the question has named."""
    row = owned(call)
    begin = _begin(call, lists.number(call.form.get("begin", ""), lists.TIME_DIGITS) or 0)
    if isinstance(begin, Declined):
        raise Denial(422, "Nothing was changed", _said(begin))
    return _moved(call, row, begin)


def _moved(call: ConsoleCall, row: JobRow, wanted: Millis) -> Answer:
    """Give a job another time in the visitor's name, if it still waits for the time that the question has named."""
    was = lists.number(call.form.get("was", ""), lists.TIME_DIGITS)
    found = call.services.rescheduler.move(row.job, wanted, by=call.actor, seen=was or 0)
    if found is None:
        raise absent("job")
    if isinstance(found, NotNow):
        raise refused(found)
    return leave_for(call, f"jobs/{row.job.id}")


_JOB: Final = "/console/{account}/jobs/{job}"
ROUTES: Final = (
    PageRoute("GET", f"{_JOB}/now", "ask to send now", ask_for_now, Scope.SEND),
    PageRoute("GET", f"{_JOB}/time", "ask for another time", ask_for_time, Scope.SEND),
    PageRoute("POST", f"{_JOB}/now", "send now", move_to_now, Scope.SEND),
    PageRoute("POST", f"{_JOB}/time", "send at another time", move, Scope.SEND),
)
