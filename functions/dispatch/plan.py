"""The `records` stream: jobs that became READY are started when they are due."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger

from functions.dispatch import services

logger = Logger()


def handler(event: Mapping[str, Any], _context: Any) -> dict[str, list[dict[str, str]]]:
    """Plan each READY job of the batch; one that is not due yet is left to the sweeper."""
    images = (record["dynamodb"].get("NewImage", {}) for record in event["Records"])
    jobs = dict.fromkeys(image["job"]["S"] for image in images if "job" in image)
    plan = services.deployment().planner.plan
    planned = [job for job in jobs if plan(job) is not None]
    logger.info("planned", seen=len(jobs), planned=planned)
    return {"batchItemFailures": []}
