"""Resolve: a provider is asked what became of an attempt. One looks it up, another makes the same call under its key.

A question reads the ledger, then job and controls, then asks, and what it brings is joined like any other word. Clocks
decide when to ask; that an absent attempt is surely over is the one thing that safety takes from them.
"""

from tests.model import feedback
from tests.model.cells import with_cell
from tests.model.state import SENT, UNKNOWN, UNKNOWN_CLOSED, Asker, Broken, Cell, State, join
from tests.model.world import Step, Steps, World, put, spend

MAY, LATE = "may ask", "may ask although its job was stopped"
ACCEPTED, ABSENT = "accepted", "absent"


def steps(m: World, s: State) -> Steps:
    """Yield what questions can be asked, and what comes of them."""
    if not m.asking:
        return
    for c, ledger in enumerate(s.ledgers):
        for i, (state, attempt) in enumerate(ledger.cells):
            if s.left.ask and state == UNKNOWN:
                asked = spend(s._replace(askers=(*s.askers, Asker(c, i, attempt))), "ask")
                yield Step(False, f"somebody is to ask about {c}.{i}#{attempt}", asked)
    for n, asker in enumerate(s.askers):
        if not asker.word:
            yield from _allowed(m, s, n, asker)
        elif asker.word in (MAY, LATE):
            yield from _answered(m, s, n, asker)
        else:
            yield from _joined(m, s, n, asker)
        if s.left.crash:
            yield Step(False, "who asks dies", spend(_gone(s, n), "crash"))


def _gone(s: State, n: int) -> State:
    return s._replace(askers=(*s.askers[:n], *s.askers[n + 1 :]))


def _said(s: State, n: int, word: str) -> State:
    return s._replace(askers=put(s.askers, n, s.askers[n]._replace(word=word)))


def _allowed(m: World, s: State, n: int, asker: Asker) -> Steps:
    """Read the job: to ask for what was stopped, where asking is sending, would be to send it."""
    stopped = m.asking == "send" and s.jobs[m.job_of[asker.chunk]].stopped
    if stopped and "a_stopped_job_is_not_asked_about" not in m.without:
        yield Step(True, "who asks finds the job stopped", _gone(s, n))
    else:
        yield Step(True, "who asks reads the job", _said(s, n, LATE if stopped else MAY))


def _answered(m: World, s: State, n: int, asker: Asker) -> Steps:
    c, i, bit = asker.chunk, asker.place, 1 << asker.attempt
    truth = s.truth[c][i]
    name = f"{c}.{i}#{asker.attempt}"
    yield Step(True, f"the provider cannot tell about {name}", _gone(s, n))
    if (truth.took | truth.gave_up) & bit:
        yield Step(True, f"the provider has {name}", _said(s, n, ACCEPTED))
    elif m.asking == "send":
        if truth.took & ~m.excused(truth):
            raise Broken(f"DUPLICATE: message {c}.{i} is accepted again, on being asked about attempt {asker.attempt}")
        if asker.word == LATE:
            raise Broken(f"message {c}.{i} is sent by a question after its job was stopped")
        told = truth._replace(took=truth.took | bit, doubt=truth.doubt | bit)
        s = s._replace(truth=put(s.truth, c, put(s.truth[c], i, told)))
        yield Step(True, f"the provider takes {name} on being asked", _said(s, n, ACCEPTED))
        yield Step(True, f"the provider takes {name} on being asked, and its answer is lost", _gone(s, n))
    elif not under_way(s, c, i, asker.attempt) or "absence_is_told_once_no_call_is_left" in m.without:
        told = truth._replace(doubt=truth.doubt & ~bit)
        s = s._replace(truth=put(s.truth, c, put(s.truth[c], i, told)))
        yield Step(True, f"the provider never had {name}", _said(s, n, ABSENT))


def under_way(s: State, c: int, place: int, attempt: int) -> bool:
    """Tell whether a worker may yet make the call of an attempt."""
    call = (place, attempt)
    return any(w.chunk == c and (call in w.window or (call, "") in w.late) for w in s.workers)


def _in_doubt(m: World, cell: Cell) -> bool:
    left_out = "what_is_closed_stays_closed" in m.without
    return cell[0] == UNKNOWN or (left_out and cell[0] == UNKNOWN_CLOSED)


def _joined(m: World, s: State, n: int, asker: Asker) -> Steps:
    c, i = asker.chunk, asker.place
    cell, after = s.ledgers[c].cells[i], _gone(s, n)
    name = f"{c}.{i}#{asker.attempt}"
    if asker.word == ACCEPTED:
        cells = with_cell(s.ledgers[c].cells, i, join(cell, asker.attempt, SENT))
        yield Step(True, f"{name} was accepted", m.change_ledger(after, c, cells=cells))
    elif (
        not s.ledgers[c].limit
        or not _in_doubt(m, cell)
        or (cell[1] != asker.attempt and "absent_names_its_attempt" not in m.without)
    ):
        yield Step(True, f"{name} was absent, and is not in doubt any more", after)
    elif feedback.may_try_again(m, s, c, i):
        for how, again in feedback.tried_again(m, after, c, i):
            yield Step(True, f"{name} was absent{how}", again)
    else:
        yield Step(True, f"{name} was absent, and is given up", feedback.given_up(m, after, c, i))
