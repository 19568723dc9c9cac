"""Calls and visits as this function's handlers get them: with its services."""

from typing import TypeAlias

from functions.api.services import ApiServices
from shared.web import routing
from shared.web.routing import B, Q

Call: TypeAlias = routing.Call[ApiServices, Q, B]
Visit: TypeAlias = routing.Visit[ApiServices]
