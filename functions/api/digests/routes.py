"""Windows of digests: listed, read, closed now, cancelled."""

from typing import Any, Final

from functions.api.call import Call
from functions.api.declined import accepted
from functions.api.digests.requests import DigestQuery
from functions.api.digests.views import WindowPage, WindowView
from shared.domain.accounts import Scope
from shared.web import cursors
from shared.web.http import Answer
from shared.web.problems import Problem, missing
from shared.web.routing import Nothing, Route, section


def pages(call: Call[DigestQuery, Nothing]) -> Answer:
    """Return a page of windows, newest first."""
    query, store = call.query, call.services.digests().pages
    place = cursors.digests(call)
    if query.batch_key is None:
        found, after = store.page(call.key.namespace, after=place, limit=query.limit)
    else:
        found, after = store.of_key(call.key.namespace, query.batch_key, after=place, limit=query.limit)
    wanted = [x for x in found if query.state in (None, x.state)]
    return WindowPage(
        items=[WindowView.model_validate(x) for x in wanted], next_cursor=cursors.seal(call, after)
    ).answer()


def read(call: Call[Nothing, Nothing]) -> Answer:
    """Return a window."""
    return WindowView.model_validate(
        accepted(call.services.digests().service.read(*_named(call)), absent=_absent(call))
    ).answer()


def close(call: Call[Nothing, Nothing]) -> Answer:
    """Close a window now."""
    found = call.services.digests().service.close(*_named(call), by=call.key.id)
    return WindowView.model_validate(accepted(found, absent=_absent(call))).answer()


def cancel(call: Call[Nothing, Nothing]) -> Answer:
    """Cancel an open window."""
    found = call.services.digests().service.cancel(*_named(call), by=call.key.id)
    return WindowView.model_validate(accepted(found, absent=_absent(call))).answer()


def _absent(call: Call[Any, Any]) -> Problem:
    return missing("window", call.path["window_id"])


def _named(call: Call[Any, Any]) -> tuple[str, str]:
    return call.key.namespace, call.path["window_id"]


ROUTES: Final = section(
    "Events",
    Route(
        method="GET",
        path="/digests",
        name="listDigests",
        summary="Windows of events, newest first",
        scope=Scope.READ,
        handler=pages,
        answers={200: WindowPage},
        problems=("bad_cursor",),
    ),
    Route(
        method="GET",
        path="/digests/{window_id}",
        name="getDigest",
        summary="A window, and the job that it became",
        scope=Scope.READ,
        handler=read,
        answers={200: WindowView},
        problems=("not_found",),
    ),
    Route(
        method="POST",
        path="/digests/{window_id}/close",
        name="closeDigest",
        summary="Close a window now",
        description="Its digest is made at once. A window that has closed stays as it is.",
        scope=Scope.SEND,
        handler=close,
        answers={200: WindowView},
        problems=("not_found", "closed"),
    ),
    Route(
        method="DELETE",
        path="/digests/{window_id}",
        name="cancelDigest",
        summary="Cancel an open window",
        description="None of its events is sent. The next event of the key opens another window.",
        scope=Scope.SEND,
        handler=cancel,
        answers={200: WindowView},
        problems=("not_found", "closed"),
    ),
)
