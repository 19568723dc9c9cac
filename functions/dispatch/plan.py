"""The `records` stream: jobs that became READY are started when they are due, those of a campaign in their turn."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger

from functions.dispatch import services
from shared.adapters import metrics
from shared.metrics import Metric, Service

logger = Logger()


def handler(event: Mapping[str, Any], _context: Any) -> dict[str, list[dict[str, str]]]:
    """Start what the jobs of the batch let start: themselves, or, as one of a campaign has ended, who waits behind it.

    One that is not due yet is left to its schedule and the sweeper.
    """
    images = (record["dynamodb"].get("NewImage", {}) for record in event["Records"])
    jobs = dict.fromkeys(image["job"]["S"] for image in images if "job" in image)
    d = services.deployment()
    age = metrics.age_ms(event["Records"], d.clock.now())
    planned = [started.id for job in jobs for started in d.planner.react(job)]
    metrics.tell(Service.PLAN, {Metric.PLANNED: len(planned), Metric.RECORD_AGE: age})
    logger.info("planned", seen=len(jobs), planned=planned)
    return {"batchItemFailures": []}
