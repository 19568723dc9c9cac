"""Calls and visits as this function's handlers get them: with its services."""

from typing import Any, TypeAlias

from functions.api.services import ApiServices
from shared.domain.times import Millis
from shared.web import routing
from shared.web.routing import B, Q

Call: TypeAlias = routing.Call[ApiServices, Q, B]
Visit: TypeAlias = routing.Visit[ApiServices]


def now_of(call: Call[Any, Any]) -> Millis:
    """Return the time, Unix milliseconds."""
    return int(call.services.clock.now() * 1000)
