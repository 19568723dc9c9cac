"""The queue of jobs whose time has come: each is started if it is so."""

from collections.abc import Mapping
from typing import Any

from functions.dispatch import services
from functions.dispatch.services import Answer
from shared.adapters import logs
from shared.contracts import load_due

logger = logs.lines()


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Start each job of the batch that is due; a message too early has its job looked at again at its time."""
    logs.begin(logger, logs.invocation(context))
    arrived = services.deployment().due.arrived
    failures = []
    started = []
    for record in event["Records"]:
        try:
            name = load_due(record["body"])
            with logs.about(logger, name):
                job = arrived(name)
        except Exception:  # reported, logged and delivered again; the sweeper starts the job meanwhile
            logger.exception("not started", message_id=record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
            continue
        if job is not None:
            started.append(job.id)
    logger.info("due", seen=len(event["Records"]), started=started, failed=len(failures))
    return {"batchItemFailures": failures}
