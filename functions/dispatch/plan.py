"""The `records` stream: jobs that became READY are started when they are due, those of a campaign in their turn."""

from collections.abc import Mapping
from typing import Any

from functions.dispatch import services
from shared.adapters import logs, metrics
from shared.metrics import Metric, Service

logger = logs.lines()


def handler(event: Mapping[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
    """Start what the jobs of the batch let start: themselves, or, as one of a campaign has ended, who waits behind it.

    One that is not due yet is left to its schedule and the sweeper.
    """
    logs.begin(logger, logs.invocation(context))
    images = (record["dynamodb"].get("NewImage", {}) for record in event["Records"])
    jobs = dict.fromkeys(image["job"]["S"] for image in images if "job" in image)
    d = services.deployment()
    age = metrics.age_ms(event["Records"], d.clock.now())
    planned = []
    for job in jobs:
        with logs.about(logger, job):
            try:
                planned += [started.id for started in d.planner.react(job)]
            except Exception:
                logger.exception("not planned")
                raise  # the stream repeats the batch
    metrics.tell(Service.PLAN, {Metric.PLANNED: len(planned), Metric.RECORD_AGE: age})
    logger.info("planned", seen=len(jobs), planned=planned)
    return {"batchItemFailures": []}
