"""The HTTP API's function: read the event, find the route, authenticate, validate, call, answer.

A log line names the operation, the account, the ids that it was about or has made, and the outcome. It never has a
path, an address, a body or a key. Messages of faults may quote one, so only a fault's kind and place are logged.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from functions.api.access.asked import ASKED
from functions.api.access.moving import says_where
from functions.api.access.refused import count
from functions.api.access.tokens import FORMS as TOKEN_FORMS
from functions.api.docs.page import FILES
from functions.api.doors.routes import form_of
from functions.api.operations import ROUTES
from functions.api.personal import note_read, note_refused
from functions.api.services import ApiServices, build
from functions.early import early
from shared.adapters import logs
from shared.bootstrap import Deployment
from shared.bootstrap.edge import edge_of
from shared.domain.ids import is_id
from shared.web import answering, http
from shared.web.access.edge import NO_EDGE, Edge
from shared.web.authentication import KeyRefused, authenticate
from shared.web.etags import kept
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import Exchange, Page, Public, PublicRequest, find

logger = logs.lines("api")
_ROUTES: Final = (*ROUTES, *FILES, *ASKED)


@cache
def services() -> ApiServices:
    """Return the process's services, made by its first request."""
    return build(Deployment())


early(services)


@cache
def edge() -> Edge:
    """Return the edge that requests have to come by."""
    return edge_of(os.environ)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answer one event of an HTTP API (payload 2.0)."""
    return respond(event, answering.request_id(event, context), services, edge())


def respond(
    event: Mapping[str, Any], request_id: str, using: Callable[[], ApiServices], by: Edge = NO_EDGE
) -> dict[str, Any]:
    """Answer one event; never raises.

    Args:
        event: of an HTTP API, payload 2.0.
        request_id: names the request in the log and in the answer to a fault.
        using: gives the services; not called for what needs no key.
        by: the edge that it has to come by.
    """
    logs.begin(logger, request_id)
    return answering.answered(
        logger,
        event,
        request_id,
        lambda seen: _answer(http.arrived(by, event), request_id, using, seen),
        lambda found, request: _problem(event, found, request),
    )


def _answer(
    event: Mapping[str, Any], request_id: str, using: Callable[[], ApiServices], seen: dict[str, Any]
) -> Answer:
    request = http.read(event, request_id)
    route, path = find(_ROUTES, request)
    seen["operation"] = route.name
    if isinstance(route, Page):
        return kept(request, route.handler())
    if isinstance(route, Public):
        return route.handler(PublicRequest(request, using(), path))
    services = using()
    with _counted(services, seen):
        if isinstance(route, Exchange):
            return route.handler(PublicRequest(request, services, path))
        with says_where(services):
            caller = authenticate(request, route, services.keeper)
    key = caller.key
    seen |= {"account": key.account, "test": key.test, "notifier" if caller.notifier else "key_id": key.id}
    seen["about"] = [name for name in path.values() if is_id(name)]
    with says_where(services, key.account):
        answer = route.answer(request, services, caller, path)
    note_read(using(), route, caller, path)
    made = answer.headers.get("Location", "").rpartition("/")[2]
    if is_id(made):
        seen["about"].append(made)
    return answer


@contextmanager
def _counted(services: ApiServices, seen: dict[str, Any]) -> Iterator[None]:
    """Count and note a key that is refused, and let the line of the log say why."""
    try:
        yield
    except KeyRefused as refused:
        seen |= {"refused": refused.reason.value, **({"key_id": refused.key_id} if refused.key_id else {})}
        count(services.settings.stage, refused.reason)
        note_refused(services, refused)
        raise


def _problem(event: Mapping[str, Any], found: Problem, request_id: str) -> Answer:
    """Return a problem in the form of the path: clients of another service's API read no other."""
    path = http.path_of(event).strip("/")
    form = TOKEN_FORMS.get(path) or form_of(path.split("/"))
    return form.answer(found, request_id) if form is not None else http.problem(found, request_id)
