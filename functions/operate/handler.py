"""The operators' function: read the event, find the route, take the caller's identity from IAM, call, answer.

A log line names the operation, the operator and the outcome. It never has a path, a query or a body.
"""

import traceback
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from functions.early import early
from functions.operate.call import caller_of
from functions.operate.operations import ROUTES
from functions.operate.services import OperateServices
from shared.adapters import logs
from shared.ports import Retriable
from shared.web import http
from shared.web.http import Answer
from shared.web.problems import Problem
from shared.web.routing import find

logger = logs.lines("operate")


@cache
def services() -> OperateServices:
    """Return the process's services, made by its first request."""
    return OperateServices()


early(services, lambda: services().accounts)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answer one event of an HTTP API (payload 2.0)."""
    request_id = (event.get("requestContext") or {}).get("requestId") or context.aws_request_id
    return respond(event, str(request_id), services)


def respond(event: Mapping[str, Any], request_id: str, using: Callable[[], OperateServices]) -> dict[str, Any]:
    """Answer one event; never raises.

    Args:
        event: of an HTTP API, payload 2.0.
        request_id: names the request in the log and in the answer to a fault.
        using: gives the services; not called for a caller whom IAM has not identified.
    """
    logs.begin(logger, request_id)
    seen: dict[str, Any] = {"request_id": request_id}
    try:
        answer = _answer(event, request_id, using, seen)
    except Problem as found:
        seen["code"] = found.code
        answer = http.problem(found, request_id)
    except Retriable as fault:
        seen |= {"code": "try_again", **_place(fault)}
        answer = http.problem(Problem("try_again", headers={"Retry-After": "1"}), request_id)
    except Exception as fault:  # noqa: BLE001 - the client gets a 500 with the request's id and nothing else
        seen |= {"code": "internal_error", **_place(fault)}
        answer = http.problem(Problem("internal_error"), request_id)
    log = logger.error if answer.status >= http.FAULT else logger.info
    log("answered", status=answer.status, **seen)
    return http.write(answer, request_id)


def _answer(
    event: Mapping[str, Any], request_id: str, using: Callable[[], OperateServices], seen: dict[str, Any]
) -> Answer:
    caller = caller_of(event)
    seen["operator"] = caller.key.id
    request = http.read(event, request_id)
    route, path = find(ROUTES, request)
    seen["operation"] = route.name
    return route.answer(request, using(), caller, path)


def _place(fault: BaseException) -> dict[str, Any]:
    """Return what a fault was and where it came from, innermost last, without its message or any value."""
    frames = traceback.extract_tb(fault.__traceback__)[-8:]
    return {"fault": type(fault).__name__, "at": [f"{f.filename.rpartition('/')[2]}:{f.lineno}" for f in frames]}
