"""Events for webhooks from the streams of the tables: each record of an item that matters becomes an event.

A record has the item as it is after a write, and not as it was before. So a write that leaves an item's state as it is
shows the same event again, under the same id.
"""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.accounts.ending_keys import announced
from shared.adapters.dynamo.accounts.spending import reached_quota
from shared.adapters.dynamo.campaigns import campaign_codec
from shared.adapters.dynamo.client import Item
from shared.adapters.dynamo.codec import number, text
from shared.adapters.dynamo.digests.window_codec import window
from shared.adapters.dynamo.jobs.bouncing import bouncing_day
from shared.adapters.dynamo.notices.updates import update_entry
from shared.adapters.dynamo.recipients.suppressions import suppression_of
from shared.adapters.dynamo.recipients.texts import received_text
from shared.domain.campaigns.campaign import UploadState
from shared.domain.digests.window import WindowState
from shared.domain.hooks import fields
from shared.domain.hooks.bodies import HookEvent
from shared.domain.hooks.domain_event import DomainEvent
from shared.domain.hooks.endpoint import DEPLOYMENT
from shared.domain.hooks.fields import HookData, SuppressionSource
from shared.domain.hooks.kinds import HookKind, event_id
from shared.domain.jobs.job import Job, StopReason
from shared.domain.jobs.states import JobState
from shared.domain.lanes.breaker import BreakerState
from shared.domain.namespaces import namespace
from shared.domain.recipients.suppressions import Reach
from shared.domain.times import DAY_MS
from shared.frozen import dataclass

KEPT_S: Final = 7 * DAY_MS // 1000
"""Seconds that an event is remembered if its item is no longer written after some days."""
_LOG: Final = "LOG"
_NEW: Final = "INSERT"
_READ: Final = frozenset({UploadState.READY.value, UploadState.FAILED.value})
_PARTS: Final = "parts"
"""The one attribute with bytes in a list; no event needs it."""
_REACHES: Final = {f"{name}{_LOG}": reach for reach, name in keys.LISTS.items()}

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Shown:
    """An item as a record shows it. `new`: it was not there before; `now`: Unix seconds."""

    item: Item
    new: bool
    now: int


def read(records: Sequence[Record], now: int) -> Iterator[DomainEvent]:
    """Yield the events that records of the streams of `records` and `ops` show.

    Args:
        records: as Lambda hands them over.
        now: Unix seconds.
    """
    for record in records:
        image = record["dynamodb"].get("NewImage")
        if image is not None:
            item = codec.from_stream({k: v for k, v in image.items() if k != _PARTS}, base64.b64decode)
            shown = _Shown(item, new=record.get("eventName", _NEW) == _NEW, now=now)
            at = int(record["dynamodb"].get("ApproximateCreationDateTime", 0) * 1000)
            for x in next((said(shown) for wanted, said in _READERS if wanted(item)), ()):
                yield replace(x, event=replace(x.event, at=at))


def _jobs(record: _Shown) -> Iterator[DomainEvent]:
    job = codec.job(record.item)
    data = fields.JOB.data(job)
    if job.stopped_at and job.stopped:
        yield _of_job(job, HookKind.JOB_STOPPED, job.stopped_at, data)
        if job.campaign and job.stop_reason == StopReason.BOUNCE_GUARD:
            halt = fields.HALT.data(job)
            yield _of_job(job, HookKind.CAMPAIGN_HALTED, job.stopped_at, halt)
            if not job.test:
                yield _of_job(job, HookKind.CAMPAIGN_HALTED, job.stopped_at, halt, DEPLOYMENT)
    if job.state is JobState.LOGGED:
        look = {job.id: range(job.chunks)} if job.counts["skipped"] else {}
        yield _of_job(job, HookKind.JOB_LOGGED, job.finished_at, data, look=look)


def _of_job(
    job: Job,
    kind: HookKind,
    at: int,
    data: HookData,
    owner: str = "",
    look: Mapping[str, Sequence[int]] | None = None,
) -> DomainEvent:
    """Return what happened to a job. `at`: when, Unix milliseconds; `owner`: its namespace, by default the job's."""
    event = HookEvent(event_id(kind, job.id, at), data)
    return DomainEvent(owner or job.namespace, kind, event, ttl=job.ttl, look=look or {})


def _windows(record: _Shown) -> Iterator[DomainEvent]:
    found = window(record.item)
    event = HookEvent(event_id(HookKind.DIGEST_CLOSED, found.id), fields.WINDOW.data(found))
    yield DomainEvent(found.namespace, HookKind.DIGEST_CLOSED, event, ttl=record.now + KEPT_S)


def _uploads(record: _Shown) -> Iterator[DomainEvent]:
    upload = campaign_codec.upload(record.item)
    kind = HookKind.UPLOAD_FINISHED
    event = HookEvent(event_id(kind, upload.id, upload.state.value), fields.UPLOAD.data(upload))
    yield DomainEvent(namespace(upload.account, test=upload.test), kind, event, ttl=upload.ttl)


def _approvals(record: _Shown) -> Iterator[DomainEvent]:
    found = campaign_codec.campaign(record.item)
    if found.decided is not None:
        kind, name, body = HookKind.APPROVAL_DECIDED, found.decided.id, fields.DECISION
    elif found.waiting is not None:
        kind, name, body = HookKind.APPROVAL_ASKED, found.waiting.id, fields.APPROVAL
    else:
        return  # an older version has changed the campaign since
    yield DomainEvent(found.namespace, kind, HookEvent(event_id(kind, found.id, name), body.data(found)))


def _texts(record: _Shown) -> Iterator[DomainEvent]:
    if record.new:
        found = received_text(record.item)
        event = HookEvent(event_id(HookKind.TEXT_RECEIVED, found.account, found.id), fields.TEXT.data(found))
        yield DomainEvent(found.account, HookKind.TEXT_RECEIVED, event)


def _ending_keys(record: _Shown) -> Iterator[DomainEvent]:
    ending = announced(record.item)
    event = HookEvent(event_id(HookKind.KEY_EXPIRING, ending.key, ending.expires, ending.days), fields.KEY.data(ending))
    yield DomainEvent(ending.namespace, HookKind.KEY_EXPIRING, event, ttl=number(record.item, "ttl"))


def _quotas(record: _Shown) -> Iterator[DomainEvent]:
    if record.new:
        found = reached_quota(record.item)
        name = event_id(HookKind.QUOTA_REACHED, found.account, found.day, found.key, found.measure, found.share)
        event = HookEvent(name, fields.QUOTA.data(found))
        for owner in (found.account, DEPLOYMENT):
            yield DomainEvent(owner, HookKind.QUOTA_REACHED, event)


def _bouncing(record: _Shown) -> Iterator[DomainEvent]:
    if record.new:
        found = bouncing_day(record.item)
        name = event_id(HookKind.ACCOUNT_BOUNCING, found.account, found.day, found.channel)
        event = HookEvent(name, fields.BOUNCING.data(found))
        for owner in (found.account, DEPLOYMENT):
            yield DomainEvent(owner, HookKind.ACCOUNT_BOUNCING, event)


def _updates(record: _Shown) -> Iterator[DomainEvent]:
    if record.new:
        entry = update_entry(record.item)
        name = event_id(HookKind.NOTICE_UPDATED, entry.notifier, entry.notice, entry.stamp)
        yield DomainEvent("", HookKind.NOTICE_UPDATED, HookEvent(name, fields.UPDATE.data(entry)), entry.notifier)


def _suppressions(record: _Shown) -> Iterator[DomainEvent]:
    item = record.item
    owner, _, name = item["pk"]["S"].partition("#")[2].rpartition("#")
    reach = _REACHES.get(name)
    if not record.new or reach is None:
        return  # the other one of its two items, or a change of its reason
    kind = HookKind.SUPPRESSION_ADDED if reach is Reach.ALL else HookKind.UNSUBSCRIBED
    source = SuppressionSource(suppression_of(item), reach)
    event = HookEvent(event_id(kind, owner, name, item["sk"]["S"]), fields.SUPPRESSION.data(source))
    yield DomainEvent(owner, kind, event)


def _breakers(record: _Shown) -> Iterator[DomainEvent]:
    breaker = codec.breaker(record.item["pk"]["S"].partition("#")[2], record.item)
    if not breaker.since or breaker.state is BreakerState.HALF_OPEN:
        return
    kind = HookKind.BREAKER_CLOSED if breaker.closed else HookKind.BREAKER_OPENED
    event = HookEvent(event_id(kind, breaker.credential, breaker.since), fields.BREAKER.data(breaker))
    yield DomainEvent(DEPLOYMENT, kind, event, ttl=record.now + KEPT_S)


_READERS: Final[Sequence[tuple[Callable[[Item], bool], Callable[[_Shown], Iterator[DomainEvent]]]]] = (
    (lambda x: x["sk"]["S"] == keys.BREAKER, _breakers),
    (keys.is_job, _jobs),
    (lambda x: x["sk"]["S"] == "TEXT", _texts),
    (lambda x: x["sk"]["S"] == keys.ENDING, _ending_keys),
    (lambda x: x["sk"]["S"] == keys.REACHED, _quotas),
    (lambda x: x["sk"]["S"] == keys.BOUNCING, _bouncing),
    (lambda x: text(x, "state") == WindowState.CLOSED.value and "closes_at" in x, _windows),
    (lambda x: x["sk"]["S"].startswith(keys.UPLOAD_PREFIX) and text(x, "phase") in _READ, _uploads),
    (lambda x: text(x, "phase") in (campaign_codec.ASKED, campaign_codec.DECIDED), _approvals),
    (lambda x: "notice" in x and "status" in x and number(x, "ttl") > 0, _updates),
    (lambda x: "address" in x and "reason" in x, _suppressions),
)
"""For each kind of item that matters: a test, and the function that reads it."""


def alarm(event: Mapping[str, Any]) -> DomainEvent:
    """Return EventBridge's event of an alarm whose state has changed."""
    detail = event["detail"]
    name = event_id(HookKind.ALARM_CHANGED, detail["alarmName"], detail["state"]["value"], detail["state"]["timestamp"])
    at = int(datetime.fromisoformat(detail["state"]["timestamp"]).timestamp() * 1000)
    return DomainEvent(DEPLOYMENT, HookKind.ALARM_CHANGED, HookEvent(name, fields.ALARM.data(detail), at))
