"""Kinds of events that hooks deliver, and the ids of these events.

An id is made of what changed. The same change always has the same id, so a receiver can recognise a repeat.
"""

import hashlib
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from shared.domain.jobs.states import Cell
from shared.domain.times import Millis, Seconds


class HookKind(StrEnum):
    """The kind of an event: what has happened."""

    MESSAGE_SENT = "message.sent"
    MESSAGE_DELIVERED = "message.delivered"
    MESSAGE_FAILED = "message.failed"
    MESSAGE_SKIPPED = "message.skipped"
    MESSAGE_UNKNOWN = "message.unknown"
    MESSAGE_BOUNCED = "message.bounced"
    MESSAGE_COMPLAINED = "message.complained"
    JOB_LOGGED = "job.logged"
    JOB_STOPPED = "job.stopped"
    CAMPAIGN_HALTED = "campaign.halted"
    APPROVAL_ASKED = "approval.asked"
    APPROVAL_DECIDED = "approval.decided"
    UPLOAD_FINISHED = "upload.finished"
    DIGEST_CLOSED = "digest.closed"
    NOTICE_UPDATED = "notice.updated"
    MAIL_FAILED = "mail.failed"
    SUPPRESSION_ADDED = "suppression.added"
    UNSUBSCRIBED = "unsubscribed"
    TEXT_RECEIVED = "text.received"
    KEY_EXPIRING = "key.expiring"
    QUOTA_REACHED = "quota.reached"
    ACCOUNT_BOUNCING = "account.bouncing"
    BREAKER_OPENED = "breaker.opened"
    BREAKER_CLOSED = "breaker.closed"
    ALARM_CHANGED = "alarm.changed"
    TEST = "test"
    """Asks an endpoint to prove that it wants events. No endpoint names it: each one has it."""


class HookPace(StrEnum):
    """How soon changes of messages reach an endpoint."""

    NOW = "now"
    """An endpoint without batches."""
    LATER = "later"
    """An endpoint with batches: changes are gathered for some seconds."""


LATER_S: Final[Seconds] = 4
"""For so long changes are gathered: a hint about them is delivered no sooner."""

_OF_OPERATORS: Final = frozenset({HookKind.BREAKER_OPENED, HookKind.BREAKER_CLOSED, HookKind.ALARM_CHANGED})
ACCOUNT_KINDS: Final = frozenset(HookKind) - _OF_OPERATORS - {HookKind.TEST}
"""Kinds that an account's endpoint may name."""
_OF_BOTH: Final = frozenset({HookKind.CAMPAIGN_HALTED, HookKind.QUOTA_REACHED, HookKind.ACCOUNT_BOUNCING})
DEPLOYMENT_KINDS: Final = _OF_OPERATORS | _OF_BOTH
"""Kinds that an operators' endpoint may name."""
_KIND_OF: Final = {
    Cell.SENT: HookKind.MESSAGE_SENT,
    Cell.RELAYED: HookKind.MESSAGE_SENT,
    Cell.SENT_CLOSED: HookKind.MESSAGE_SENT,
    Cell.DELIVERED: HookKind.MESSAGE_DELIVERED,
    Cell.FAILED: HookKind.MESSAGE_FAILED,
    Cell.DROPPED: HookKind.MESSAGE_FAILED,
    Cell.BOUNCED: HookKind.MESSAGE_BOUNCED,
    Cell.SKIPPED: HookKind.MESSAGE_SKIPPED,
    Cell.WITHDRAWN: HookKind.MESSAGE_SKIPPED,
    Cell.EXPIRED: HookKind.MESSAGE_SKIPPED,
    Cell.UNKNOWN: HookKind.MESSAGE_UNKNOWN,
    Cell.UNKNOWN_CLOSED: HookKind.MESSAGE_UNKNOWN,
}
MESSAGE_KINDS: Final = frozenset(_KIND_OF.values()) | {HookKind.MESSAGE_COMPLAINED, HookKind.MAIL_FAILED}
"""Kinds that changes of messages have."""
_ID: Final = "evt_"


def kind_of(cell: Cell) -> HookKind | None:
    """Return the kind of event that a message's state is; None: the state is no event (queued, sending)."""
    return _KIND_OF.get(cell)


def message_event_id(job: str, chunk: int, index: int, attempt: int, kind: HookKind) -> str:
    """Return the id of a message's event.

    Args:
        index: the recipient's place in the chunk.
        attempt: the attempt that the event is about; 0: none was made.
    """
    return f"{_ID}{job}-{chunk}-{index}-{attempt}-{kind.value.replace('.', '-')}"


def event_id(kind: HookKind, *parts: str | int) -> str:
    """Return the id of an event that is no message's. `parts`: what changed, and when or to what."""
    return _hashed((kind.value, *parts))


def batch_id(endpoint: str, at: Millis, events: Iterable[str]) -> str:
    """Return the id of a batch. One that is made again has another: its body has another time.

    Args:
        at: when it was made, Unix milliseconds.
        events: their ids, in order.
    """
    return _hashed(("batch", endpoint, at, *events))


def _hashed(parts: Iterable[str | int]) -> str:
    return _ID + hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:32]
