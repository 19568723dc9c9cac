"""Notices that are due become runs, and finished runs and mails are checked until all facts are known.

A schedule of the minute in which notices are due starts it, or the sweeper if something is overdue.
"""

from typing import Any

from functions.dispatch import services
from functions.early import early
from shared.adapters import logs, metrics
from shared.metrics import Metric, Service

logger = logs.lines()
early(lambda: services.deployment().noticing.sweeper)
MARGIN = 10.0
"""Seconds kept for the looks in hand."""


def handler(_event: Any, context: Any) -> dict[str, Any]:
    """Continue the notices' walks for as long as there is time."""
    logs.begin(logger, logs.invocation(context))
    d = services.deployment()
    swept = d.noticing.sweeper.sweep(d.clock.now() + context.get_remaining_time_in_millis() / 1000 - MARGIN)
    metrics.tell(d.settings.stage, Service.NOTICES, {Metric.NOTICED: int(swept.complete)})
    logger.info("notices looked at", complete=swept.complete, unfinished=list(swept.unfinished))
    return {"complete": swept.complete}
