"""Logs of a batch: a line per recipient from the first moment."""

from typing import Final

from functions.api.call import Call
from functions.api.jobs.log_views import LogLineView, LogPage, log_line
from functions.api.jobs.routes import owned
from functions.api.requests import LogQuery
from shared.domain.accounts import Scope
from shared.domain.ids import parse_message_id
from shared.domain.recipients import addresses
from shared.engine.reports.message_log import Filter
from shared.web import cursors
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import AnyRoute, Nothing, Route


def lines(call: Call[LogQuery, Nothing]) -> Answer:
    """Return a page of lines, in list order."""
    job, _ = owned(call, "batch")
    query = call.query
    wanted = Filter(
        states=frozenset(query.state or ()), statuses=frozenset(query.status or ()), recipient=_key(query.recipient)
    )
    start = cursors.lines(query.cursor)
    found, after = call.services.logs.lines(job, wanted, start=start, limit=query.limit)
    return LogPage(items=[log_line(x) for x in found], next_cursor=cursors.write_line(after)).answer()


def _key(recipient: str | None) -> str:
    """Return what a recipient is compared by: the normalised address, or the invalid text as it was stored."""
    if recipient is None:
        return ""
    parsed = addresses.parse(recipient)
    return parsed.key if isinstance(parsed, addresses.Address) else parsed.text


def line(call: Call[Nothing, Nothing]) -> Answer:
    """Return one message's line."""
    job, _ = owned(call, "batch")
    place = parse_message_id(call.path["message"])
    found = call.services.logs.line(job, *place) if place else None
    if found is None:
        raise Problem("not_found")
    return log_line(found).answer()


ROUTES: Final[tuple[AnyRoute, ...]] = (
    Route(
        method="GET",
        path="/batches/{id}/logs",
        name="listBatchLogs",
        tag="Batches",
        summary="The outcome for each recipient",
        description="In list order. With a filter a page may be short, even empty, and still carry a cursor.",
        scope=Scope.READ,
        handler=lines,
        query=LogQuery,
        body=Nothing,
        answers={200: LogPage},
        problems=("not_found", "bad_cursor"),
    ),
    Route(
        method="GET",
        path="/batches/{id}/logs/{message}",
        name="getBatchLog",
        tag="Batches",
        summary="One message and its attempts",
        scope=Scope.READ,
        handler=line,
        query=Nothing,
        body=Nothing,
        answers={200: LogLineView},
        problems=("not_found",),
    ),
)
