"""Makes deliveries of what webhooks hear of: hints about changed messages, streams of tables, changes of alarms.

It reads all accounts' items and calls no server outside AWS. `call_hooks` posts what is stored here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from functions.dispatch import services
from functions.dispatch.services import Answer
from functions.early import early
from shared.adapters import logs
from shared.contracts import HookChanges
from shared.domain.hooks.kinds import HookPace
from shared.domain.times import Seconds

logger = logs.lines()
early(lambda: services.deployment().hooking.gatherer, lambda: services.deployment().hooking.domain_events)
QUEUE: Final = "aws:sqs"
MARGIN: Final = 25.0
"""Seconds before its end in which an invocation begins no other chunks: those begun take some seconds."""
Group = dict[tuple[str, HookPace], list[tuple[HookChanges, str]]]


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Make deliveries of hints, of a stream's records, or of a change of an alarm.

    A hint that fails is delivered again. A fault of a stream's record is raised, so that the stream repeats it.
    """
    logs.begin(logger, logs.invocation(context))
    records: Sequence[Mapping[str, Any]] = event.get("Records", ())
    if records and records[0]["eventSource"] == QUEUE:
        return {"batchItemFailures": [{"itemIdentifier": name} for name in _gather(records, _until(context))]}
    hooking = services.deployment().hooking
    made = hooking.domain_events.hear(hooking.read(records) if records else hooking.alarm(event))
    logger.info("heard", records=len(records), deliveries=made)
    return {"batchItemFailures": []}


def _until(context: Any) -> float:
    """Return until when chunks may be begun, Unix seconds."""
    left = float(context.get_remaining_time_in_millis()) / 1000
    return services.deployment().clock.now() + left - MARGIN


def _gather(records: Sequence[Mapping[str, Any]], until: Seconds) -> list[str]:
    """Serve hints, those of a namespace and pace together; return the ids of the messages that failed.

    Endpoints without batches come first: the others' changes have waited for seconds already. Chunks for which there is
    no time are hinted at again: one moment ends all groups.
    """
    failures = []
    groups: Group = {}
    for record in records:
        try:
            changes = HookChanges.loads(record["body"])
            groups.setdefault((changes.namespace, HookPace(changes.pace)), []).append((changes, record["messageId"]))
        except (ValueError, KeyError, TypeError):
            logger.exception("no hint", message_id=record["messageId"])
            failures.append(record["messageId"])
    events = deliveries = 0
    for (namespace, pace), some in sorted(groups.items(), key=_is_later):
        places = [(job, n) for changes, _ in some for job, chunks in changes.places.items() for n in chunks]
        try:
            gathered = services.deployment().hooking.gatherer.gather(namespace, places, pace, until=until)
            if gathered.left:
                services.deployment().hooking.hints.gather(namespace, _by_job(gathered.left), pace)
        except Exception:  # reported, logged and delivered again
            names = [name for _, name in some]
            logger.exception("not gathered", namespace=namespace, pace=pace.value, message_ids=names)
            failures += names
            continue
        events, deliveries = events + gathered.events, deliveries + gathered.deliveries
    logger.info("gathered", hints=len(records), events=events, deliveries=deliveries, failed=len(failures))
    return failures


def _is_later(group: tuple[tuple[str, HookPace], object]) -> bool:
    """Tell whether a group is for endpoints with batches."""
    return group[0][1] is HookPace.LATER


def _by_job(places: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Return chunks by their jobs."""
    out: dict[str, list[int]] = {}
    for job, chunk in places:
        out.setdefault(job, []).append(chunk)
    return out
