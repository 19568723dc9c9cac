"""A lane's function: up to two pointers, each under its own lease, so that one works while the other waits."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

from functions.dispatch import services
from functions.dispatch.services import Answer
from functions.early import early
from shared.adapters import logs, metrics
from shared.contracts import EXPRESS_SUFFIX
from shared.domain.lanes.backoff import redelivery_delay
from shared.metrics import Metric, Service

logger = logs.lines()
early(lambda: services.lane().prepare())
CALL_TIMEOUT = 10.0
"""Seconds; a quarter of the function's time where that is less."""


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Serve the pointers of one SQS event until their chunks end or the time does."""
    here = logs.invocation(context)
    logs.begin(logger, here)
    remaining = context.get_remaining_time_in_millis() / 1000
    lane = services.lane()
    call_timeout = min(CALL_TIMEOUT, remaining / 4)
    deadline = services.deployment().clock.now() + remaining
    records = event["Records"]
    try:
        sender = lane.sender(call_timeout)
    except Exception:  # reported, logged and delivered again: its secret could not be read, say
        logger.exception("no sender", credential=lane.credential.id, message_ids=[r["messageId"] for r in records])
        return _again(records)

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
            resolved = lane.resolution(call_timeout).resolve(
                pointer["job"], int(pointer["chunk"]), deadline=deadline, after=int(pointer.get("after", -1))
            )
            return f"asked about {resolved.asked}: {resolved.accepted} accepted, {resolved.absent} absent"
        return sender.work(pointer["job"], int(pointer["chunk"]), owner=uuid4().hex, deadline=deadline).value

    failed = []
    did: dict[str, str] = {}
    with ThreadPoolExecutor(max_workers=max(1, len(records)), thread_name_prefix="lease") as pool:
        futures = [(r, pool.submit(serve, r)) for r in records]
        for record, future in futures:
            done = future.result()
            if done is None:
                failed.append(record)
            else:
                did |= [done]
    said = sender.said()
    figures = {
        Metric.ACCEPTED: said.accepted,
        Metric.REFUSED: said.refused,
        Metric.THROTTLED: said.throttled,
        Metric.UNKNOWN: said.unknown,
        Metric.SLOTS: said.slots,
        Metric.BREAKER_OPENED: services.deployment().breaker_cache.opened(),
        Metric.CLOCK_SKEW: round(1000 * services.deployment().pacer.skew()),
    }
    metrics.tell(services.deployment().settings.stage, Service.SEND, figures, lane.credential)
    logger.info("sent", credential=lane.credential.id, did=did, failed=len(failed))
    return _again(failed)


def _again(failed: Sequence[Mapping[str, Any]]) -> Answer:
    """Have pointers delivered again after some seconds, later each time, instead of at the end of their visibility.

    That is as long as a function that was killed might still run, 12 minutes.
    """
    for record in failed:
        try:
            services.deployment().lanes[services.lane().credential.id].put_off(
                record["receiptHandle"],
                redelivery_delay(int(record["attributes"]["ApproximateReceiveCount"])),
                express=record["eventSourceARN"].endswith(EXPRESS_SUFFIX),
            )
        except Exception:  # it comes all the same, at the end of its visibility
            logger.exception("pointer not put off", message_id=record["messageId"])
    return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in failed]}
