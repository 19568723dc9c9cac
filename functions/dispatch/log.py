"""The `ops` stream: ledgers that changed and that nobody works on are folded into their jobs; large retries go on."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from functions.dispatch import services
from shared.adapters import logs, metrics
from shared.adapters.dynamo import codec
from shared.metrics import Metric, Service

logger = logs.lines()
RETRY_SECONDS = 20.0
"""Spent on a large retry in one go: the ledgers it queues again come here in turn, and call for the next."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
    """Fold the newest image of each ledger in the batch.

    A fault is raised, so that the stream repeats the batch; the sweeper repairs what it gives up.
    """
    logs.begin(logger, logs.invocation(context))
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for record in event["Records"]:
        image = record["dynamodb"].get("NewImage")
        if image is not None and "cells" in image:
            newest[image["pk"]["S"], image["sk"]["S"]] = image
    d = services.deployment()
    age = metrics.age_ms(event["Records"], d.clock.now())
    states = {}
    count = 0
    retrying = set()
    for image in newest.values():
        ledger = codec.ledger(codec.from_stream(image, base64.b64decode))
        with _named(ledger.job):
            folded = d.logger.fold(ledger)
        count += folded.folded
        states[ledger.job] = folded.state.value if folded.state else None
        if folded.retrying:
            retrying.add(ledger.job)
    until = d.clock.now() + RETRY_SECONDS
    for job in sorted(retrying):
        with _named(job):
            d.retrier.carry_on(job, until)
    metrics.tell(Service.LOG, {Metric.FOLDED: count, Metric.RECORD_AGE: age})
    logger.info("folded", ledgers=len(newest), jobs=states)
    return {"batchItemFailures": []}


@contextmanager
def _named(job: str) -> Iterator[None]:
    """Let a fault say whose it is, before it has the stream repeat the batch."""
    with logs.about(logger, job):
        try:
            yield
        except Exception:  # whatever it is, it is raised again: the stream repeats the batch
            logger.exception("not folded")
            raise
