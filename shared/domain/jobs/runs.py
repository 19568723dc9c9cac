"""Changes of a ledger by the runs of a notice: recipients withdrawn, given up, and reported to their owner."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from shared.domain.jobs.details import LOST, Detail
from shared.domain.jobs.ledger import Ledger, rewritten
from shared.domain.jobs.states import OPEN, Cell
from shared.domain.times import Millis

_CLOSED: Final = {int(Cell.SENT): Cell.SENT_CLOSED, int(Cell.UNKNOWN): Cell.UNKNOWN_CLOSED}
SAFE_MS: Final = 3_600_000
"""Milliseconds after its last lease within which a worker that was lost may still send a message (N.4)."""
_LAST: Final = frozenset(int(s) for s in Cell if s not in OPEN and s not in (Cell.SENT, Cell.UNKNOWN))
"""States that end the wait for the fate of a message."""
_WORDS: Final = _LAST | {int(Cell.UNKNOWN)}
"""States that are a word to the owner of a message."""


def drop(ledger: Ledger, indices: Iterable[int], state: Cell = Cell.SKIPPED) -> Ledger | None:
    """Take recipients that still wait out of the job; None if none of them waits."""
    cells = bytearray(ledger.cells)
    for i in indices:
        if cells[i] & 15 in (Cell.QUEUED, Cell.RETRY):
            cells[i] = cells[i] & 0xF0 | state
    if bytes(cells) == ledger.cells:
        return None
    return rewritten(ledger, bytes(cells))


def close(ledger: Ledger, indices: Iterable[int]) -> Ledger | None:
    """Give up waiting for a receipt (SENT), or for proof (UNKNOWN); None if none of the recipients is in these.

    Only a late DELIVERED or BOUNCED changes a closed cell, so no answer of a provider causes another sending.
    """
    cells = bytearray(ledger.cells)
    for i in indices:
        closed = _CLOSED.get(cells[i] & 15)
        if closed is not None:
            cells[i] = cells[i] & 0xF0 | closed
    return rewritten(ledger, bytes(cells)) if bytes(cells) != ledger.cells else None


def cancellable_at(ledger: Ledger, index: int, windows: Iterable[Detail]) -> Millis:
    """Return from when on a doubtful message may be closed because it is cancelled: no call of it can begin then (N.4).

    Args:
        index: the recipient, UNKNOWN.
        windows: the chunk's details, read after the ledger.

    Returns:
        Unix milliseconds; 0 if a worker has written what the call of this attempt brought.
    """
    attempt = ledger.cells[index] >> 4
    brought = any((e.index, e.attempt) == (index, attempt) and e.code != LOST for w in windows for e in w.entries)
    return 0 if brought else ledger.released_at + SAFE_MS


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
    """Return whether every recipient is in a state after which nothing more is waited for."""
    return all(cell & 15 in _LAST for cell in ledger.cells)
