"""The `ops` stream: changed ledgers without a worker are folded into their jobs; large retries continue.

The deployment's `fold_listeners` then do what each product adds.
"""

from collections.abc import Mapping
from typing import Any

from functions.dispatch import services
from functions.early import early
from functions.folds import LATE_MS, Folding
from shared.adapters import logs, metrics
from shared.metrics import Metric, Service

logger = logs.lines()
early(lambda: services.deployment().logger, lambda: services.deployment().retrier)
RETRY_SECONDS = 20.0
"""Spent on a large retry in one go: the ledgers it queues again come here in turn, and call for the next."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
    """Fold the ledgers of the batch, those of one job together.

    A fault is raised once all other jobs are folded, so that the stream repeats the batch; the sweeper repairs what it
    gives up.
    """
    logs.begin(logger, logs.invocation(context))
    d = services.deployment()
    age = metrics.age_ms(event["Records"], d.clock.now())
    ledgers = d.ledgers_in(event["Records"])
    folding = Folding(d, logger)
    folding.fold(ledgers, late=age > LATE_MS)
    until = d.clock.now() + RETRY_SECONDS
    for job in folding.retrying:
        with folding.named(job):
            d.retrier.carry_on(job, until)
    count = sum(x.folded for x in folding.done.values())
    metrics.tell(d.settings.stage, Service.LOG, {Metric.FOLDED: count, Metric.RECORD_AGE: age})
    if folding.faults:
        raise folding.faults[0]
    states = {job: x.state and x.state.value for job, x in folding.done.items()}
    logger.info("folded", ledgers=len(ledgers), jobs=states)
    return {"batchItemFailures": []}
