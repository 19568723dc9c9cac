"""Calls of notifiers: the updates of their notices."""

from typing import Any, Final

from functions.api.call import Call
from functions.api.notices.views import UpdateList
from shared.domain.accounts import Scope
from shared.domain.notices.notifier import Notifier
from shared.domain.notices.updates import BadRange, link_range
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import AnyRoute, Nothing, Route, Scheme


def updates(call: Call[Nothing, Nothing]) -> Answer:
    """Return the updates of a range, with a link to the rest if it is too long for one answer."""
    found = call.services.notices().updates.read(caller(call), call.path["range"])
    if isinstance(found, BadRange):
        raise Problem("bad_range", found.text)
    rest = found.rest
    links = {"Link": f'<{link_range(rest)}>; rel="next"'} if rest is not None else {}
    return Answer(200, found.body, links)


def caller(call: Call[Any, Any]) -> Notifier:
    """Return the notifier that calls; these routes let in nobody else."""
    if call.notifier is None:
        raise Problem("unauthorized")
    return call.notifier


_TAG: Final = "Notices"

ROUTES: Final[tuple[AnyRoute, ...]] = (
    Route(
        method="GET",
        path="/message_updates/{range}",
        name="listMessageUpdates",
        tag=_TAG,
        summary="Updates of notices in a range of time",
        description="The answer ends at the last whole second that is at least 5 seconds ago. A longer answer ends "
        'earlier, with `Link: <…>; rel="next"` to the rest, relative to this address. An entry never '
        "appears in a range that was answered before. So a reader that asks again "
        "from the last `updated_at` + 1 s gets every entry exactly once.",
        scope=Scope.READ,
        handler=updates,
        query=Nothing,
        body=Nothing,
        answers={200: UpdateList},
        problems=("bad_range",),
        schemes=(Scheme.BASIC,),
        status=True,
    ),
)
