"""The `ops` stream: changed ledgers without a worker are folded into their jobs; large retries continue.

A campaign of which only other tries are left may give way, so the one behind it is checked (`Turns`). The results of a
run of notices reach its notices here, as soon as they are known. The fate of a mail reaches its sender here.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from functions.dispatch import services
from functions.early import early
from shared.adapters import logs, metrics
from shared.adapters.dynamo import codec
from shared.domain.jobs.job import MAIL
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import JobState
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
    ledgers = _ledgers(event["Records"])
    done: dict[str, Folded] = {}
    faults: list[Exception] = []
    for job, fold in d.logger.batch(ledgers, late=age > LATE_MS):
        with _named(job, faults):
            done[job] = fold()
    for job, folded in done.items():
        _follow(job, folded, [x for x in ledgers if x.job == job], faults)
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


def _follow(job: str, folded: Folded, ledgers: Sequence[Ledger], faults: list[Exception]) -> None:
    """Have others hear of a job's folded ledgers: a mail's sender, a notice's notifier, the campaign behind it."""
    if folded.kind == MAIL:
        with _named(job, faults):
            services.deployment().mailing.stream.released(job, ledgers, logged=folded.state is JobState.LOGGED)
    else:
        for ledger in ledgers:
            if ledger.told:
                with _named(job, faults):
                    services.deployment().noticing.words.tell(ledger)
    if folded.job is not None:
        with _named(job, faults):
            services.deployment().turns.released(folded.job, ledgers)


def _ledgers(records: Iterable[Mapping[str, Any]]) -> list[Ledger]:
    """Return the ledgers of a batch of the stream, each as it is in its newest record."""
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for record in records:
        image = record["dynamodb"].get("NewImage")
        if image is not None and "cells" in image:
            newest[image["pk"]["S"], image["sk"]["S"]] = image
    return [codec.ledger(codec.from_stream(image, base64.b64decode)) for image in newest.values()]


@contextmanager
def _named(job: str, faults: list[Exception]) -> Iterator[None]:
    """Let a fault say whose it is, and keep it until all other jobs of the batch have had their turn."""
    with logs.about(logger, job):
        try:
            yield
        except Exception as fault:  # any fault: the other jobs come first, then it is raised
            logger.exception("not folded")
            faults.append(fault)
