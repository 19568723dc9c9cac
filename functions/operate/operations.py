"""All routes of operators."""

from typing import Final

from functions.operate import audit, credentials, erasing, jobs, logs, switches
from functions.operate.queues import routes as queues
from shared.web.routing import Route

ROUTES: Final[tuple[Route, ...]] = (
    *audit.ROUTES,
    *queues.ROUTES,
    *switches.ROUTES,
    *credentials.ROUTES,
    *jobs.ROUTES,
    *erasing.ROUTES,
    *logs.ROUTES,
)
