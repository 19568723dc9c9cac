"""All operations of the API, in the order in which the documentation shows them."""

from typing import Final

from functions.api.routes import batches, credentials, jobs, logs, meta, schedules, stats, suppressions
from functions.api.routing import AnyRoute, Page

ROUTES: Final[tuple[AnyRoute | Page, ...]] = (
    *batches.ROUTES,
    *logs.ROUTES,
    *jobs.ROUTES,
    *schedules.ROUTES,
    *stats.ROUTES,
    *suppressions.ROUTES,
    *credentials.ROUTES,
    *meta.ROUTES,
)
