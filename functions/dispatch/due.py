"""The queue of what is due: jobs whose time has come, and looks for the leases of dead workers."""

from collections.abc import Mapping
from typing import Any

from functions.dispatch import services
from functions.dispatch.services import Answer
from shared.adapters import logs
from shared.contracts import LOOK, load_due

logger = logs.lines()


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Start each job of the batch that is due; a message too early has its job looked at again at its time."""
    logs.begin(logger, logs.invocation(context))
    arrived = services.deployment().due.arrived
    failures = []
    started = []
    taken_over = 0
    for record in event["Records"]:
        try:
            if record["body"] == LOOK:
                taken_over += _look()
                continue
            name = load_due(record["body"])
            with logs.about(logger, name):
                job = arrived(name)
        except Exception:  # reported, logged and delivered again; the sweeper starts the job meanwhile
            logger.exception("not started", message_id=record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
            continue
        if job is not None:
            started.append(job.id)
    logger.info("due", seen=len(event["Records"]), started=started, taken_over=taken_over, failed=len(failures))
    return {"batchItemFailures": failures}


def _look() -> int:
    """Look for leases of dead workers; a fault is logged, no more: the next look is a quarter of a minute away."""
    try:
        return services.deployment().expired.look()
    except Exception:  # and the sweeper's walk finds the same leases
        logger.exception("leases not looked at")
        return 0
