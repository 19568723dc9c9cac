"""The `records` stream: jobs that became READY are started when they are due, those of a campaign in their turn.

A campaign that gave way is checked when its next try is due, and a job that waits for its hours when they open. The
audit entry of a pause's end begins the waking of the jobs that it has kept; another function wakes them. An account's
pause, and the end of a campaign's hours, have the campaigns checked that wait behind.
The ledger of a small job is in the job's item: what has changed there is folded here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from functions.dispatch import services
from functions.early import early
from functions.folds import LATE_MS, Folding
from shared.adapters import logs, metrics
from shared.contracts import HELD_BACK, RESUMED
from shared.domain.jobs.states import JobState
from shared.domain.lanes.switches import Switch
from shared.metrics import Metric, Service

logger = logs.lines()
early(lambda: services.deployment().planner, lambda: services.deployment().waker, lambda: services.deployment().logger)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
    """Start what the jobs of the batch let start: themselves, or, as one of a campaign has ended, who waits behind it.

    One that is not due yet is left to its schedule and the sweeper.
    """
    logs.begin(logger, logs.invocation(context))
    images = [record["dynamodb"].get("NewImage", {}) for record in event["Records"]]
    jobs = dict.fromkeys(image["job"]["S"] for image in images if _starts(image))
    d = services.deployment()
    age = metrics.age_ms(event["Records"], d.clock.now())
    planned = []
    for job in jobs:
        with logs.about(logger, job):
            try:
                planned += [started.id for started in d.planner.react(job)]
            except Exception:  # whatever it is, it is raised again: the stream repeats the batch
                logger.exception("not planned")
                raise
    _hint(images)
    folding = Folding(d, logger)
    folding.fold(d.ledgers_in(event["Records"]), late=age > LATE_MS)
    count = sum(x.folded for x in folding.done.values())
    metrics.tell(
        d.settings.stage,
        Service.PLAN,
        {Metric.PLANNED: len(planned), Metric.FOLDED: count, Metric.RECORD_AGE: age},
    )
    if folding.faults:
        raise folding.faults[0]
    logger.info("planned", seen=len(jobs), planned=planned, folded=sorted(folding.done))
    return {"batchItemFailures": []}


def _starts(image: Mapping[str, Any]) -> bool:
    """Tell whether an image is that of a job that may be started, or lets another start."""
    return image.get("state", {}).get("S") == JobState.READY or "freed" in image


def _hint(images: Sequence[Mapping[str, Any]]) -> None:
    """Have looked at what the images let start later, or elsewhere."""
    d, closed = services.deployment(), False
    for image in images:
        if image.get("state", {}).get("S") == JobState.READY and "rests_until" in image:
            d.campaign_queue.come_back(image["job"]["S"], int(image["rests_until"]["N"]))
            closed |= "campaign" in image and "planned_at" in image and image.get("not_before") == image["rests_until"]
    for switch in _taken_back(images):
        d.waker.begin(switch)
        logger.info("resumed", credential=switch.credential, account=switch.account)
    if closed or any(_kind(image) in HELD_BACK for image in images):
        logger.info("held back", waiting=d.campaign_queue.look_again())


def _kind(image: Mapping[str, Any]) -> str:
    """Return the kind of the audit entry that an image is, empty for any other item."""
    return str(image.get("kind", {}).get("S", ""))


def _taken_back(images: Iterable[Mapping[str, Any]]) -> list[Switch]:
    """Return the switches of which audit entries say that a pause has ended."""
    found = []
    for image in images:
        kind = _kind(image)
        if kind in RESUMED:
            name, what = image["id"]["S"], kind.partition(".")[0]
            found.append(
                Switch(credential=name if what == "credential" else "", account=name if what == "account" else "")
            )
    return list(dict.fromkeys(found))
