"""The queue of uploaded lists: each is read, for as long as this invocation lasts."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from functions.dispatch import services
from functions.dispatch.services import Answer
from functions.early import early
from shared.adapters import logs, metrics
from shared.contracts import load_ingest
from shared.metrics import Metric, Service

logger = logs.lines()
early(lambda: services.deployment().ingestion)


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Read the list that each message names; skip lists that are read already, or that another reader has."""
    logs.begin(logger, logs.invocation(context))
    d = services.deployment()
    failures = []
    for record in event["Records"]:
        try:
            campaign, upload = load_ingest(record["body"])
            logs.begin(logger, upload)
            deadline = d.clock.now() + context.get_remaining_time_in_millis() / 1000
            did = d.ingestion.work(campaign, upload, owner=uuid4().hex, deadline=deadline)
            logger.info("ingested", campaign=campaign, upload=upload, did=did.value)
        except Exception:  # reported, logged and delivered again; the sweeper has the list read before
            logger.exception("not ingested", message_id=record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
    metrics.tell(d.settings.stage, Service.INGEST, {Metric.INGEST_FAILED: len(failures)})
    return {"batchItemFailures": failures}
