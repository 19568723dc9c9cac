"""Windows of events become digests: by hints at their time, and when the sweeper finds that a hint was lost."""

from collections.abc import Mapping
from typing import Any, Final

from functions.digest import services
from functions.early import early
from shared.adapters import logs, metrics
from shared.contracts import DueMinute, load_digest_hint
from shared.engine.digests.make import DigestFault
from shared.metrics import Metric, Service

logger = logs.lines()
early(lambda: services.deployment().digesting.closer)
MARGIN: Final = 15.0
"""Seconds kept for the windows in hand, of which one with a hundred thousand recipients may be."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Serve the messages of the queue: hints about windows, minutes in which some end, and that some are overdue.

    The walk tries again what cannot be made now.
    """
    logs.begin(logger, logs.invocation(context))
    closer = services.deployment().digesting.closer
    failures: list[dict[str, str]] = []
    did: dict[str, str] = {}
    for record in event["Records"]:
        try:
            minute = DueMinute.loads(record["body"])
            if minute is not None:
                did[minute.name] = f"{closer.minute(minute.at)} hints" if minute.at else _walk(context)
            elif name := load_digest_hint(record["body"]):
                did[name] = closer.arrived(name).value
        except DigestFault as fault:
            logger.error("window not made", message_id=record["messageId"], fault=fault.code)  # noqa: TRY400 - no defect
        except Exception:  # reported, logged and delivered again; the walk makes the window meanwhile
            logger.exception("hint not served", message_id=record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
    logger.info("hints served", did=did, failed=len(failures))
    return {"batchItemFailures": failures}


def _walk(context: Any) -> str:
    """Continue the walks for as long as there is time."""
    d = services.deployment()
    swept = d.digesting.sweeper.sweep(d.clock.now() + context.get_remaining_time_in_millis() / 1000 - MARGIN)
    metrics.tell(d.settings.stage, Service.DIGEST, {Metric.DIGESTED: int(swept.complete)})
    logger.info("windows looked at", complete=swept.complete, unfinished=list(swept.unfinished))
    return "complete" if swept.complete else "incomplete"
