"""All operations of the API, in the order in which the documentation shows them."""

from typing import Final

from functions.api.routes import (
    audit,
    batches,
    campaigns,
    credentials,
    exports,
    jobs,
    logs,
    meta,
    schedules,
    sending,
    stats,
    suppressions,
    templates,
    trials,
    unsubscribe,
    uploads,
)
from functions.api.routing import Operation

ROUTES: Final[tuple[Operation, ...]] = (
    *batches.ROUTES,
    *logs.ROUTES,
    *campaigns.ROUTES,
    *uploads.ROUTES,
    *trials.ROUTES,
    *sending.ROUTES,
    *templates.ROUTES,
    *jobs.ROUTES,
    *exports.ROUTES,
    *schedules.ROUTES,
    *stats.ROUTES,
    *suppressions.ROUTES,
    *unsubscribe.ROUTES,
    *credentials.ROUTES,
    *audit.ROUTES,
    *meta.ROUTES,
)
