"""A lane's function: two pointers to large jobs, so that one works while the other waits, or groups of small ones.

While a lease or a group waits for nothing but slow answers, the function receives other pointers in its place. While
small jobs wait in the queue, it receives and serves several groups side by side. While it only waits for slow answers
about small jobs, it listens for others.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final
from uuid import uuid4

from functions.dispatch import services
from functions.dispatch.services import Answer
from functions.early import early
from shared.adapters import logs, metrics
from shared.contracts import EXPRESS_SUFFIX, Credential
from shared.domain.lanes.backoff import redelivery_delay
from shared.domain.times import Seconds
from shared.metrics import Metric, Service

logger = logs.lines()
early(lambda: services.deployment().lane.prepare())  # noqa: PLW0108 - it makes the deployment
CALL_TIMEOUT = 10.0
"""Seconds; a quarter of the function's time where that is less."""
LISTEN: Final = 1
"""Seconds for which one look at the express queue waits for pointers, while only slow answers are waited for."""
Record = Mapping[str, Any]
Served = Mapping[str, tuple[str, str | Exception]]
"""By message id: the chunk, and what was done or the fault."""


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

    def serve(record: Record, spare: Callable[[], None]) -> Served:
        logs.begin(logger, here)
        pointer = json.loads(record["body"])
        logs.begin(logger, pointer["job"])
        return {record["messageId"]: (_name(pointer), work(pointer, spare))}

    def work(pointer: Mapping[str, Any], spare: Callable[[], None]) -> str:
        job, chunk = pointer["job"], int(pointer["chunk"])
        if pointer.get("resolve"):
            after = int(pointer.get("after", -1))
            resolved = lane.resolution(call_timeout).resolve(job, chunk, deadline=now + remaining, after=after)
            return f"asked about {resolved.asked}: {resolved.accepted} accepted, {resolved.absent} absent"
        return sender.work(job, chunk, owner=uuid4().hex, deadline=now + remaining, spare=spare).value

    def serve_group(group: Sequence[Record], spare: Callable[[], None]) -> Served:
        logs.begin(logger, here)
        pointers = [json.loads(record["body"]) for record in group]
        places = [(pointer["job"], int(pointer["chunk"])) for pointer in pointers]
        results = sender.work_together(places, owner=uuid4().hex, deadline=now + remaining, spare=spare)
        return {
            record["messageId"]: (_name(pointer), result if isinstance(result, Exception) else result.value)
            for record, pointer, result in zip(group, pointers, results, strict=True)
        }

    turns = _Turns(serve, serve_group, until=now + remaining / 2, credential=lane.credential)
    turns.serve(records)
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
    logger.info("sent", credential=lane.credential.id, did=turns.did, failed=len(turns.failed))
    return _again(turns.failed, records)


@dataclass(slots=True, eq=False)
class _Turn:
    """Pointers that are served together: one, or a group to small jobs. `spared`: it only waits for slow answers."""

    records: Sequence[Record]
    received: bool
    """By the function itself, which deletes them."""
    spared: bool = False


@dataclass
class _Turns:
    """Serves pointers side by side.

    Attributes:
        one: serves a pointer to a large job, or a question, and calls back once another may be served in its place.
        group: serves pointers to small jobs, likewise.
        until: Unix seconds from which no other is received: too little time is left for it.
        credential: the lane's.
        failed: the pointers that come again; the ledger makes it safe.
    """

    one: Callable[[Record, Callable[[], None]], Served]
    group: Callable[[Sequence[Record], Callable[[], None]], Served]
    until: Seconds
    credential: Credential
    did: dict[str, str] = field(default_factory=dict)
    failed: list[Record] = field(default_factory=list)
    _happened: "SimpleQueue[tuple[_Turn, bool]]" = field(default_factory=SimpleQueue)
    """A turn, and whether it was served; if not, another may be, in its place."""
    _active: int = 0
    """Turns that wait for more than slow answers."""
    _under_way: int = 0

    def serve(self, records: Sequence[Record]) -> None:
        """Serve those of an event, and what is received meanwhile."""
        express = bool(records) and _is_express(records[0])
        most, beside = (self.credential.group, self.credential.groups) if express else (1, len(records))
        self._begin_each(records, express=express)
        more = _is_full(records, most)
        while self._under_way:
            found = self._found(records[0], most, more=more and self._active < beside)
            if found is None:
                turn, served = self._next()
                more = more or not served or _is_full(turn.records, most)
            else:
                more = _is_full(found, most)
                self._begin_each(found, express=express, received=True)

    def _found(self, beside: Record, most: int, *, more: bool) -> list[Record] | None:
        """Receive other pointers if there may be `more`; None: a turn is to be waited for."""
        if more:
            return self._receive(beside, most)
        if _is_express(beside) and not self._active:
            return self._listen(beside, most) or None
        return None

    def _next(self) -> tuple[_Turn, bool]:
        """Wait for a turn to be served, or to make room for another."""
        turn, served = self._happened.get()
        self._under_way -= served
        self._active -= not turn.spared
        turn.spared = True
        return turn, served

    def _begin_each(self, records: Sequence[Record], *, express: bool, received: bool = False) -> None:
        """Begin a group of pointers to small jobs, or each by itself, as questions always are."""
        grouped = [x for x in records if express and '"resolve"' not in x["body"]]
        turns = [[x] for x in records if x not in grouped] + ([grouped] if grouped else [])
        for turn in turns:
            self._active, self._under_way = self._active + 1, self._under_way + 1
            begun = _Turn(turn, received)
            Thread(target=self._serve, args=(begun, turn is grouped), name="lease").start()

    def _serve(self, turn: _Turn, grouped: bool) -> None:  # noqa: FBT001 - a thread's argument
        def spare() -> None:
            self._happened.put((turn, False))

        records = turn.records
        served: Served = {}
        try:
            served = self.group(records, spare) if grouped else self.one(records[0], spare)
            done = [x for x in records if not isinstance(served[x["messageId"]][1], Exception)]
            if turn.received and done:
                _delete(done)
        except Exception:  # reported, logged and delivered again; other pointers are not to fail with it
            for record in records:
                logger.exception("pointer failed", message_id=record["messageId"])
            self.failed += records
        else:
            self._take(turn, served)
        finally:
            self._happened.put((turn, True))

    def _take(self, turn: _Turn, served: Served) -> None:
        """Note what was done for pointers; what was received has a line of its own, as it may be thousands."""
        did: dict[str, str] = {}
        for record in turn.records:
            name, result = served[record["messageId"]]
            if isinstance(result, Exception):
                logger.error("pointer failed", message_id=record["messageId"], exc_info=result)
                self.failed.append(record)
            else:
                did[name] = result
        if turn.received:
            logger.info("sent", credential=self.credential.id, did=did, failed=len(turn.records) - len(did))
        else:
            self.did |= did

    def _listen(self, beside: Record, most: int) -> list[Record]:
        """Receive other pointers while only slow answers are waited for; none once one has come, or for want of time.

        Of a provider that hangs now and then, calls would else hold up all workers of the lane, one after the other.
        """
        while self._happened.empty():
            found = self._look(beside, most, seconds=LISTEN)
            if found is None or found:
                return found or []
        return []

    def _receive(self, beside: Record, most: int) -> list[Record]:
        """Receive other pointers from the queue of one; none if none waits, or too little time is left."""
        return self._look(beside, most) or []

    def _look(self, beside: Record, most: int, seconds: int | None = None) -> list[Record] | None:
        """Receive other pointers from the queue of one; None if too little time is left, or the queue does not answer.

        `seconds`: to wait for some; None: as long as is usual.
        """
        if services.deployment().clock.now() > self.until:
            return None
        try:
            found = _lane().receive(most, express=_is_express(beside), seconds=seconds)
        except Exception:  # the event source has them served later
            logger.exception("no pointer received", credential=services.deployment().lane.credential.id)
            return None
        return [{**x, "eventSourceARN": beside["eventSourceARN"]} for x in found]


def _is_full(records: Sequence[Record], most: int) -> bool:
    """Tell whether pointers are a full group, so that others may wait behind them."""
    return len(records) >= most > 1


def _name(pointer: Mapping[str, Any]) -> str:
    return f"{pointer['job']}-{pointer['chunk']}"


def _lane() -> Any:
    d = services.deployment()
    return d.lanes[d.lane.credential.id]


def _is_express(record: Record) -> bool:
    return bool(record["eventSourceARN"].endswith(EXPRESS_SUFFIX))


def _delete(records: Sequence[Record]) -> None:
    _lane().delete([x["receiptHandle"] for x in records], express=_is_express(records[0]))


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
