"""Calls and visits as this function's handlers get them: with its services."""

from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from functions.api.services import ApiServices
from shared.domain.times import Millis
from shared.web import routing
from shared.web.routing import B, Q

Call: TypeAlias = routing.Call[ApiServices, Q, B]
PublicRequest: TypeAlias = routing.PublicRequest[ApiServices]


def now_of(call: Call[Any, Any]) -> Millis:
    """Return the time, Unix milliseconds."""
    return int(call.services.clock.now() * 1000)


def zone_of(call: Call[Any, Any]) -> ZoneInfo | None:
    """Return the zone of the times that the caller reads: a notifier's own; None: UTC."""
    return call.notifier.zone if call.notifier is not None else None
