"""The queue of exports: each is made, or gone on with, until it is there or the time is over."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from functions.dispatch import services
from functions.dispatch.services import Answer
from functions.early import early
from shared.adapters import logs
from shared.contracts import load_export

logger = logs.lines()
early(lambda: services.deployment().exporter)


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Work on each export of the batch; the queue gives one at a time."""
    logs.begin(logger, logs.invocation(context))
    d = services.deployment()
    deadline = d.clock.now() + context.get_remaining_time_in_millis() / 1000
    failures = []
    did = {}
    for record in event["Records"]:
        try:
            name = load_export(record["body"])
            with logs.about(logger, name):
                did[name] = d.exporter.work(name, owner=uuid4().hex, deadline=deadline).value
        except Exception:  # reported, logged and delivered again
            logger.exception("not exported", message_id=record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
    logger.info("exported", did=did, failed=len(failures))
    return {"batchItemFailures": failures}
