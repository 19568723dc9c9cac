"""Copies of the past: a chunk's ledger is lost and comes back from a copy that was made at any moment before.

Meanwhile everything is paused. The job, which was not lost, is stopped. Nobody who held the ledger before holds it.
"""

from tests.model.state import (
    ACTIVE,
    FREE,
    LOST,
    OPEN,
    READY,
    STOPPED,
    UNKNOWN,
    Cells,
    Ledger,
    State,
    histogram,
)
from tests.model.world import Step, Steps, World, put, spend


def steps(m: World, s: State) -> Steps:
    """Yield when copies are made, and when ledgers are lost."""
    if not s.left.lose:
        return
    for c, copy in enumerate(s.copies):
        if copy is None:
            yield Step(False, f"a copy of {c} is made", s._replace(copies=put(s.copies, c, s.ledgers[c])))
        else:
            yield Step(False, f"{c} is lost, and comes back from its copy", spend(_restored(m, s, c, copy), "lose"))


def _restored(m: World, s: State, c: int, copy: Ledger) -> State:
    cells = _doubted(m, copy)
    limit = copy.limit if "a_copy_has_no_attempt_left" in m.without else 0
    ledger = Ledger(cells, FREE, limit, histogram(cells), lane=copy.lane)
    workers = tuple(w._replace(lease=LOST, after=0) if w.at != "idle" and w.chunk == c else w for w in s.workers)
    after = m.change_ledger(s._replace(workers=workers), c, **ledger._asdict())
    j = m.job_of[c]
    counts = tuple(map(sum, zip(*(after.ledgers[x].folded for x in m.chunks_of[j]), strict=True)))
    held = {"state": STOPPED, "stopped": True} if s.jobs[j].state in (READY, *ACTIVE) else {}
    return m.change_job(after, j, counts=counts, **held)


def _doubted(m: World, copy: Ledger) -> Cells:
    """Return the cells that come back: what waited may have been sent under any attempt since."""
    if "what_waits_in_a_copy_is_in_doubt" in m.without:
        return copy.cells
    doubtful = OPEN | {UNKNOWN}
    return tuple((UNKNOWN, max(copy.limit, at)) if state in doubtful else (state, at) for state, at in copy.cells)
