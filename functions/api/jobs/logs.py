"""Logs of a batch, or of any job: a line per recipient from the first moment."""

from typing import Final

from functions.api.call import Call
from functions.api.jobs.log_views import LogLineView, LogPage, log_line_views
from functions.api.jobs.routes import Handler, owned
from functions.api.requests import LogQuery
from shared.domain.accounts import Scope
from shared.domain.ids import named, parse_message_id
from shared.engine.reports.explained import key_of
from shared.engine.reports.message_log import Filter
from shared.web import cursors
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Nothing, Route, section


def lines(kind: str | None) -> Handler:
    """Return the handler of a page of lines, in list order, of a job of that kind or any."""

    def answer(call: Call[LogQuery, Nothing]) -> Answer:
        job, _ = owned(call, kind)
        query = call.query
        wanted = wanted_by(query, key_of(query.recipient) if query.recipient is not None else "")
        start = cursors.lines(query.cursor)
        found, after = call.services.logs.lines(job, wanted, start=start, limit=query.limit)
        items = log_line_views(job, found, call.services.suppressions, call.services.records)
        return LogPage(items=items, next_cursor=cursors.write_line(after)).answer()

    return answer


def wanted_by(query: LogQuery, recipient: str) -> Filter:
    """Return which messages a query asks for. `recipient`: the normalised key; empty: all."""
    return Filter(
        frozenset(query.state or ()),
        frozenset(query.status or ()),
        recipient,
        credential=query.credential or "",
        fate=query.attempt,
    )


def line(kind: str | None) -> Handler:
    """Return the handler of one message's line."""

    def answer(call: Call[Nothing, Nothing]) -> Answer:
        job, _ = owned(call, kind)
        place = parse_message_id(call.path["message"])
        found = call.services.logs.line(job, *place) if place else None
        if found is None:
            shown = named("message", call.path["message"])
            raise Problem("not_found", f"The {job.kind} {job.id} has no {shown}. Its log shows the ids that there are.")
        (view,) = log_line_views(job, [found], call.services.suppressions, call.services.records)
        return view.answer()

    return answer


def _routes(path: str, name: str, kind: str | None) -> tuple[Route, ...]:
    """Return the operations on the log of one job.

    Args:
        path: the resource's path, as in `/batches/{id}`.
        name: the middle of each operation's id, as in `Batch`.
        kind: the job's kind that the path is for; None for any.
    """
    return (
        Route(
            method="GET",
            path=f"{path}/logs",
            name=f"list{name}Logs",
            summary="The outcome for each recipient",
            description="In list order. With a filter a page may be short, even empty, and still carry a cursor.",
            scope=Scope.READ,
            handler=lines(kind),
            answers={200: LogPage},
            problems=("not_found", "bad_cursor"),
        ),
        Route(
            method="GET",
            path=f"{path}/logs/{{message}}",
            name=f"get{name}Log",
            summary="One message and its attempts",
            scope=Scope.READ,
            handler=line(kind),
            answers={200: LogLineView},
            problems=("not_found",),
        ),
    )


ROUTES: Final = (
    *section("Batches", *_routes("/batches/{id}", "Batch", "batch")),
    *section("Jobs", *_routes("/jobs/{id}", "Job", None)),
)
