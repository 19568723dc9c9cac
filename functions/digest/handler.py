"""Windows of events become digests: by hints at their time, and every minute if a hint was lost."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from functions.digest import services
from functions.early import early
from shared.adapters import logs, metrics
from shared.contracts import load_digest_hint
from shared.engine.digests.make import DigestFault
from shared.metrics import Metric, Service

logger = logs.lines()
early(lambda: services.deployment().digesting.closer)
MARGIN: Final = 15.0
"""Seconds kept for the windows in hand, of which one with a hundred thousand recipients may be."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Serve hints of the queue, or continue the walks for as long as there is time."""
    logs.begin(logger, logs.invocation(context))
    return _hints(event["Records"]) if "Records" in event else _minute(context)


def _hints(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Close and make each window that a hint names. The walk tries again what cannot be made now."""
    closer = services.deployment().digesting.closer
    failures: list[dict[str, str]] = []
    did: dict[str, str] = {}
    for record in records:
        try:
            name = load_digest_hint(record["body"])
            if name:
                did[name] = closer.arrived(name).value
        except DigestFault as fault:
            logger.error("window not made", message_id=record["messageId"], fault=fault.code)  # noqa: TRY400 - no defect
        except Exception:  # reported, logged and delivered again; the walk makes the window meanwhile
            logger.exception("hint not served", message_id=record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
    logger.info("hints served", did=did, failed=len(failures))
    return {"batchItemFailures": failures}


def _minute(context: Any) -> dict[str, Any]:
    d = services.deployment()
    swept = d.digesting.sweeper.sweep(d.clock.now() + context.get_remaining_time_in_millis() / 1000 - MARGIN)
    metrics.tell(d.settings.stage, Service.DIGEST, {Metric.DIGESTED: int(swept.complete)})
    logger.info("windows looked at", complete=swept.complete, unfinished=list(swept.unfinished))
    return {"complete": swept.complete}
