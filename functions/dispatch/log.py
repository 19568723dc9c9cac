"""The `ops` stream: changed ledgers without a worker are folded into their jobs; large retries continue.

The deployment's `fold_listeners` then do what each product adds.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from functions.dispatch import services
from functions.early import early
from shared.adapters import logs, metrics
from shared.engine.outcome.fold import Folded
from shared.metrics import Metric, Service

logger = logs.lines()
early(lambda: services.deployment().logger, lambda: services.deployment().retrier)
RETRY_SECONDS = 20.0
"""Spent on a large retry in one go: the ledgers it queues again come here in turn, and call for the next."""
LATE_MS = 5_000.0
"""Age of a batch's oldest record from which on its images count as old: the ledgers are read instead."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
    """Fold the ledgers of the batch, those of one job together.

    A fault is raised once all other jobs are folded, so that the stream repeats the batch; the sweeper repairs what it
    gives up.
    """
    logs.begin(logger, logs.invocation(context))
    d = services.deployment()
    age = metrics.age_ms(event["Records"], d.clock.now())
    ledgers = d.ledgers_in(event["Records"])
    done: dict[str, Folded] = {}
    faults: list[Exception] = []
    for job, fold in d.logger.batch(ledgers, late=age > LATE_MS):
        with _named(job, faults):
            done[job] = fold()
    for job, folded in done.items():
        some = [x for x in ledgers if x.job == job]
        for step in (step for listener in d.fold_listeners for step in listener.steps(folded, some)):
            with _named(job, faults):
                step()
    until = d.clock.now() + RETRY_SECONDS
    for job in sorted(name for name, folded in done.items() if folded.retrying):
        with _named(job, faults):
            d.retrier.carry_on(job, until)
    count = sum(x.folded for x in done.values())
    metrics.tell(d.settings.stage, Service.LOG, {Metric.FOLDED: count, Metric.RECORD_AGE: age})
    if faults:
        raise faults[0]
    logger.info("folded", ledgers=len(ledgers), jobs={job: x.state and x.state.value for job, x in done.items()})
    return {"batchItemFailures": []}


@contextmanager
def _named(job: str, faults: list[Exception]) -> Iterator[None]:
    """Let a fault say whose it is, and keep it until all other jobs of the batch have had their turn."""
    with logs.about(logger, job):
        try:
            yield
        except Exception as fault:  # any fault: the other jobs come first, then it is raised
            logger.exception("not folded")
            faults.append(fault)
