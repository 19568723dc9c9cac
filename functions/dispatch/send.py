"""A lane's function: up to two pointers, each under its own lease, so that one works while the other waits."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

from functions.dispatch import services
from functions.dispatch.services import Answer
from shared.adapters import logs, metrics
from shared.metrics import Metric, Service

logger = logs.lines()
CALL_TIMEOUT = 10.0
"""Seconds; a quarter of the function's time where that is less."""


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Serve the pointers of one SQS event until their chunks end or the time does."""
    here = logs.invocation(context)
    logs.begin(logger, here)
    remaining = context.get_remaining_time_in_millis() / 1000
    lane = services.lane()
    call_timeout = min(CALL_TIMEOUT, remaining / 4)
    sender = lane.sender(call_timeout)
    deadline = services.deployment().clock.now() + remaining

    def serve(record: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return the chunk and what was done; None if it failed: the pointer comes again, the ledger makes it safe."""
        logs.begin(logger, here)
        try:
            pointer = json.loads(record["body"])
            logs.begin(logger, pointer["job"])
            return f"{pointer['job']}-{pointer['chunk']}", work(pointer)
        except Exception:  # reported, logged and delivered again; the other pointer is not to fail with it
            logger.exception("pointer failed", message_id=record["messageId"])
            return None

    def work(pointer: Mapping[str, Any]) -> str:
        if pointer.get("resolve"):
            resolved = lane.resolution(call_timeout).resolve(pointer["job"], int(pointer["chunk"]), deadline=deadline)
            return f"asked about {resolved.asked}: {resolved.accepted} accepted, {resolved.absent} absent"
        return sender.work(pointer["job"], int(pointer["chunk"]), owner=uuid4().hex, deadline=deadline).value

    failures = []
    did: dict[str, str] = {}
    records = event["Records"]
    with ThreadPoolExecutor(max_workers=len(records), thread_name_prefix="lease") as pool:
        futures = [(r["messageId"], pool.submit(serve, r)) for r in records]
        for message_id, future in futures:
            done = future.result()
            if done is None:
                failures.append({"itemIdentifier": message_id})
            else:
                did |= [done]
    said = sender.said()
    figures = {
        Metric.ACCEPTED: said.accepted,
        Metric.REFUSED: said.refused,
        Metric.THROTTLED: said.throttled,
        Metric.UNKNOWN: said.unknown,
        Metric.SLOTS: said.slots,
        Metric.BREAKER_OPENED: services.deployment().circuits.opened(),
    }
    metrics.tell(Service.SEND, figures, lane.credential)
    logger.info("sent", credential=lane.credential.id, did=did, failed=len(failures))
    return {"batchItemFailures": failures}
