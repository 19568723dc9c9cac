"""Bodies of hooks: what each kind of event says, as JSON.

The body of an event of a message is made again for each attempt to deliver it, from items that never change. So it has
the same bytes each time. All other bodies are made once and stored.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from shared.domain.campaigns.campaign import Upload
from shared.domain.content.personal import Personal
from shared.domain.digests.window import DigestWindow
from shared.domain.ids import message_id
from shared.domain.jobs.job import Job, public_counts
from shared.domain.jobs.states import Cell, message_state
from shared.domain.lanes.breaker import Breaker
from shared.domain.lists.uploads import ListCounts
from shared.domain.notices.updates import UpdateEntry
from shared.domain.recipients.suppressions import Reach, Suppression
from shared.domain.texts import ReceivedText
from shared.domain.times import Millis

MAX_BATCH: Final = 100
"""Events of a batch."""
BATCH: Final = "batch"
"""The `type` of a batch."""

UNMARKED: Final = Personal()
"""Of a message that its owner has sent nothing along with."""

HookData = dict[str, Any]
"""The data of an event: `data` of its body."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One event.

    Attributes:
        id: as `kinds` makes it.
        data: what it says.
        at: its time, Unix milliseconds; 0: when its delivery is made.
    """

    id: str
    data: HookData
    at: Millis = 0


def iso(at: Millis) -> str:
    """Return a moment, Unix milliseconds, as RFC 3339 in UTC with milliseconds."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def single(kind: str, at: Millis, data: Mapping[str, Any]) -> bytes:
    """Return the body of one event.

    Args:
        at: its time, Unix milliseconds.
    """
    return packed(_envelope(kind, at, data))


def batch(kind: str, at: Millis, events: Iterable[HookEvent]) -> bytes:
    """Return the body of several events of one kind.

    Args:
        kind: the kind of all of them.
        at: Unix milliseconds: when their delivery was made.
        events: in their order.
    """
    some = [{"id": x.id, **_envelope(kind, at, x.data)} for x in events]
    return packed(_envelope(BATCH, at, some))


def packed(value: Any) -> bytes:
    """Return JSON without spaces, in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _envelope(kind: str, at: Millis, data: Any) -> HookData:
    return {"type": str(kind), "timestamp": iso(at), "data": data}


# What each kind says


def message_data(
    job: Job, chunk: int, index: int, byte: int, address: str, error: str = "", own: Personal = UNMARKED
) -> HookData:
    """Return what an event of a message says. Only what never changes of the job is in it.

    Args:
        index: the recipient's place in the chunk.
        byte: the message's cell, as its ledger had it.
        error: the code that explains the state; empty for none.
        own: what its owner has sent along with it.
    """
    return {
        "job_id": job.id,
        "message": message_id(chunk, index),
        "recipient": address,
        "channel": job.channel,
        "state": message_state(Cell(byte & 15)).value,
        "attempt": byte >> 4,
        "error": error or None,
        "kind": job.kind,
        "name": job.name or None,
        "campaign_id": job.campaign or None,
        "test": job.test,
        "tags": list(own.labels),
        "metadata": dict(own.metadata),
    }


def mail_data(job: Job, chunk: int, byte: int, address: str, error: str = "") -> HookData:
    """Return what the failure of a mail's destination says.

    Args:
        chunk: the destination's number, which is that of its chunk.
        byte: the destination's cell, as its ledger had it.
        error: the code that explains the state; empty for none.
    """
    return {
        "mail_id": job.name,
        "job_id": job.id,
        "destination": chunk,
        "address": address,
        "state": message_state(Cell(byte & 15)).value,
        "attempts": byte >> 4,
        "error": error or None,
        "test": job.test,
    }


def job_data(job: Job) -> HookData:
    """Return what the end or the stop of a job says."""
    return {
        "job_id": job.id,
        "kind": job.kind,
        "channel": job.channel,
        "state": job.state.value,
        "name": job.name or None,
        "campaign_id": job.campaign or None,
        "test": job.test,
        "total": job.total,
        "counts": public_counts(job.counts),
        "stop_reason": job.stop_reason or None,
        "stopped_at": _moment(job.stopped_at),
        "finished_at": _moment(job.ended_at),
    }


def halt_data(job: Job) -> HookData:
    """Return what the halt of a campaign by the bounce guard says. `job`: the one that was stopped."""
    return {
        "account": job.account,
        "campaign_id": job.campaign,
        "job_id": job.id,
        "name": job.name or None,
        "test": job.test,
        "reason": job.stop_reason,
        "counts": public_counts(job.counts),
        "bounced": job.counts["bounced"],
        "stopped_at": iso(job.stopped_at),
    }


def upload_data(upload: Upload) -> HookData:
    """Return what a list that was read, or cannot be used, says."""
    counts = upload.checkpoint.counts if upload.checkpoint is not None else ListCounts()
    return {
        "upload_id": upload.id,
        "campaign_id": upload.campaign,
        "state": upload.state.value,
        "rows": counts.rows,
        "accepted": counts.accepted,
        "invalid": counts.invalid,
        "duplicates": counts.duplicates,
        "code": upload.code or None,
        "detail": upload.detail or None,
        "finished_at": _moment(upload.finished_at),
    }


def window_data(window: DigestWindow) -> HookData:
    """Return what a window that was closed says."""
    return {
        "window_id": window.id,
        "batch_key": window.key,
        "number": window.number,
        "urgent": window.urgent,
        "events": window.events,
        "opened_at": iso(window.opened_at),
        "closed_at": iso(window.closed_at),
        "policy": window.prefix,
        "test": window.test,
    }


def update_data(entry: UpdateEntry) -> HookData:
    """Return what an update of a notice says."""
    return {
        "notifier": entry.notifier,
        "id": entry.id,
        "action": entry.action,
        "status": entry.status,
        "error": entry.error or None,
        "message": entry.message or None,
        "updated_at": iso(entry.stamp),
    }


def suppression_data(entry: Suppression, reach: Reach) -> HookData:
    """Return what a new suppression, or an unsubscription, says. `reach`: the list that it is in."""
    return {
        "address": entry.address,
        "scope": reach.value,
        "reason": entry.reason,
        "channel": entry.channel or None,
        "job_id": entry.job or None,
        "policy": entry.policy or None,
        "at": iso(entry.at),
    }


def text_data(text: ReceivedText) -> HookData:
    """Return what a received text says."""
    return {
        "text_id": text.id,
        "received_at": iso(text.at),
        "from": text.sender,
        "to": text.to or None,
        "text": text.text,
        "wish": {"stopped": "stop", "started": "start"}.get(text.wish),
        "channel": text.channel,
        "credential_id": text.credential,
    }


def breaker_data(breaker: Breaker) -> HookData:
    """Return what a breaker that was opened or closed says."""
    return {
        "credential_id": breaker.credential,
        "state": breaker.state.value,
        "reason": breaker.reason or None,
        "failures": breaker.failures,
        "since": iso(breaker.since),
    }


def alarm_data(detail: Mapping[str, Any]) -> HookData:
    """Return what a change of an alarm says. `detail`: of CloudWatch's event."""
    state, before = detail["state"], detail.get("previousState", {})
    return {
        "alarm": str(detail["alarmName"]),
        "state": str(state["value"]),
        "before": before.get("value"),
        "reason": state.get("reason"),
        "changed_at": str(state["timestamp"]),
    }


def proof_data(endpoint: str) -> HookData:
    """Return what a `test` event says. `endpoint`: the endpoint that is asked."""
    return {"hook_id": endpoint}


def _moment(at: Millis) -> str | None:
    return iso(at) if at else None
