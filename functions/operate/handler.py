"""The operators' function: read the event, find the route, take the caller's identity from IAM, call, answer.

A log line names the operation, the operator and the outcome. It never has a path, a query or a body.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from functions.early import early
from functions.operate.call import caller_of
from functions.operate.operations import ROUTES
from functions.operate.services import OperateServices
from shared.adapters import logs
from shared.web import answering, http
from shared.web.http import Answer
from shared.web.routing import find

logger = logs.lines("operate")


@cache
def services() -> OperateServices:
    """Return the process's services, made by its first request."""
    return OperateServices()


early(services, lambda: services().accounts)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answer one event of an HTTP API (payload 2.0)."""
    return respond(event, answering.request_id(event, context), services)


def respond(event: Mapping[str, Any], request_id: str, using: Callable[[], OperateServices]) -> dict[str, Any]:
    """Answer one event; never raises.

    Args:
        event: of an HTTP API, payload 2.0.
        request_id: names the request in the log and in the answer to a fault.
        using: gives the services; not called for a caller whom IAM has not identified.
    """
    logs.begin(logger, request_id)
    return answering.answered(logger, event, request_id, lambda seen: _answer(event, request_id, using, seen))


def _answer(
    event: Mapping[str, Any], request_id: str, using: Callable[[], OperateServices], seen: dict[str, Any]
) -> Answer:
    caller = caller_of(event)
    seen["operator"] = caller.key.id
    request = http.read(event, request_id)
    route, path = find(ROUTES, request)
    seen["operation"] = route.name
    return route.answer(request, using(), caller, path)
