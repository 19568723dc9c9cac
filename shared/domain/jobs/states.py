"""States of cells, messages and jobs, and the one table of a job's transitions.

A *cell* is the engine's view of one recipient, one byte in a ledger: `attempt << 4 | state`. A *message state* is the
outside view. Source: docs/protocol.md, "States of a cell" and docs/architecture.md, "The life of a job".
"""

from enum import IntEnum, StrEnum
from typing import Final


class Cell(IntEnum):
    """State of one recipient inside a ledger; fits in four bits."""

    QUEUED = 0
    RETRY = 1
    """Surely not sent; waits for the next pass."""
    CLAIMED = 2
    UNKNOWN = 3
    FAILED = 4
    """Refused for good."""
    SKIPPED = 5
    SENT = 6
    RELAYED = 7
    """Accepted by a provider that gives no feedback."""
    DROPPED = 8
    """Given up after a definite failure; the only failure that a retry takes."""
    DELIVERED = 9
    BOUNCED = 10
    SENT_CLOSED = 11
    """Accepted, and no receipt is waited for any longer."""
    UNKNOWN_CLOSED = 12
    """Of unknown fate, and no provider is asked any longer."""
    WITHDRAWN = 13
    """Taken back before it was claimed."""
    EXPIRED = 14
    """Not sent before the time after which it must not be."""


MAX_ATTEMPTS: Final = 15
"""An attempt's number has four bits."""

RANK: Final = {
    Cell.CLAIMED: 0,
    Cell.UNKNOWN: 1,
    Cell.FAILED: 2,
    Cell.SENT: 3,
    Cell.RELAYED: 3,
    Cell.QUEUED: 4,
    Cell.RETRY: 4,
    Cell.DROPPED: 4,
    Cell.SENT_CLOSED: 5,
    Cell.UNKNOWN_CLOSED: 5,
    Cell.DELIVERED: 6,
    Cell.BOUNCED: 7,
    Cell.SKIPPED: 9,
    Cell.WITHDRAWN: 9,
    Cell.EXPIRED: 9,
}
"""Of several events about the same attempt, the higher rank wins."""

NEVER_SENT: Final = frozenset({Cell.SKIPPED, Cell.WITHDRAWN, Cell.EXPIRED})
"""Final: no event of a provider changes them."""

OPEN: Final = frozenset({Cell.QUEUED, Cell.RETRY, Cell.CLAIMED})
"""A ledger is DONE when none of its cells is in one of these."""


class MessageState(StrEnum):
    """A message as clients see it."""

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    DELIVERED = "delivered"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


class Status(StrEnum):
    """The detailed status in logs and daily stats."""

    QUEUED = "queued"
    SUCCESS = "success"
    FAILED = "failed"


COUNT_KEYS: Final = ("queued", "sending", "sent", "relayed", "delivered", "failed", "skipped", "unknown", "bounced")
"""The states that a job's counts and a ledger's histogram distinguish.

`relayed` is shown as sent and counted as success; `bounced`, the hard bounces, is shown as failed."""
SHOWN_AS: Final = {"relayed": "sent", "bounced": "failed"}
"""Keys of counts that clients see within another."""

_COUNTED: Final = {
    Cell.QUEUED: "queued",
    Cell.RETRY: "queued",
    Cell.CLAIMED: "sending",
    Cell.UNKNOWN: "unknown",
    Cell.FAILED: "failed",
    Cell.SKIPPED: "skipped",
    Cell.SENT: "sent",
    Cell.RELAYED: "relayed",
    Cell.DROPPED: "failed",
    Cell.DELIVERED: "delivered",
    Cell.BOUNCED: "bounced",
    Cell.SENT_CLOSED: "relayed",
    Cell.UNKNOWN_CLOSED: "unknown",
    Cell.WITHDRAWN: "skipped",
    Cell.EXPIRED: "skipped",
}
COUNT_TABLE: Final = bytes(
    COUNT_KEYS.index(_COUNTED[Cell(b & 15)]) if b & 15 <= max(Cell) else COUNT_KEYS.index("unknown") for b in range(256)
)
"""For `bytes.translate`: a cell's byte to the index of its count key."""


def message_state(cell: Cell) -> MessageState:
    """Return what the outside sees of a cell."""
    key = _COUNTED[cell]
    return MessageState(SHOWN_AS.get(key, key))


def status(cell: Cell) -> Status:
    """Return the narrow word of a cell: success is delivered, or sent where the provider has no feedback."""
    if cell in (Cell.DELIVERED, Cell.RELAYED, Cell.SENT_CLOSED):
        return Status.SUCCESS
    if cell in (Cell.FAILED, Cell.DROPPED, Cell.BOUNCED, Cell.UNKNOWN_CLOSED) or cell in NEVER_SENT:
        return Status.FAILED
    return Status.QUEUED


class JobState(StrEnum):
    """The six states of a job."""

    READY = "READY"
    ENQUEUED = "ENQUEUED"
    SENDING = "SENDING"
    SENT = "SENT"
    STOPPED = "STOPPED"
    LOGGED = "LOGGED"


ACTIVE: Final = frozenset({JobState.ENQUEUED, JobState.SENDING})
"""Only a job in one of these may be claimed from (not "not STOPPED": a stale pointer can find it READY or LOGGED)."""
RESTING: Final = frozenset({JobState.READY, JobState.LOGGED})
"""Nothing is to be done about the ledgers of a job in one of these."""


class Change(StrEnum):
    """The possible changes of a job."""

    PLAN = "plan"
    START = "start"
    FINISH = "finish"
    LOG = "log"
    STOP = "stop"
    RESUME = "resume"
    REOPEN = "reopen"
    REOPEN_SENT = "reopen_sent"
    GIVE_WAY = "give_way"
    CLOSE = "close"


# change: which states a job can change between
TRANSITIONS: Final[dict[Change, tuple[frozenset[JobState], JobState]]] = {
    Change.PLAN: (frozenset({JobState.READY}), JobState.ENQUEUED),
    Change.START: (frozenset({JobState.ENQUEUED}), JobState.SENDING),
    Change.FINISH: (ACTIVE, JobState.SENT),
    Change.LOG: (frozenset({JobState.SENT, JobState.STOPPED}), JobState.LOGGED),
    Change.STOP: (frozenset({JobState.READY, JobState.ENQUEUED, JobState.SENDING}), JobState.STOPPED),
    Change.RESUME: (frozenset({JobState.LOGGED}), JobState.READY),
    Change.REOPEN: (frozenset({JobState.LOGGED}), JobState.READY),
    Change.REOPEN_SENT: (frozenset({JobState.SENT}), JobState.SENDING),
    Change.GIVE_WAY: (ACTIVE, JobState.READY),
    Change.CLOSE: (ACTIVE, JobState.READY),
}
"""Change → (states it may start from, state it ends in). Every job write's condition is generated from this table."""


def reopened(state: JobState) -> JobState:
    """Return the state of a job of which feedback reopened a message: work is left, so it is not finished."""
    for sources, target in (TRANSITIONS[Change.REOPEN], TRANSITIONS[Change.REOPEN_SENT]):
        if state in sources:
            return target
    return state


def ending(*, exclusive: bool) -> tuple[frozenset[JobState], JobState]:
    """Return the transition of a job whose only chunk is done: FINISH, and with it LOG unless a credential is held."""
    return TRANSITIONS[Change.FINISH][0], TRANSITIONS[Change.FINISH if exclusive else Change.LOG][1]
