"""Events that providers report about attempts, and their effect on a cell. Source: docs/protocol.md, "Feedback"."""

from enum import StrEnum
from typing import Final

from shared.domain.jobs.outcomes import UNSUBSCRIBED
from shared.domain.jobs.states import NEVER_SENT, RANK, Cell


class ProviderEventKind(StrEnum):
    """The kind of an event that a provider reports later, normalised."""

    ACCEPTED = "accepted"
    DEFERRED = "deferred"
    DELIVERED = "delivered"
    BOUNCED = "bounced"
    """Hard: the mailbox does not exist."""
    COMPLAINED = "complained"
    DROPPED = "dropped"
    """Given up by the provider without trying; with the code `unsubscribed`, because its recipient has left there."""
    BLOCKED = "blocked"
    """Refused by the receiver for a reason other than the mailbox."""
    FAILED_TEMPORARILY = "failed_temporarily"
    """Given up by the provider after trying for long."""
    UNSUBSCRIBED = "unsubscribed"
    """The recipient has unsubscribed at the provider; says nothing of the attempt."""
    RESUBSCRIBED = "resubscribed"
    """The recipient has taken that back."""
    STOPPED = "stopped"
    """The recipient wants no more messages by this channel: by a key in a call, or by a word in an SMS."""
    STARTED = "started"
    """The recipient has taken that back."""
    PRESSED = "pressed"
    """The recipient has pressed a key in a call. `code`: the key; it changes no state."""
    WRITTEN = "written"
    """A number has written a text that wishes nothing; it belongs to no attempt."""
    ABSENT = "absent"
    """Asked, the provider proved that it never took the attempt; counts for what is UNKNOWN, nothing else."""


HARD: Final = frozenset({ProviderEventKind.BOUNCED, ProviderEventKind.COMPLAINED})
SOFT: Final = frozenset({ProviderEventKind.DROPPED, ProviderEventKind.BLOCKED, ProviderEventKind.FAILED_TEMPORARILY})
SUPPRESSES: Final = HARD
CHANNEL_WISHES: Final = frozenset({ProviderEventKind.STOPPED, ProviderEventKind.STARTED})
"""Wishes of a recipient about all later messages by the channel of this one."""
WISHES: Final = frozenset({ProviderEventKind.UNSUBSCRIBED, ProviderEventKind.RESUBSCRIBED}) | CHANNEL_WISHES
"""Wishes about later messages. They are not part of an attempt's history, so no attempt's record holds them."""


def leaves(word: ProviderEventKind, code: str) -> bool:
    """Tell whether a word says that its recipient has unsubscribed at the provider."""
    return word is ProviderEventKind.UNSUBSCRIBED or (word is ProviderEventKind.DROPPED and code == UNSUBSCRIBED)


def state_of(word: ProviderEventKind) -> Cell | None:
    """Return the state that an event gives its attempt: DROPPED for a soft failure, None if it changes no state."""
    if word is ProviderEventKind.ACCEPTED:
        return Cell.SENT
    if word is ProviderEventKind.DELIVERED:
        return Cell.DELIVERED
    if word in HARD:
        return Cell.BOUNCED
    if word in SOFT:
        return Cell.DROPPED
    return None


def join(cell: Cell, cell_attempt: int, state: Cell, attempt: int) -> Cell:
    """Join an event into a cell.

    The result does not depend on the order or repetition of events. The higher rank wins on the same attempt. Only
    DELIVERED counts for an earlier one, because the recipient has the message then.

    Args:
        attempt: the attempt that the event is about.
    """
    if cell in NEVER_SENT:
        return cell
    if attempt == cell_attempt:
        return state if RANK[state] > RANK[cell] else cell
    if attempt < cell_attempt and state is Cell.DELIVERED and RANK[cell] < RANK[Cell.DELIVERED]:
        return Cell.DELIVERED
    return cell
