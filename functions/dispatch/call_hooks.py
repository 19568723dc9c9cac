"""The queues of calls: what is due is posted to endpoints. Every minute: hints for endpoints that no hint has named."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from functions.dispatch import services
from functions.dispatch.services import Answer
from functions.early import early
from shared.adapters import logs, metrics
from shared.contracts import HookCall
from shared.metrics import Metric, Service

MARGIN: Final = 15.0
"""Seconds before its end in which an invocation begins no post: one takes up to ten, and its result is stored."""
APART: Final = "-slow"
"""Ends the name of the queue of endpoints that fail or hang."""
logger = logs.lines()
early(lambda: services.deployment().hooking.calls)


def handler(event: Mapping[str, Any], context: Any) -> Answer | dict[str, int]:
    """Post to each endpoint that the batch names, or send hints for those with work that no hint has named."""
    logs.begin(logger, logs.invocation(context))
    return _calls(event["Records"], context) if "Records" in event else _minute(context)


def _calls(records: Sequence[Mapping[str, Any]], context: Any) -> Answer:
    d = services.deployment()
    calls = d.hooking.calls
    stop_at = d.clock.now() + context.get_remaining_time_in_millis() / 1000 - MARGIN
    failures: list[dict[str, str]] = []
    delivered = refused = dropped = 0
    for record in records:
        try:
            name = HookCall.loads(record["body"]).endpoint
            did = calls.work(name, apart=record["eventSourceARN"].endswith(APART), stop_at=stop_at)
        except Exception:  # reported, logged and delivered again; the walk of every minute makes up for it
            logger.exception("endpoint not called", message_id=record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
        else:
            delivered, refused, dropped = delivered + did.delivered, refused + did.refused, dropped + did.dropped
    told = {Metric.HOOKS_DELIVERED: delivered, Metric.HOOKS_REFUSED: refused}
    metrics.tell(d.settings.stage, Service.HOOKS, told)
    logger.info("endpoints called", delivered=delivered, refused=refused, dropped=dropped, failed=len(failures))
    return {"batchItemFailures": failures}


def _minute(context: Any) -> dict[str, int]:
    d = services.deployment()
    stop_at = d.clock.now() + context.get_remaining_time_in_millis() / 1000 - MARGIN
    woken = d.hooking.calls.wake(stop_at=stop_at)
    metrics.tell(d.settings.stage, Service.HOOKS, {Metric.HOOKS_WOKEN: 1})
    logger.info("endpoints woken", woken=woken)
    return {"woken": woken}
