"""Changes of a ledger by the runs of a notice: recipients withdrawn, given up, and reported to their owner."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from shared.domain.jobs.ledger import Ledger, rewritten
from shared.domain.jobs.states import OPEN, Cell

_CLOSED: Final = {int(Cell.SENT): Cell.SENT_CLOSED, int(Cell.UNKNOWN): Cell.UNKNOWN_CLOSED}
_WORDS: Final = frozenset(int(s) for s in Cell if s not in OPEN and s not in (Cell.SENT, Cell.UNKNOWN))
"""States that are a word to the owner of a message: what follows an acceptance, or ends the wait for it."""


def drop(ledger: Ledger, indices: Iterable[int], state: Cell = Cell.SKIPPED) -> Ledger | None:
    """Take recipients that still wait out of the job; None if none of them waits.

    Args:
        ledger: as it is now.
        indices: of recipients.
        state: one of NEVER_SENT.
    """
    cells = bytearray(ledger.cells)
    for i in indices:
        if cells[i] & 15 in (Cell.QUEUED, Cell.RETRY):
            cells[i] = cells[i] & 0xF0 | state
    if bytes(cells) == ledger.cells:
        return None
    return rewritten(ledger, bytes(cells))


def close(ledger: Ledger, indices: Iterable[int]) -> Ledger | None:
    """Give up waiting for a receipt (SENT), or for proof (UNKNOWN); None if none of the recipients is in these.

    Nothing but a late DELIVERED or BOUNCED changes a closed cell, so no answer of a provider has it sent again.
    """
    cells = bytearray(ledger.cells)
    for i in indices:
        closed = _CLOSED.get(cells[i] & 15)
        if closed is not None:
            cells[i] = cells[i] & 0xF0 | closed
    return rewritten(ledger, bytes(cells)) if bytes(cells) != ledger.cells else None


def tell(ledger: Ledger, states: Mapping[int, Cell]) -> Ledger | None:
    """Note the states that the owner of the recipients was informed of; None if they are noted already."""
    told = bytearray(ledger.told)
    for i, state in states.items():
        told[i] = state + 1
    return replace(ledger, told=bytes(told), version=ledger.version + 1) if bytes(told) != ledger.told else None


def untold(ledger: Ledger) -> list[int]:
    """Return the recipients in a state that a word is about and that their owner was not informed of."""
    return [i for i, t in enumerate(ledger.told) if ledger.cells[i] & 15 in _WORDS and ledger.cells[i] & 15 != t - 1]


def settled(ledger: Ledger) -> bool:
    """Return whether every recipient is in a state that a word is about, so that nothing more is waited for."""
    return all(cell & 15 in _WORDS for cell in ledger.cells)
