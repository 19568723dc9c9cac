"""The frame of a function that answers requests: it never raises, and logs one line for each.

A line names what the function saw and the outcome. It never has a path, a query, a body or the message of a fault.
"""

import traceback
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from shared.ports import Retriable
from shared.web import http
from shared.web.http import Answer
from shared.web.problems import Problem


class Lines(Protocol):
    """A logger of lines with fields."""

    def info(self, msg: object, **fields: Any) -> None:
        """Log a line."""

    def error(self, msg: object, **fields: Any) -> None:
        """Log a line about a fault of ours."""


def request_id(event: Mapping[str, Any], context: Any) -> str:
    """Return API Gateway's id of a request, or Lambda's of the invocation."""
    return str((event.get("requestContext") or {}).get("requestId") or context.aws_request_id)


def answered(
    lines: Lines,
    event: Mapping[str, Any],
    request: str,
    answer: Callable[[dict[str, Any]], Answer],
    problem: Callable[[Problem, str], Answer] = http.problem,
) -> dict[str, Any]:
    """Return the answer to one event, for API Gateway.

    Args:
        request: its id, in the log and in the answer to a fault.
        answer: gets the fields of the line, and adds what it sees.
        problem: makes the answer of a problem, for the request of that id.
    """
    seen: dict[str, Any] = {"request_id": request}
    try:
        found = answer(seen)
    except Problem as refusal:
        seen["code"] = refusal.code
        found = problem(refusal, request)
    except Retriable as fault:
        seen |= {"code": "try_again", **place_of(fault)}
        found = problem(Problem("try_again", headers={"Retry-After": "1"}), request)
    except Exception as fault:  # noqa: BLE001 - the client gets a 500 with the request's id and nothing else
        seen |= {"code": "internal_error", **place_of(fault)}
        found = problem(Problem("internal_error"), request)
    log = lines.error if found.status >= http.FAULT else lines.info
    log("answered", status=found.status, **seen)
    return http.write(found, request, gzip=http.takes_gzip(event))


def place_of(fault: BaseException) -> dict[str, Any]:
    """Return what a fault was and where it came from, innermost last, without its message or any value."""
    frames = traceback.extract_tb(fault.__traceback__)[-8:]
    return {"fault": type(fault).__name__, "at": [f"{f.filename.rpartition('/')[2]}:{f.lineno}" for f in frames]}
