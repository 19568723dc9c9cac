"""The router: one address before several deployments, each of which is a cell with accounts of its own.

It finds the cell of a request's key, passes the request on once, and gives the answer back. It never sends a request a
second time, except after a cell has said that the account has left it, which then has done nothing.
A log line names the cell and the outcome. It never has a path, a header or a body.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, Final
from urllib.parse import quote

from functions.early import early
from functions.router.caller import Caller, caller_of
from functions.router.directory import Directory
from functions.router.services import RouterServices, build
from shared.adapters import logs
from shared.ports import AnswerLost, NotSent, Response
from shared.web import answering, http
from shared.web.http import Answer, Request
from shared.web.problems import AWAY, Problem

SECONDS: Final = 27
"""From the request to the cell's whole answer: a cell gives up after 29, and API Gateway after 30."""
HOP_BY_HOP: Final = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    }
)
"""Headers of one connection (RFC 9110 7.6.1)."""
OWN: Final = frozenset({"host", "content-length", "accept-encoding", "forwarded", "via", "x-amzn-trace-id"})
"""Headers of a request that are of the way to the router. A cell's answer comes as text."""
OF_ANSWERS: Final = frozenset({"content-length", "content-type", "date", "server", "apigw-requestid"})
_FORWARDED: Final = "x-forwarded-"
_SAFE: Final = "/:@!$&'()*+,;=~"
logger = logs.lines("router")


@cache
def services() -> RouterServices:
    """Return the process's services."""
    return build()


@cache
def directory() -> Directory:
    """Return the process's directory of callers."""
    return services().directory()


early(directory)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answer one event of an HTTP API (payload 2.0)."""
    return respond(event, answering.request_id(event, context), services(), directory())


def respond(
    event: Mapping[str, Any], request_id: str, services: RouterServices, directory: Directory
) -> dict[str, Any]:
    """Answer one event; never raises. `request_id`: names the request if no cell has answered it."""
    logs.begin(logger, request_id)
    return answering.answered(
        logger,
        event,
        request_id,
        lambda seen: _answer(http.read(event, request_id), services, directory, seen),
        http.problem,
    )


def _answer(request: Request, services: RouterServices, directory: Directory, seen: dict[str, Any]) -> Answer:
    if request.segments == ("health",):
        return http.plain(200, {"status": "ok"})
    caller = caller_of(request)
    if caller is None:
        raise Problem("unauthorized", headers={"WWW-Authenticate": 'Bearer realm="posthaste"'})
    seen["cell"] = cell = directory.find(caller)
    found = _pass_on(request, services, cell)
    if _has_moved(found):
        seen["moved_from"] = cell
        seen["cell"] = cell = _again(caller, directory)
        found = _pass_on(request, services, cell)
        if _has_moved(found):
            raise _moving()
    seen["cell_request_id"] = found.headers.get("x-request-id", "")
    return _returned(found)


def _again(caller: Caller, directory: Directory) -> str:
    """Return the cell that an account has moved to."""
    found = directory.learn(caller)
    if found is None:
        raise _moving()
    return found


def _moving() -> Problem:
    return Problem("account_moving", headers={"Retry-After": "5"})


def _pass_on(request: Request, services: RouterServices, cell: str) -> Response:
    """Send a request to a cell, once."""
    path = quote(request.path, safe=_SAFE)
    url = f"{services.cells[cell]}{path}" + (f"?{request.raw_query}" if request.raw_query else "")
    until = services.clock.now() + SECONDS
    try:
        return services.http.request(
            request.method, url, headers=_sent(request.headers), body=request.body, deadline=until
        )
    except NotSent:
        raise Problem("cell_unavailable", headers={"Retry-After": "5"}) from None
    except AnswerLost:
        raise Problem("cell_answer_lost", headers={"Retry-After": "5"}) from None


def _sent(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that a cell gets."""
    left = HOP_BY_HOP | OWN | _named(headers)
    return {name: x for name, x in headers.items() if name not in left and not name.startswith(_FORWARDED)}


def _named(headers: Mapping[str, str]) -> AbstractSet[str]:
    """Return the headers that `Connection` names as those of one connection."""
    return {name.strip().lower() for name in headers.get("connection", "").split(",")}


def _has_moved(found: Response) -> bool:
    """Tell whether a cell says that the account has left it."""
    return all(found.headers.get(name.lower()) == said for name, said in AWAY.items())


def _returned(found: Response) -> Answer:
    """Return a cell's answer as this function's."""
    try:
        body = found.body.decode()
    except UnicodeDecodeError:
        raise Problem("cell_answer_lost") from None
    left = HOP_BY_HOP | OF_ANSWERS | _named(found.headers)
    headers = {name.title(): x for name, x in found.headers.items() if name not in left}
    return Answer(found.status, body, headers, found.headers.get("content-type", "application/json"))
