"""Recorded retries (R): an owner's retry of many chunks, carried out slice by slice by whoever comes, and died in.

A slice is one chunk here. Each write demands the retry as it was read, and the ledger as it was read.
"""

from tests.model.state import DROPPED, FREE, LOGGED, QUEUED, READY, UNKNOWN, Broken, Carrier, Retry, State
from tests.model.world import Step, Steps, World, put, spend

_IDLE = Carrier()


def steps(m: World, s: State) -> Steps:
    """Yield how retries are recorded, withdrawn and carried out."""
    if not m.carriers:
        return
    for j in range(len(s.jobs)):
        yield from _owner(m, s, j)
    for n, carrier in enumerate(s.carriers):
        if carrier.at != "idle":
            yield _STEPS[carrier.at](m, s, n, carrier)
            if s.left.crash:
                yield Step(False, f"k{n} dies", spend(_moved(s, n, _IDLE), "crash"))
        elif all(x.at != "idle" for x in s.carriers[:n]):  # those who do nothing are alike
            yield from _begin(s, n)


def _wanted(m: World) -> tuple[str, ...]:
    return (DROPPED, UNKNOWN) if m.names_unknown else (DROPPED,)


def _owner(m: World, s: State, j: int) -> Steps:
    job = s.jobs[j]
    if job.state != LOGGED:
        return
    if job.retry is not None:
        if s.left.stop:
            withdrawn = m.change_job(s, j, retry=None)
            yield Step(False, f"owner withdraws the retry of {j}", spend(withdrawn, "stop"))
        return
    holding = [k for k, c in enumerate(m.chunks_of[j]) if any(state in _wanted(m) for state, _ in s.ledgers[c].cells)]
    if s.left.retry and holding:
        retry = Retry(s.left.retry, holding[0], s.left.stop)
        yield Step(False, f"owner records a retry of {j}", spend(m.change_job(s, j, retry=retry), "retry"))


def _moved(s: State, n: int, carrier: Carrier) -> State:
    return s._replace(carriers=put(s.carriers, n, carrier))


def _begin(s: State, n: int) -> Steps:
    for j, job in enumerate(s.jobs):
        if job.retry is not None:
            yield Step(True, f"k{n} reads the retry of {j}", _moved(s, n, Carrier(j, job.retry, "job")))


def _look(m: World, s: State, n: int, carrier: Carrier) -> Step[State]:
    """Read the next ledger; or, when there is none, let the job run."""
    job, retry = s.jobs[carrier.job], carrier.retry
    if retry is None or retry.next >= m.chunks:
        after = _moved(s, n, _IDLE)
        if job.state == LOGGED and (job.retry == retry or "a_slice_is_of_its_retry" in m.without):
            if s.left.stop < (retry.stops if retry else 0):
                raise Broken(f"job {carrier.job} runs again by a retry from before it was stopped")
            return Step(
                True, f"k{n}: job {carrier.job} runs again", m.change_job(after, carrier.job, state=READY, retry=None)
            )
        return Step(True, f"k{n} finds another's retry, or none", after)
    c = m.chunks_of[carrier.job][retry.next]
    if s.ledgers[c].holder != FREE:
        return Step(True, f"k{n} finds ledger {c} busy", _moved(s, n, _IDLE))
    image = s.ledgers[c] if "a_slice_is_written_as_read" in m.without else None
    return Step(True, f"k{n} reads ledger {c}", _moved(s, n, carrier._replace(at="read", fresh=True, image=image)))


def _reopen(m: World, s: State, n: int, carrier: Carrier) -> Step[State]:
    """Queue what the ledger holds of the named states, as it was read."""
    job, retry = s.jobs[carrier.job], carrier.retry
    c = m.chunks_of[carrier.job][retry.next if retry else 0]
    same = job.state == LOGGED and job.retry == retry
    if not carrier.fresh and "a_slice_is_written_as_read" not in m.without:
        return Step(True, f"k{n} finds ledger {c} changed", _moved(s, n, _IDLE))
    if not same and "a_slice_is_of_its_retry" not in m.without:
        return Step(True, f"k{n} finds another's retry, or none", _moved(s, n, _IDLE))
    ledger = carrier.image or s.ledgers[c]
    tries = [attempt for state, attempt in ledger.cells if state in _wanted(m)]
    after = s
    if tries and ledger.holder == FREE:
        limit = max(ledger.limit, max(tries) + m.limit)
        for i, (state, attempt) in enumerate(ledger.cells):
            if state == UNKNOWN and m.names_unknown and same:
                truth = after.truth[c][i]
                named = truth._replace(named=truth.named | 1 << attempt)
                after = after._replace(truth=put(after.truth, c, put(after.truth[c], i, named)))
        cells = tuple((QUEUED, a) if state in _wanted(m) else (state, a) for state, a in ledger.cells)
        new = ledger._replace(cells=cells, limit=limit, lane=0, tried=0, asked=m.route > 0)
        after = m.change_ledger(after, c, **new._asdict())
    return Step(True, f"k{n} reopens ledger {c}", _moved(after, n, carrier._replace(at="next", fresh=True, image=None)))


def _next(m: World, s: State, n: int, carrier: Carrier) -> Step[State]:
    """Note how far the retry is."""
    job, retry = s.jobs[carrier.job], carrier.retry
    if retry is None or job.retry != retry or job.state != LOGGED:
        return Step(True, f"k{n} finds another's retry, or none", _moved(s, n, _IDLE))
    further = m.change_job(s, carrier.job, retry=retry._replace(next=retry.next + 1))
    return Step(True, f"k{n} has done chunk {retry.next} of {carrier.job}", _moved(further, n, _IDLE))


_STEPS = {"job": _look, "read": _reopen, "next": _next}
