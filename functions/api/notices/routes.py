"""Calls of notifiers: the updates of their notices, and single ones."""

from typing import Any, Final

from functions.api.call import Call
from functions.api.notices.views import NoticeView, UpdateList, notice_view
from shared.domain.accounts import Scope
from shared.domain.ids import named
from shared.domain.notices.notice import NoticeRun
from shared.domain.notices.notifier import Notifier
from shared.domain.notices.updates import BadRange, link_range
from shared.engine.reports.message_log import LogLine
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Nothing, Route, Scheme, section


def updates(call: Call[Nothing, Nothing]) -> Answer:
    """Return the updates of a range, with a link to the rest if it is too long for one answer."""
    found = call.services.notices().updates.read(caller(call), call.path["range"])
    if isinstance(found, BadRange):
        raise Problem("bad_range", found.text)
    rest = found.rest
    links = {"Link": f'<{link_range(rest)}>; rel="next"'} if rest is not None else {}
    return Answer(200, found.body, links)


def read(call: Call[Nothing, Nothing]) -> Answer:
    """Return a notice with its status and the attempts of its latest runs."""
    who = caller(call)
    services = call.services
    uuid = who.notice_id(call.path["message_id"])
    found = services.notices().notices.read([uuid]).get(uuid)
    if found is None or found.notifier != who.name or found.gone(int(services.clock.now() * 1000)):
        raise Problem("not_found", f"This notifier has no {named('message', call.path['message_id'])}, or no longer.")
    runs: list[tuple[NoticeRun, LogLine | None]] = []
    for run in found.runs:
        job = services.records.job(run.job)
        runs.append((run, services.logs.line(job, 0, run.index) if job is not None else None))
    return notice_view(found, runs).answer(zone=who.zone)


def caller(call: Call[Any, Any]) -> Notifier:
    """Return the notifier that calls. These routes let in only notifiers."""
    if call.notifier is None:
        raise Problem("unauthorized")
    return call.notifier


ROUTES: Final = section(
    "Notices",
    Route(
        method="GET",
        path="/messages/{message_id}",
        name="getMessage",
        summary="A notice with its status and attempts",
        description="Its times have the offset of the notifier's time zone.",
        scope=Scope.READ,
        handler=read,
        answers={200: NoticeView},
        problems=("not_found",),
        schemes=(Scheme.BASIC,),
        status=True,
    ),
    Route(
        method="GET",
        path="/message_updates/{range}",
        name="listMessageUpdates",
        summary="Updates of notices in a range of time",
        description="The answer ends at the last whole second that is at least 5 seconds ago. A longer answer ends "
        'earlier, with `Link: <…>; rel="next"` to the rest, relative to this address. An entry never '
        "appears in a range that was answered before. So a reader that asks again "
        "from the last `updated_at` + 1 s gets every entry exactly once.",
        scope=Scope.READ,
        handler=updates,
        answers={200: UpdateList},
        headers={"Link": 'The rest of a long answer, `<…>; rel="next"`, relative to this address.'},
        problems=("bad_range",),
        schemes=(Scheme.BASIC,),
        status=True,
    ),
)
