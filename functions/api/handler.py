"""The HTTP API's function: read the event, find the route, authenticate, validate, call, answer."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger

from functions.api import http
from functions.api.auth import authenticate
from functions.api.http import Answer, Request
from functions.api.problems import Problem
from functions.api.routes import ROUTES
from functions.api.routing import Page, find
from functions.api.services import ApiServices, build
from shared.bootstrap import Deployment
from shared.ports import Retriable

logger = Logger()


@cache
def services() -> ApiServices:
    """Return the process's services, made by its first request."""
    return build(Deployment())


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answer one event of an HTTP API (payload 2.0)."""
    request_id = str((event.get("requestContext") or {}).get("requestId") or context.aws_request_id)
    name = ""
    try:
        request = http.read(event, request_id)
        name, answer = _answer(request)
    except Problem as found:
        answer = http.problem(found, request_id)
    except Retriable:
        logger.exception("not just now", request_id=request_id)
        answer = http.problem(Problem("try_again", headers={"Retry-After": "1"}), request_id)
    except Exception:  # whatever it is, the client gets a 500 with the request's id and nothing else
        logger.exception("fault", request_id=request_id)
        answer = http.problem(Problem("internal_error"), request_id)
    logger.info("answered", request_id=request_id, operation=name, status=answer.status)
    return http.write(answer, request_id)


def _answer(request: Request) -> tuple[str, Answer]:
    route, path = find(ROUTES, request)
    if isinstance(route, Page):
        return route.name, route.handler()
    key = authenticate(request, services().accounts, route.scope)
    return route.name, route.answer(request, services(), key, path)
