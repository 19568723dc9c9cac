"""Every minute: leases that ran out, pointers that were lost, jobs left unfinished, schedules that came due."""

from dataclasses import asdict
from typing import Any

from functions.dispatch import services
from shared.adapters import logs, metrics
from shared.metrics import Metric, Service

logger = logs.lines()
MARGIN = 5.0
"""Seconds kept for the job in hand."""


def handler(_event: Any, context: Any) -> dict[str, Any]:
    """Walk all open jobs once."""
    logs.begin(logger, logs.invocation(context))
    d = services.deployment()
    swept = d.sweeper.sweep(d.clock.now() + context.get_remaining_time_in_millis() / 1000 - MARGIN)
    figures = {
        Metric.SWEPT: 1,
        Metric.STUCK: len(swept.stuck),
        Metric.TAKEN_OVER: swept.taken_over,
        Metric.REPOINTED: swept.pointed,
    }
    metrics.tell(Service.SWEEP, figures)
    done = asdict(swept)
    logger.info("swept", **done)
    return done
