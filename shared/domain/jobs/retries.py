"""An owner's retry of one chunk. Source: docs/protocol.md, rule J4."""

from collections.abc import Iterable
from dataclasses import replace

from shared.domain.jobs.ledger import Ledger, LedgerStatus
from shared.domain.jobs.states import MAX_ATTEMPTS, Cell


def repeatable(ledger: Ledger, states: Iterable[Cell]) -> list[int]:
    """Return the recipients in one of the states to whom a retry may send again, in order.

    A cell that has used all fifteen attempts an attempt number can count stays as it is.
    """
    return [i for i in ledger.having(*states) if ledger.cells[i] >> 4 < MAX_ATTEMPTS]


def reopen(ledger: Ledger, states: Iterable[Cell], max_attempts: int) -> Ledger | None:
    """Put cells of the given states back to QUEUED for the owner's retry; None if there are none or it is BUSY.

    Args:
        states: the states to send again.
        max_attempts: further attempts that a recipient may have.
    """
    indices = repeatable(ledger, states)
    if ledger.status is LedgerStatus.BUSY or not indices:
        return None
    cells = bytearray(ledger.cells)
    highest = 0
    for i in indices:
        highest = max(highest, cells[i] >> 4)
        cells[i] = cells[i] & 0xF0 | Cell.QUEUED
    return replace(
        ledger,
        cells=bytes(cells),
        status=LedgerStatus.IDLE,
        tried=(),
        rounds=0,
        throttled=0,
        per_call=0,
        lane=ledger.first_lane,
        limit=max(ledger.limit, min(MAX_ATTEMPTS, highest + max_attempts)),  # others may wait under the old limit
        retries=ledger.retries + 1,
        not_before=0,
        dirty=True,
        version=ledger.version + 1,
    )
