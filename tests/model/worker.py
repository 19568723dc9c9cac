"""The worker's rules: L1 to L5, step by step, with everything that may happen between two steps."""

from collections.abc import Iterator

from tests.model import cells as rules
from tests.model import passing
from tests.model.state import (
    ACCEPTED,
    ACTIVE,
    CLAIMED,
    DEAD,
    DOUBT,
    ENDED,
    ENQUEUED,
    FREE,
    HELD,
    LOGGED,
    LOST,
    NOT_SENT,
    QUEUED,
    READY,
    REFUSED,
    RISKED,
    SENDING,
    STOPPED,
    THROTTLED,
    Broken,
    Cells,
    Ledger,
    Said,
    State,
    Worker,
    finished,
)
from tests.model.world import Step, Steps, World, put, spend

_IDLE = Worker()


def steps(m: World, s: State) -> Steps:
    """Yield what workers can do, and what can befall them."""
    for c in range(len(s.ledgers)):
        yield from _take_over(m, s, c)
    for number, worker in enumerate(s.workers):
        if worker.at != "idle":
            yield from _STEPS[worker.at](m, s, number, worker)
            yield from _arrivals(m, s, number, worker)
            if s.left.crash:
                yield Step(False, f"w{number} dies at {worker.at}", spend(_died(s, number, worker), "crash"))
        elif all(w.at != "idle" for w in s.workers[:number]):  # idle workers are alike: the first moves
            yield from _acquire(m, s, number)


def _moved(s: State, number: int, worker: Worker) -> State:
    return s._replace(workers=put(s.workers, number, worker))


def _died(s: State, number: int, worker: Worker) -> State:
    out = _moved(s, number, _IDLE)
    if worker.lease == HELD:
        out = out._replace(ledgers=put(s.ledgers, worker.chunk, s.ledgers[worker.chunk]._replace(holder=DEAD)))
    return out


def _superseded(s: State, c: int) -> State:
    """The epoch moves on: whoever still believes in a lease of the chunk has lost it."""
    workers = tuple(w._replace(lease=LOST, after=0) if w.at != "idle" and w.chunk == c else w for w in s.workers)
    return s._replace(workers=workers)


# L1


def _acquire(m: World, s: State, number: int) -> Steps:
    for c, ledger in enumerate(s.ledgers):
        can = ledger.holder == FREE and not finished(ledger.cells)
        leased = s
        if can:
            leased = _moved(_superseded(s, c), number, Worker("check", c, lane=ledger.lane))
            leased = m.change_ledger(leased, c, holder=number)
        if s.pointers[c]:
            gone = put(s.pointers, c, False)
            yield Step(True, f"w{number} {'leases' if can else 'acknowledges'} {c}", leased._replace(pointers=gone))
            if s.left.crash:
                yield Step(False, f"the pointer of {c} is lost", spend(s._replace(pointers=gone), "crash"))
        elif s.ever[c] and m.stale and can:
            yield Step(False, f"w{number} leases {c} by a stale pointer", leased)
            if "a_lease_is_of_its_lane" in m.without:
                for lane in range(m.route):
                    wrong = _moved(leased, number, leased.workers[number]._replace(lane=lane))
                    yield Step(False, f"w{number} leases {c} by a stale pointer to lane {lane}", wrong)


# L2


def _check(m: World, s: State, number: int, worker: Worker) -> Steps:
    """Before each window: release if no time or work is left, else read the job."""
    if "details_are_read_after_the_ledger" in m.without and not worker.read:
        worker = worker._replace(read=s.pasts[worker.chunk])
        s = _moved(s, number, worker)
    refused = _refused(worker)
    if refused:
        yield from _release(m, s, number, worker)
    if refused and len(worker.late) + refused > m.slow and "slow_answers_are_few" not in m.without:
        return
    if worker.late and len(worker.results) > refused and worker.lease == HELD:
        yield _kept(m, s, number, worker)
    if _too_slow(m, worker):
        yield _waits(s, number, worker)
    else:
        yield from _goes_on(m, s, number, worker)


def _goes_on(m: World, s: State, number: int, worker: Worker) -> Steps:
    ledger, j = s.ledgers[worker.chunk], m.job_of[worker.chunk]
    state = s.jobs[j].state
    if not _claimable(ledger, worker.lease):
        yield from _release(m, s, number, worker)
    elif s.shut >> worker.lane & 1:
        for step in _release(m, s, number, worker, leave=True):
            yield step._replace(label=f"w{number} finds lane {worker.lane} shut; {step.label}")
    elif not s.jobs[j].paused and (state in ACTIVE or ("the_job_is_active" in m.without and state != STOPPED)):
        after = _moved(s, number, worker._replace(at="claim"))
        if state == ENQUEUED:
            after = m.change_job(after, j, state=SENDING)
        yield Step(True, f"w{number} reads the job: {state}", after)
        if s.left.shut:
            for lane in range(m.route):
                shut = spend(s._replace(shut=s.shut | 1 << lane), "shut")
                yield Step(False, f"the breaker of lane {lane} opens for ever", shut)
    else:
        for step in _release(m, s, number, worker):
            why = "it is paused" if s.jobs[j].paused else state
            yield step._replace(label=f"w{number} reads the job: {why}; {step.label}")


def _refused(worker: Worker) -> int:
    """Return the calls that the provider refused to take now: they stay claimed until the lease ends."""
    return sum(kind == THROTTLED for _, kind in worker.results)


def _too_slow(m: World, worker: Worker) -> bool:
    """Tell whether a worker waits for slow answers before it claims more."""
    return len(worker.late) > m.slow and "slow_answers_are_few" not in m.without


def _claimable(ledger: Ledger, lease: str) -> bool:
    """Tell whether the worker knows of work left; after a takeover it learns nothing new, and goes on to claim."""
    return lease == LOST or any(state == QUEUED and attempt < ledger.limit for state, attempt in ledger.cells)


def _claim(m: World, s: State, number: int, worker: Worker) -> Steps:
    c = worker.chunk
    ledger = s.ledgers[c]
    if worker.lease != HELD:
        yield from _lost(m, s, number, worker)
        return
    merged, kept = _merged(m, s, worker)
    cells, window = rules.claim(merged, ledger.limit, m.window)
    if not window:
        yield from _release(m, s, number, worker)
        return
    after = m.may_work(s, c, worker.after)
    passing.check_claim(m, s, c, worker.lane, window)
    claimed = m.change_ledger(s, c, cells=cells)
    places = [i for i, _ in window]
    called = worker._replace(at="call", window=window, results=kept, after=after)
    yield Step(True, f"w{number} claims {c}{places}", _moved(claimed, number, called))
    if "ones_own_claim_is_known" in m.without:
        dead = _moved(m.change_ledger(claimed, c, holder=DEAD), number, _IDLE)
        yield Step(False, f"w{number} claims {c}{places}, the answer is lost, and it believes itself overtaken", dead)
    elif s.left.lost:
        undo = _moved(spend(claimed, "lost"), number, worker._replace(at="undo"))
        yield Step(False, f"w{number} claims {c}{places}, and the answer is lost", undo)


def _merged(m: World, s: State, worker: Worker) -> tuple[Cells, tuple[Said, ...]]:
    """Return the cells with what is known of calls, and the calls that stay claimed until the lease ends."""
    kept = tuple(said for said in worker.results if said[1] == THROTTLED)
    known = worker._replace(results=tuple(said for said in worker.results if said[1] != THROTTLED))
    ledger = s.ledgers[worker.chunk]
    return rules.merge(ledger.cells, known, ledger.limit, holder=True, without=m.without), kept


def _kept(m: World, s: State, number: int, worker: Worker) -> Step[State]:
    """A lease is kept that waits for slow answers: it merges what is known, and claims nothing."""
    cells, kept = _merged(m, s, worker)
    waits = worker._replace(at="detail", results=kept)
    return Step(
        True, f"w{number} keeps {worker.chunk}", _moved(m.change_ledger(s, worker.chunk, cells=cells), number, waits)
    )


def _undo(m: World, s: State, number: int, worker: Worker) -> Steps:
    """A claim whose answer was lost: no call of it was begun, and the release puts its window back."""
    c = worker.chunk
    if worker.late:
        yield from _answers(s, number, worker)
        return
    if m.slow:
        s = _noted(m, s, worker)
    if worker.lease != HELD:
        yield from _lost(m, s, number, worker)
        return
    own = {call for call, _ in worker.results} if "a_lost_claim_gives_back_its_own_window" not in m.without else set()
    back = tuple(
        (QUEUED, a - 1) if state == CLAIMED and (i, a) not in own else (state, a)
        for i, (state, a) in enumerate(s.ledgers[c].cells)
    )
    yield from _release(m, m.change_ledger(s, c, cells=back), number, worker)


_KNOWN = {"s": ACCEPTED, "p": REFUSED, "t": NOT_SENT, "h": THROTTLED, "U": DOUBT, "N": DOUBT}


def _call(m: World, s: State, number: int, worker: Worker) -> Steps:
    call, *others = worker.window
    called = worker._replace(at="call" if others else "detail", window=tuple(others))
    for outcome, known, after in _outcomes(m, s, worker, call):
        results = (*worker.results, (call, known))
        only_throttled = {kind for _, kind in results} == {THROTTLED} and not worker.late
        skips = not others and only_throttled and "throttled_have_no_detail" not in m.without
        told = called._replace(at="check" if skips else called.at, results=results)
        yield Step(True, f"w{number} calls for {worker.chunk}.{call[0]}: {outcome}", _moved(after, number, told))
    if m.slow:
        slow = called._replace(late=(*worker.late, (call, "")))
        yield Step(False, f"w{number} calls for {worker.chunk}.{call[0]}, which takes long", _moved(s, number, slow))
        yield from _answers(s, number, worker)


def _outcomes(m: World, s: State, worker: Worker, call: tuple[int, int]) -> Iterator[tuple[str, str, State]]:
    """Yield what may become of a call when the provider has it: the outcome, what is known of it, and the state."""
    c = worker.chunk
    index, attempt = call
    truth, bit = s.truth[c][index], 1 << attempt
    if truth.ended:
        raise Broken(f"message {c}.{index} is sent after its owner was informed that it has ended")
    for outcome in "t" if m.unable >> worker.lane & 1 else m.outcomes:
        told = truth
        if outcome in "sU":
            same = bit if m.asking == "send" else 0  # a question may have made this call before, under its key
            if truth.took & ~m.excused(truth) & ~same:
                raise Broken(f"DUPLICATE: message {c}.{index} is accepted again, as attempt {attempt}")
            told = told._replace(took=told.took | bit)
        if outcome in "UN":
            told = told._replace(doubt=told.doubt | bit)
        if m.route:
            told = told._replace(lanes=put(told.lanes, attempt, worker.lane))
        known = RISKED if m.fail_over and outcome in "UN" else _KNOWN[outcome]
        yield outcome, known, s._replace(truth=put(s.truth, c, put(s.truth[c], index, told)))


def _arrivals(m: World, s: State, number: int, worker: Worker) -> Steps:
    """Yield what the provider may make of calls that take long, whatever the worker does meanwhile."""
    for place, (call, known) in enumerate(worker.late):
        if not known:
            for outcome, said, after in _outcomes(m, s, worker, call):
                late = put(worker.late, place, (call, said))
                label = f"the slow call for {worker.chunk}.{call[0]} of w{number}: {outcome}"
                yield Step(True, label, _moved(after, number, worker._replace(late=late)))


def _answers(s: State, number: int, worker: Worker) -> Steps:
    """Yield the slow answers that a worker may take in."""
    for place, (call, known) in enumerate(worker.late):
        if known:
            late = (*worker.late[:place], *worker.late[place + 1 :])
            told = worker._replace(late=late, results=(*worker.results, (call, known)))
            yield Step(True, f"w{number} has the answer for {worker.chunk}.{call[0]}", _moved(s, number, told))


def _waits(s: State, number: int, worker: Worker) -> Step[State]:
    return Step(True, f"w{number} waits for slow answers", _moved(s, number, worker._replace(at="detail")))


def _detail(m: World, s: State, number: int, worker: Worker) -> Steps:
    if worker.results:
        after = _moved(_noted(m, s, worker), number, worker._replace(at="check"))
        yield Step(True, f"w{number} writes the detail of {worker.chunk}", after)
    elif not _too_slow(m, worker):
        yield Step(True, f"w{number} has no answer yet", _moved(s, number, worker._replace(at="check")))
    yield from _answers(s, number, worker)


def _noted(m: World, s: State, worker: Worker) -> State:
    """Put the detail of all results that are not merged yet."""
    c = worker.chunk
    row = list(s.details[c])
    for (index, attempt), kind in worker.results:
        if kind != THROTTLED:
            row[index] = (kind, attempt)
            s = passing.note(m, s, c, index, attempt)
        elif "throttled_have_no_detail" in m.without:
            row[index] = (NOT_SENT, attempt)
    return s._replace(details=put(s.details, c, tuple(row)))


# L4


def _release(m: World, s: State, number: int, worker: Worker, *, leave: bool = False) -> Steps:
    """End the lease; a lane is left if its breaker is open, or if its provider throttles for long."""
    c = worker.chunk
    if worker.late:
        yield _waits(s, number, worker)
        return
    if worker.lease != HELD:
        yield from _lost(m, s, number, worker)
        return
    ledger = s.ledgers[c]
    merged = rules.merge(ledger.cells, worker, ledger.limit, holder=True, without=m.without)
    ended = ledger._replace(cells=rules.released(merged))
    ways = list(passing.next_pass(m, s, c, ended, leave=leave, read=worker.read))
    if m.route and _refused(worker) and not leave:
        ways += [(", as it throttles for long", x) for _, x in passing.next_pass(m, s, c, ended, leave=True)]
    for how, new in ways:
        yield from _ended(m, s, number, worker, new, how)


def _ended(m: World, s: State, number: int, worker: Worker, new: Ledger, how: str) -> Steps:
    c = worker.chunk
    after = _moved(m.change_ledger(s, c, cells=new.cells, lane=new.lane, tried=new.tried, holder=FREE), number, _IDLE)
    pointed = after if finished(new.cells) or s.jobs[m.job_of[c]].state not in ACTIVE else m.point(after, c)
    yield Step(True, f"w{number} releases {c}{how}", pointed)
    if pointed is not after and s.left.crash:
        yield Step(False, f"w{number} releases {c} and dies before the pointer", spend(after, "crash"))
    if s.left.lost:
        unsure = _moved(spend(after, "lost"), number, worker._replace(at="again", lease=ENDED))
        yield Step(False, f"w{number} releases {c}, and the answer is lost", unsure)


def _again(m: World, s: State, number: int, worker: Worker) -> Steps:
    """A release whose answer was lost is made again: it is known again if nobody has leased the chunk since."""
    c = worker.chunk
    if worker.lease == ENDED:
        after = _moved(s, number, _IDLE)
        more = not finished(s.ledgers[c].cells) and s.jobs[m.job_of[c]].state in ACTIVE
        yield Step(True, f"w{number} knows its release of {c} again", m.point(after, c) if more else after)
    else:
        yield Step(True, f"w{number} finds another's lease of {c}", _late(m, s, number, worker))


def _lost(m: World, s: State, number: int, worker: Worker) -> Steps:
    """A lease that another has taken over: what its calls came to is merged, once they have all ended."""
    if worker.late:
        yield _waits(s, number, worker)
    else:
        yield Step(True, f"w{number} finds its lease of {worker.chunk} lost", _late(m, s, number, worker))


def _late(m: World, s: State, number: int, worker: Worker) -> State:
    """Merge the results of a lost lease, and leave."""
    ledger = s.ledgers[worker.chunk]
    cells = rules.merge(ledger.cells, worker, ledger.limit, holder=False, without=m.without)
    return _moved(m.change_ledger(s, worker.chunk, cells=cells), number, _IDLE)


# L5


def _take_over(m: World, s: State, c: int) -> Steps:
    """A lease has run out, of a dead worker or of one that is frozen and will go on later."""
    ledger = s.ledgers[c]
    if ledger.holder == FREE or (ledger.holder != DEAD and not s.left.freeze):
        return
    if sum(state == CLAIMED for state, _ in ledger.cells) > m.in_flight:
        raise Broken("a takeover finds more than a window, and slow answers, claimed")
    seen = s.jobs[m.job_of[c]].state not in (READY, LOGGED) or s.pointers[c]
    dead = ledger.holder == DEAD  # it never acknowledged its pointer, so that another comes across the lease
    if not dead and not seen and not m.stale:
        return
    proofs = [s.details[c]]
    if not dead and any(s.details[c]):
        proofs.append((None,) * m.messages)  # read just before the frozen worker wrote it
    for proof in proofs:
        after = s if dead else spend(s, "freeze")
        if "a_takeover_ends_the_epoch" not in m.without:
            after = _superseded(after, c)
        cells = rules.taken_over(ledger.cells, proof, ledger.limit, m.without)
        whose = "a dead worker" if dead else f"w{ledger.holder}, which is frozen,"
        whose += "" if proof is s.details[c] else " unproven"
        after = _note_loss(m, after, c, ledger)
        for how, new in passing.next_pass(m, after, c, ledger._replace(cells=cells)):
            told = m.change_ledger(after, c, cells=new.cells, lane=new.lane, tried=new.tried, holder=FREE)
            yield Step(dead, f"{c} is taken over from {whose}{how}", told)


def _note_loss(m: World, s: State, c: int, ledger: Ledger) -> State:
    """Name the lane of attempts that nobody else may ever name."""
    for i, (state, attempt) in enumerate(ledger.cells):
        if m.route and state == CLAIMED:
            truth = s.truth[c][i]
            told = truth._replace(lanes=put(truth.lanes, attempt, ledger.lane))
            s = passing.note(m, s._replace(truth=put(s.truth, c, put(s.truth[c], i, told))), c, i, attempt)
    return s


_STEPS = {
    "check": _check,
    "claim": _claim,
    "call": _call,
    "detail": _detail,
    "undo": _undo,
    "again": _again,
}
