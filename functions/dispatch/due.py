"""The queue of what is due: jobs whose time has come, minutes of other kinds, looks for leases, wakings."""

from collections.abc import Iterable, Mapping
from typing import Any

from functions.dispatch import services
from functions.dispatch.services import Answer
from functions.early import early
from shared.adapters import logs
from shared.contracts import LOOK, DueMinute, ResumeTask, load_due
from shared.domain.times import Seconds
from shared.engine.jobs.wake import SECONDS

logger = logs.lines()
early(lambda: services.deployment().due, lambda: services.deployment().expired, lambda: services.deployment().waker)
MARGIN = 15.0
"""Seconds of the function's time kept for the pages in hand."""


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Start each job of the batch that is due; a message too early has its job looked at again at its time.

    Wakings come last, and share their time: they are long, and jobs begin to the second.
    """
    logs.begin(logger, logs.invocation(context))
    d = services.deployment()
    failures: list[dict[str, str]] = []
    started: list[str] = []
    wakings: list[tuple[Mapping[str, Any], ResumeTask]] = []
    taken_over = 0
    for record in event["Records"]:
        body = record["body"]
        try:
            if body == LOOK:
                taken_over += _look()
            elif (minute := DueMinute.loads(body)) is not None:
                _relay(minute)
            elif (waking := ResumeTask.loads(body)) is not None:
                wakings.append((record, waking))
            else:
                started += _start(load_due(body))
        except Exception:  # reported, logged and delivered again; the sweeper starts the job meanwhile
            logger.exception("not started", message_id=record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
    if wakings:
        left = context.get_remaining_time_in_millis() / 1000 - MARGIN
        failures += _wake(wakings, d.clock.now() + min(SECONDS, left))
    logger.info("due", seen=len(event["Records"]), started=started, taken_over=taken_over, failed=len(failures))
    return {"batchItemFailures": failures}


def _start(name: str) -> list[str]:
    """Start a job if it is due; return its id then."""
    with logs.about(logger, name):
        job = services.deployment().due.arrived(name)
    return [job.id] if job is not None else []


def _relay(minute: DueMinute) -> None:
    """Wake the function of what is due in a minute, when that has come."""
    if services.deployment().relay.arrived(minute):
        logger.info("minute has come", minute=minute.name)


def _wake(wakings: Iterable[tuple[Mapping[str, Any], ResumeTask]], until: Seconds) -> list[dict[str, str]]:
    """Continue wakings until a time, each by one page at least; returns those that failed."""
    failures = []
    for record, way in wakings:
        try:
            woken = services.deployment().waker.go_on(way, until=until)
        except Exception:  # reported, logged and delivered again; the sweeper points to the same chunks meanwhile
            logger.exception("not woken", message_id=record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
            continue
        logger.info("woken", credential=way.credential, account=way.account, link=way.link, pointers=woken)
    return failures


def _look() -> int:
    """Look for leases of dead workers; a fault is logged, no more: the next look is a quarter of a minute away."""
    try:
        return services.deployment().expired.look()
    except Exception:  # and the sweeper's walk finds the same leases
        logger.exception("leases not looked at")
        return 0
