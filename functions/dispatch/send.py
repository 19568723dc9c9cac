"""A lane's function: up to two pointers, each under its own lease, so that one works while the other waits.

While a lease waits for nothing but slow answers, the function receives another pointer in its place.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any
from uuid import uuid4

from functions.dispatch import services
from functions.dispatch.services import Answer
from functions.early import early
from shared.adapters import logs, metrics
from shared.contracts import EXPRESS_SUFFIX
from shared.domain.lanes.backoff import redelivery_delay
from shared.domain.times import Seconds
from shared.metrics import Metric, Service

logger = logs.lines()
early(lambda: services.deployment().lane.prepare())  # noqa: PLW0108 - it makes the deployment
CALL_TIMEOUT = 10.0
"""Seconds; a quarter of the function's time where that is less."""
Record = Mapping[str, Any]


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Serve the pointers of one SQS event until their chunks end or the time does."""
    here = logs.invocation(context)
    logs.begin(logger, here)
    remaining = context.get_remaining_time_in_millis() / 1000
    lane = services.deployment().lane
    call_timeout = min(CALL_TIMEOUT, remaining / 4)
    now = services.deployment().clock.now()
    records = event["Records"]
    try:
        sender = lane.sender(call_timeout)
    except Exception:  # reported, logged and delivered again: its secret could not be read, say
        logger.exception("no sender", credential=lane.credential.id, message_ids=[r["messageId"] for r in records])
        return _again(records, records)

    def serve(record: Record, spare: Callable[[], None]) -> dict[str, str]:
        logs.begin(logger, here)
        pointer = json.loads(record["body"])
        logs.begin(logger, pointer["job"])
        return {f"{pointer['job']}-{pointer['chunk']}": work(pointer, spare)}

    def work(pointer: Mapping[str, Any], spare: Callable[[], None]) -> str:
        job, chunk = pointer["job"], int(pointer["chunk"])
        if pointer.get("resolve"):
            after = int(pointer.get("after", -1))
            resolved = lane.resolution(call_timeout).resolve(job, chunk, deadline=now + remaining, after=after)
            return f"asked about {resolved.asked}: {resolved.accepted} accepted, {resolved.absent} absent"
        return sender.work(job, chunk, owner=uuid4().hex, deadline=now + remaining, spare=spare).value

    pointers = _Pointers(serve, until=now + remaining / 2)
    pointers.serve(records)
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
    logger.info("sent", credential=lane.credential.id, did=pointers.did, failed=len(pointers.failed))
    return _again(pointers.failed, records)


@dataclass
class _Pointers:
    """Serves pointers side by side.

    Attributes:
        one: serves one, and returns what it did by chunk; it calls back once another may be served in its place.
        until: Unix seconds from which no other is received: too little time is left for it.
        failed: the pointers that come again; the ledger makes it safe.
    """

    one: Callable[[Record, Callable[[], None]], dict[str, str]]
    until: Seconds
    did: dict[str, str] = field(default_factory=dict)
    failed: list[Record] = field(default_factory=list)
    _happened: "SimpleQueue[tuple[Record, bool]]" = field(default_factory=SimpleQueue)
    """A pointer, and whether it was served; if not, another may be, in its place."""

    def serve(self, records: Sequence[Record]) -> None:
        """Serve those of an event, and what is received meanwhile."""
        under_way = len(records)
        for record in records:
            self._begin(record, lambda: None)
        while under_way:
            record, served = self._happened.get()
            if served:
                under_way -= 1
            elif (another := self._receive(record)) is not None:
                under_way += 1
                self._begin(another, partial(_delete, another))

    def _begin(self, record: Record, taken: Callable[[], None]) -> None:
        Thread(target=self._serve, args=(record, taken), name="lease").start()

    def _serve(self, record: Record, taken: Callable[[], None]) -> None:
        try:
            self.did |= self.one(record, lambda: self._happened.put((record, False)))
            taken()
        except Exception:  # reported, logged and delivered again; other pointers are not to fail with it
            logger.exception("pointer failed", message_id=record["messageId"])
            self.failed.append(record)
        finally:
            self._happened.put((record, True))

    def _receive(self, beside: Record) -> Record | None:
        """Receive another pointer from the queue of one; None if none waits, or too little time is left."""
        if services.deployment().clock.now() > self.until:
            return None
        try:
            found = _lane().receive(express=_is_express(beside))
        except Exception:  # the event source has it served later
            logger.exception("no pointer received", credential=services.deployment().lane.credential.id)
            return None
        return {**found, "eventSourceARN": beside["eventSourceARN"]} if found else None


def _lane() -> Any:
    d = services.deployment()
    return d.lanes[d.lane.credential.id]


def _is_express(record: Record) -> bool:
    return bool(record["eventSourceARN"].endswith(EXPRESS_SUFFIX))


def _delete(record: Record) -> None:
    _lane().delete(record["receiptHandle"], express=_is_express(record))


def _again(failed: Sequence[Record], records: Sequence[Record]) -> Answer:
    """Have pointers delivered again after some seconds, later each time, instead of at the end of their visibility.

    That is as long as a function that was killed might still run, 12 minutes. The answer names only those of the event.
    """
    for record in failed:
        try:
            receives = int(record["attributes"]["ApproximateReceiveCount"])
            _lane().put_off(record["receiptHandle"], redelivery_delay(receives), express=_is_express(record))
        except Exception:  # it comes all the same, at the end of its visibility
            logger.exception("pointer not put off", message_id=record["messageId"])
    names = {record["messageId"] for record in failed}
    return {"batchItemFailures": [{"itemIdentifier": x["messageId"]} for x in records if x["messageId"] in names]}
