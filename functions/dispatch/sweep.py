"""Every minute: leases that ran out, pointers that were lost, jobs left unfinished, schedules that came due."""

from dataclasses import asdict
from typing import Any

from functions.dispatch import services
from functions.early import early
from shared import contracts
from shared.adapters import logs, metrics
from shared.metrics import Metric, Service

logger = logs.lines()
early(lambda: services.deployment().expired, lambda: services.deployment().sweeper)
MARGIN = 10.0
"""Seconds kept for the looks in hand, of which eight hundred jobs may be."""


def handler(_event: Any, context: Any) -> dict[str, Any]:
    """Continue all walks for as long as there is time."""
    logs.begin(logger, logs.invocation(context))
    d = services.deployment()
    try:
        d.expired.begin(d.queue(contracts.ENV_DUE_QUEUE_URL))
    except Exception:  # the walk finds the same leases
        logger.exception("leases not looked at")
    swept = d.sweeper.sweep(d.clock.now() + context.get_remaining_time_in_millis() / 1000 - MARGIN)
    figures = {
        Metric.SWEPT: 1,
        Metric.SWEEP_INCOMPLETE: len(swept.unfinished),
        Metric.TAKEN_OVER: swept.taken_over,
        Metric.REPOINTED: swept.pointed,
        Metric.GIVEN_UP: swept.given_up,
        Metric.EXPRESS_WAIT: max(swept.express_wait_ms.values(), default=0),
    }
    if swept.stuck is not None:
        figures[Metric.STUCK] = len(swept.stuck)
    metrics.tell(d.settings.stage, Service.SWEEP, figures)
    done = {**asdict(swept), "complete": swept.complete}
    logger.info("swept", **done)
    return done
