"""What owners of runs do to cells (N): what waits is withdrawn or expires, and what waits for a receipt is closed."""

from tests.model.asking import under_way
from tests.model.cells import with_cell
from tests.model.state import (
    CLAIMED,
    QUEUED,
    RETRY,
    SENT,
    SENT_CLOSED,
    UNKNOWN,
    UNKNOWN_CLOSED,
    WITHDRAWN,
    State,
)
from tests.model.world import Step, Steps, World, put, spend

_WAITS = frozenset({QUEUED, RETRY})


def steps(m: World, s: State) -> Steps:
    """Yield what can be withdrawn and closed; each is one write of the ledger as it is then."""
    if not s.left.drop and not s.left.close:
        return
    for c, ledger in enumerate(s.ledgers):
        for i, (state, attempt) in enumerate(ledger.cells):
            claimed = state == CLAIMED and "only_what_waits_is_withdrawn" in m.without
            if s.left.drop and (state in _WAITS or claimed):
                yield Step(False, f"{c}.{i} is withdrawn", spend(_ended(m, s, c, i, WITHDRAWN), "drop"))
            if s.left.close and state == SENT:
                yield Step(
                    False, f"{c}.{i} is closed without a receipt", spend(_ended(m, s, c, i, SENT_CLOSED), "close")
                )
            safe = not under_way(s, c, i, attempt) or "what_is_closed_has_no_worker" in m.without
            if s.left.close and state == UNKNOWN and safe:
                yield Step(False, f"{c}.{i} is closed in doubt", spend(_ended(m, s, c, i, UNKNOWN_CLOSED), "close"))


def _ended(m: World, s: State, c: int, i: int, state: str) -> State:
    """Write a cell that its owner is informed of."""
    cells = s.ledgers[c].cells
    after = m.change_ledger(s, c, cells=with_cell(cells, i, (state, cells[i][1])))
    told = s.truth[c][i]._replace(ended=True)
    return after._replace(truth=put(after.truth, c, put(after.truth[c], i, told)))
