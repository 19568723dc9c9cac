"""A destination of a mail, as its ledger shows it: a chunk of one recipient.

The ledger's cell shows whether it waits, is in flight or has ended. The byte `told` shows whether its end is noted:
until then the destination is to be cleaned up, and afterwards it no longer exists.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import OPEN, Cell
from shared.domain.times import Millis
from shared.frozen import dataclass

MAX_METADATA: Final = 4_096
"""Bytes of a destination's metadata as JSON."""
METADATA: Final = "metadata"
"""The value of a recipient that is its metadata as JSON."""
_WAITS: Final = frozenset({Cell.QUEUED, Cell.RETRY})
_UNDER_WAY: Final = OPEN | {Cell.UNKNOWN}
_FAILURES: Final = frozenset({Cell.FAILED, Cell.DROPPED, Cell.BOUNCED, Cell.EXPIRED, Cell.SKIPPED, Cell.UNKNOWN_CLOSED})


class DestinationEnd(StrEnum):
    """How a destination ended, as far as is known."""

    SENT = "sent"
    DELIVERED = "delivered"
    BOUNCED = "bounced"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


_ENDS: Final[Mapping[Cell, DestinationEnd]] = {
    Cell.SENT: DestinationEnd.SENT,
    Cell.RELAYED: DestinationEnd.SENT,
    Cell.SENT_CLOSED: DestinationEnd.SENT,
    Cell.DELIVERED: DestinationEnd.DELIVERED,
    Cell.BOUNCED: DestinationEnd.BOUNCED,
    Cell.FAILED: DestinationEnd.FAILED,
    Cell.DROPPED: DestinationEnd.FAILED,
    Cell.EXPIRED: DestinationEnd.FAILED,
    Cell.SKIPPED: DestinationEnd.SKIPPED,
    Cell.WITHDRAWN: DestinationEnd.SKIPPED,
    Cell.UNKNOWN: DestinationEnd.UNKNOWN,
    Cell.UNKNOWN_CLOSED: DestinationEnd.UNKNOWN,
}
"""One that expires counts as failed, as its sender is notified."""


class DestinationState(StrEnum):
    """Where a destination is on its way."""

    QUEUED = "queued"
    INFLIGHT = "inflight"
    CLEANUP = "cleanup"
    GONE = "gone"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class MailDestination:
    """A destination.

    Attributes:
        n: its number, from 0.
        at: when it is due, Unix milliseconds; 0: at once.
        attempts: how many were begun.
        metadata: JSON of the mail's owner.
        end: how it ended; None while it waits or is being sent.
        provider: of its last attempt; empty: there was none.
        error: why it did not arrive, or does not yet; empty: nothing went wrong.
        error_detail: the provider's text about the error; empty: it gave none.
    """

    n: int
    address: str
    state: DestinationState
    at: Millis
    attempts: int
    metadata: Mapping[str, Any]
    end: DestinationEnd | None = None
    provider: str = ""
    error: str = ""
    error_detail: str = ""


def recipient(address: str, key: str, metadata: Mapping[str, Any], not_after: Millis) -> Recipient:
    """Return the recipient of a destination's chunk.

    Args:
        metadata: JSON of the mail's owner.
        not_after: when the mail expires, Unix milliseconds.
    """
    values = {METADATA: json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))} if metadata else {}
    return Recipient(address, key, values=values, not_after=not_after)


def metadata_of(one: Recipient) -> Mapping[str, Any]:
    """Return the metadata of a destination's recipient."""
    found: Mapping[str, Any] = json.loads(one.values.get(METADATA, "{}"))
    return found


def destination(
    ledger: Ledger, one: Recipient, *, provider: str = "", error: str = "", error_detail: str = ""
) -> MailDestination:
    """Return a destination as its ledger and its chunk show it.

    Args:
        error: why it did not arrive.
        error_detail: the provider's text about the error.
    """
    return MailDestination(
        n=ledger.chunk,
        address=one.address,
        state=state_of(ledger),
        at=ledger.not_before,
        attempts=ledger.cells[0] >> 4,
        metadata=metadata_of(one),
        end=_ENDS.get(ledger.cell(0)[0]),
        provider=provider,
        error=error,
        error_detail=error_detail,
    )


def state_of(ledger: Ledger) -> DestinationState:
    """Return where a destination is on its way; one whose fate is not known counts as in flight."""
    cell, _ = ledger.cell(0)
    if cell is Cell.WITHDRAWN:
        return DestinationState.DROPPED
    if cell in _WAITS:
        return DestinationState.QUEUED
    if cell in _UNDER_WAY:
        return DestinationState.INFLIGHT
    return DestinationState.CLEANUP if is_pending(ledger) else DestinationState.GONE


def waits(ledger: Ledger) -> bool:
    """Tell whether a destination waits for an attempt, so that it may be dropped or get another time."""
    return ledger.cell(0)[0] in _WAITS


def has_end(ledger: Ledger) -> bool:
    """Tell whether a destination needs its content no more."""
    return ledger.cell(0)[0] not in _UNDER_WAY


def is_pending(ledger: Ledger) -> bool:
    """Tell whether a destination has an end that is not noted."""
    return has_end(ledger) and ledger.told[0] != ledger.cell(0)[0] + 1


def fails(ledger: Ledger) -> bool:
    """Tell whether a destination has an end of which the sender of the mail is to be notified."""
    return ledger.cell(0)[0] in _FAILURES
