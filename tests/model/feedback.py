"""Providers' later words (F): early, late, repeated, in any order."""

from collections.abc import Iterator

from tests.model import passing
from tests.model.cells import with_cell
from tests.model.state import (
    CLAIMED,
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
    ledger = s.ledgers[c]
    state, at = ledger.cells[i]
    if m.route and not s.pasts[c][i].failed >> attempt & 1:
        if state == CLAIMED and at == attempt:
            return  # on a claimed cell the word waits
        yield Step(False, f"a detail says {c}.{i}#{attempt} failed", passing.note(m, s, c, i, attempt, failed=True))
        if "a_words_detail_comes_first" not in m.without:
            return
    if not ledger.limit:
        return  # a copy of the past does not know of later attempts
    if state not in (SENT, UNKNOWN) or not (at == attempt or "a_word_names_its_attempt" in m.without):
        return
    left = not m.route or len(passing.named(s, c, i, s.pasts[c][i])) < m.route
    again = m.reopens and left and may_try_again(m, s, c, i)
    for how, after in tried_again(m, s, c, i) if again else [("", given_up(m, s, c, i))]:
        yield Step(False, f"soft failure {c}.{i}#{attempt}{how}", after)


def may_try_again(m: World, s: State, c: int, i: int) -> bool:
    """Tell whether a message has a try left, and its job was not stopped."""
    job, ledger = s.jobs[m.job_of[c]], s.ledgers[c]
    halted = job.state == STOPPED or (job.stopped and "a_stopped_job_is_not_reopened" not in m.without)
    return not halted and ledger.cells[i][1] < ledger.limit


def given_up(m: World, s: State, c: int, i: int) -> State:
    """Give a message up."""
    cells = s.ledgers[c].cells
    return m.change_ledger(s, c, cells=with_cell(cells, i, (DROPPED, cells[i][1])))


def tried_again(m: World, s: State, c: int, i: int) -> Iterator[tuple[str, State]]:
    """Yield what a message's ledger and job become in one transaction; a recorded retry keeps its job LOGGED."""
    j, cells = m.job_of[c], s.ledgers[c].cells
    job = s.jobs[j]
    after = m.change_ledger(s, c, cells=with_cell(cells, i, (RETRY, cells[i][1])))
    if "a_reopening_takes_the_job_along" not in m.without:
        stays = job.retry is not None and "a_reopened_job_waits_for_its_retry" not in m.without
        state = job.state if stays else {LOGGED: READY, DONE: SENDING}.get(job.state, job.state)
        after = m.change_job(after, j, state=state)
    for how, ledger in passing.reopened(m, after, c):
        yield how, after._replace(ledgers=put(after.ledgers, c, ledger))
