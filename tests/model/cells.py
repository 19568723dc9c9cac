"""What results, leases' ends and takeovers make of cells, as `shared.domain.jobs.ledger` does."""

from collections.abc import Iterable

from tests.model.state import (
    CLAIMED,
    DROPPED,
    GIVES,
    QUEUED,
    RETRY,
    RISKED,
    THROTTLED,
    UNKNOWN,
    Cell,
    Cells,
    Worker,
    join,
)


def with_cell(cells: Cells, index: int, cell: Cell) -> Cells:
    """Return the cells with one replaced."""
    return (*cells[:index], cell, *cells[index + 1 :])


def entry(cell: Cell, attempt: int, kind: str, limit: int, *, holder: bool, without: frozenset[str]) -> Cell:
    """Merge one attempt's result (L3); `holder`: the writer's lease is still its own."""
    now, at = cell
    ours = now == CLAIMED and at == attempt
    new = GIVES[kind]
    if kind == RISKED and not (ours and holder and (at < limit or "doubts_on_the_last_try" in without)):
        new = UNKNOWN
    elif new == RETRY and not (ours and holder) and "late_not_sent_is_dropped" not in without:
        new = DROPPED
    return (new, at) if ours else join(cell, attempt, new)


def merge(cells: Cells, worker: Worker, limit: int, *, holder: bool, without: frozenset[str]) -> Cells:
    """Merge a window's results; throttled ones use their attempt again, if the lease is still the worker's own."""
    out = list(cells)
    for (index, attempt), kind in worker.results:
        if kind == THROTTLED:
            if holder and out[index][0] == CLAIMED:
                out[index] = (QUEUED, out[index][1] - 1)
            elif not holder and "late_throttled_stays" in without:
                now = out[index]
                out[index] = (DROPPED, now[1]) if now == (CLAIMED, attempt) else join(now, attempt, DROPPED)
        else:
            out[index] = entry(out[index], attempt, kind, limit, holder=holder, without=without)
    return tuple(out)


def next_pass(cells: Cells, limit: int) -> Cells:
    """Queue again what is to be tried again, or give it up, once nothing else is left (L4)."""
    states = {state for state, _ in cells}
    if QUEUED in states or CLAIMED in states or RETRY not in states:
        return cells
    return tuple((QUEUED if a < limit else DROPPED, a) if s == RETRY else (s, a) for s, a in cells)


def released(cells: Cells) -> Cells:
    """Return the cells at the end of a lease: what is still claimed is of unknown fate. The next pass is to begin."""
    return tuple((UNKNOWN, a) if s == CLAIMED else (s, a) for s, a in cells)


def taken_over(cells: Cells, proof: Iterable[Cell | None], limit: int, without: frozenset[str]) -> Cells:
    """Return the cells after a takeover (L5): claimed ones become what the window's detail says of that attempt."""
    out = list(cells)
    for i, known in enumerate(proof):
        state, attempt = out[i]
        if state == CLAIMED and known is not None and known[1] == attempt and known[0] != RISKED:
            out[i] = entry(out[i], attempt, known[0], limit, holder=True, without=without)
        elif state == CLAIMED and "takeover_leaves_unknown" in without:
            out[i] = (QUEUED, attempt)
    return released(tuple(out))


def claim(cells: Cells, limit: int, k: int) -> tuple[Cells, tuple[tuple[int, int], ...]]:
    """Claim the first k queued cells that have a try left; returns the cells and the window."""
    window = tuple((i, a + 1) for i, (s, a) in enumerate(cells) if s == QUEUED and a < limit)[:k]
    out = list(cells)
    for index, attempt in window:
        out[index] = (CLAIMED, attempt)
    return tuple(out), window
