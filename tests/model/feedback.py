"""Providers' later words (F): early, late, repeated, in any order."""

from tests.model.cells import with_cell
from tests.model.state import (
    DELIVERED,
    DONE,
    DROPPED,
    LOGGED,
    QUEUED,
    READY,
    RETRY,
    SENDING,
    SENT,
    STOPPED,
    UNKNOWN,
    Broken,
    Cell,
    State,
    join,
)
from tests.model.world import Step, Steps, World, put, spend

_ATTEMPTS = range(1, 5)


def steps(m: World, s: State) -> Steps:
    """Yield what providers may say, and do."""
    if not m.feedback and not m.budget.soft:
        return
    for c, ledger in enumerate(s.ledgers):
        for i, cell in enumerate(ledger.cells):
            truth = s.truth[c][i]
            for attempt in _ATTEMPTS:
                took, gave_up = truth.took >> attempt & 1, truth.gave_up >> attempt & 1
                if took and s.left.soft:
                    bit = 1 << attempt
                    changed = truth._replace(took=truth.took & ~bit, gave_up=truth.gave_up | bit)
                    after = s._replace(truth=put(s.truth, c, put(s.truth[c], i, changed)))
                    yield Step(False, f"the provider gives up {c}.{i}, attempt {attempt}", spend(after, "soft"))
                if m.feedback and took:
                    yield from _said(m, s, c, i, f"delivered {c}.{i}#{attempt}", join(cell, attempt, DELIVERED))
                if m.feedback and (took or gave_up):
                    yield from _said(m, s, c, i, f"accepted {c}.{i}#{attempt}", _accepted(m, cell, attempt))
                if gave_up:
                    yield from _soft(m, s, c, i, attempt)


def _accepted(m: World, cell: Cell, attempt: int) -> Cell:
    state, at = cell
    if "given_up_outranks_accepted" in m.without and at == attempt and state in (QUEUED, RETRY, DROPPED):
        return (SENT, at)
    return join(cell, attempt, SENT)


def _said(m: World, s: State, c: int, i: int, word: str, new: Cell) -> Steps:
    old = s.ledgers[c].cells[i]
    if new[0] == SENT and old[0] in (QUEUED, RETRY, DROPPED):
        raise Broken(f"message {c}.{i} says sent of an attempt that was given up")
    if new != old:
        yield Step(False, word, m.change_ledger(s, c, cells=with_cell(s.ledgers[c].cells, i, new)))


def _soft(m: World, s: State, c: int, i: int, attempt: int) -> Steps:
    """A provider gave up what it had accepted: another try with the job's consent, in one transaction, or given up."""
    ledger, j = s.ledgers[c], m.job_of[c]
    state, at = ledger.cells[i]
    if state not in (SENT, UNKNOWN) or not (at == attempt or "a_word_names_its_attempt" in m.without):
        return  # on a claimed cell the word waits
    job = s.jobs[j]
    halted = job.state == STOPPED or (job.stopped and "a_stopped_job_is_not_reopened" not in m.without)
    again = m.reopens and at < ledger.limit and not halted
    cells = with_cell(ledger.cells, i, (RETRY if again else DROPPED, at))
    after = m.change_ledger(s, c, cells=cells)
    if again and "a_reopening_takes_the_job_along" not in m.without:
        after = m.change_job(after, j, state={LOGGED: READY, DONE: SENDING}.get(job.state, job.state))
    yield Step(False, f"soft failure {c}.{i}#{attempt}", after)
