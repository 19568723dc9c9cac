"""The queue of inboxes: the records that notifiers have uploaded are taken, in order."""

from collections.abc import Mapping
from typing import Any, Final

from functions.dispatch import services
from functions.dispatch.services import Answer
from functions.early import early
from shared.adapters import logs
from shared.contracts import load_inbox

MARGIN: Final = 5.0
"""Seconds before its end in which an invocation begins no other step; a step takes some hundredths."""
logger = logs.lines()
early(lambda: services.deployment().noticing.taker)


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Take the records of each inbox of the batch; those of a name that never was are nothing."""
    logs.begin(logger, logs.invocation(context))
    d = services.deployment()
    taker = d.noticing.taker
    deadline = d.calendar.at(d.clock.now() + context.get_remaining_time_in_millis() / 1000 - MARGIN)
    failures = []
    did = {}
    for record in event["Records"]:
        try:
            name = load_inbox(record["body"])
            notifier = d.notifiers.get(name)
            did[name] = taker.take(notifier, deadline) if notifier is not None else 0
        except Exception:  # reported, logged and delivered again
            logger.exception("not taken", message_id=record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
    logger.info("taken", did=did, failed=len(failures))
    return {"batchItemFailures": failures}
