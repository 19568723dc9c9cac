"""All routes of operators."""

from typing import Final

from functions.operate import audit
from shared.web.routing import Route

ROUTES: Final[tuple[Route, ...]] = (*audit.ROUTES,)
