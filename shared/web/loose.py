"""JSON that some readers take and others do not, or take otherwise."""

import json
import math
from typing import Any

from shared.web.problems import Problem


def refuse_loose(body: bytes, *, large: bool = False) -> None:
    """Refuse a body of JSON that readers take differently.

    An object has a name twice (RFC 8259 4), or a number is none, or too large for any reader's (RFC 8259 6).

    Args:
        body: of the request.
        large: whether a number may be too large. A record of a notifier holds up no other one.
    """
    real = str if large else _finite
    try:
        json.loads(body, object_pairs_hook=_distinct, parse_int=str, parse_float=real, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return  # not JSON: said where it is validated


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        raise Problem("malformed_json", "An object of the body has the same name twice.")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Problem("malformed_json", "A number of the body is too large.")
    return number


def _no_number(name: str) -> float:
    raise Problem("malformed_json", f"The body has {name}, which is no number in JSON.")
