"""The rules of jobs: plan, sweep, fold and finalise (J1 to J3), and what owners do (J4)."""

from collections.abc import Sequence

from tests.model.state import (
    ACTIVE,
    DONE,
    DROPPED,
    ENQUEUED,
    FREE,
    LATER,
    LOGGED,
    OPEN,
    QUEUED,
    READY,
    RETRY,
    SENDING,
    STOPPED,
    UNKNOWN,
    Broken,
    Client,
    Job,
    Ledger,
    State,
    finished,
    histogram,
)
from tests.model.world import Step, Steps, World, put, spend


def steps(m: World, s: State) -> Steps:
    """Yield what can become of jobs."""
    for j in range(len(s.jobs)):
        yield from _plan(m, s, j)
        yield from _finalise(m, s, j)
        yield from _owner(m, s, j)
        yield from _pause(m, s, j)
        yield from _give_way(m, s, j)
    for c in range(len(s.ledgers)):
        yield from _sweep(m, s, c)
        yield from _fold(m, s, c)
    for n, client in enumerate(s.clients):
        yield from _retry(m, s, n, client)


# J1


def _plan(m: World, s: State, j: int) -> Steps:
    """One transaction, then the pointers."""
    free = not m.exclusive or not s.holders or m.campaigns[s.holders[0]] == m.campaigns[j]
    free = free or "a_plan_checks_the_reservation" in m.without
    if s.jobs[j].state != READY or not free or s.jobs[j].paused or not _is_due(m, s.jobs[j]):
        return
    moving = s.jobs[j].moving and "a_move_is_of_what_waits" in m.without  # else the owner finds it planned since
    after = m.change_job(s, j, state=ENQUEUED, stopped=False, moving=moving)
    if m.exclusive:
        after = after._replace(holders=tuple(sorted({*s.holders, j})))
    pointed = after
    for c in m.chunks_of[j]:
        if s.ledgers[c].holder == FREE and not finished(s.ledgers[c].cells):
            pointed = m.point(pointed, c)
    yield Step(True, f"plan of {j}", pointed)
    if s.left.crash:
        yield Step(False, f"plan of {j}, without its pointers", spend(after, "crash"))


def _is_due(m: World, job: Job) -> bool:
    """Tell whether a job's time has come, when PLAN is written: who plans has read it before."""
    return not job.early or (job.early == LATER and "a_plan_checks_the_time" in m.without)


def _pause(m: World, s: State, j: int) -> Steps:
    """Whoever pauses an account writes no job; the pause ends sooner or later."""
    if m.campaigns[j] not in m.campaigns[:j]:
        if s.jobs[j].paused:
            yield Step(True, f"the account of {j} is resumed", _switched(m, s, j, paused=False))
        elif s.left.pause:
            yield Step(False, f"the account of {j} is paused", spend(_switched(m, s, j, paused=True), "pause"))


def _switched(m: World, s: State, j: int, *, paused: bool) -> State:
    jobs = (x._replace(paused=paused) if c == m.campaigns[j] else x for c, x in zip(m.campaigns, s.jobs, strict=True))
    return s._replace(jobs=tuple(jobs))


def _give_way(m: World, s: State, j: int) -> Steps:
    """A job before one that waits becomes READY, if its account is paused, its rest waits, or its turn is over.

    Whoever asks then reads its ledgers, and gives the credential back if none was leased and the job is as it was read.
    """
    job = s.jobs[j]
    if not m.exclusive or j not in s.holders:
        return
    ledgers = [s.ledgers[c] for c in m.chunks_of[j]]
    rival = any(x.state == READY and not x.paused and i not in s.holders for i, x in enumerate(s.jobs))
    kept = job.state if "who_gives_way_is_ready" in m.without else READY
    if job.state in ACTIVE and rival and not job.rests and _left_waits(m, job, ledgers):
        yield Step(job.paused, f"job {j} gives way", m.change_job(s, j, state=kept, rests=kept != READY))
    free = all(x.holder == FREE for x in ledgers) or "who_gives_way_has_no_lease" in m.without
    if job.state == READY and not job.rests and free:
        yield Step(True, f"job {j} is found at rest", s._replace(jobs=put(s.jobs, j, job._replace(rests=True))))
    if job.rests:
        back = tuple(x for x in s.holders if x != j)
        left = s._replace(jobs=put(s.jobs, j, job._replace(rests=False)))
        yield Step(True, f"job {j} gives its credential back", left._replace(holders=back))


def _left_waits(m: World, job: Job, ledgers: Sequence[Ledger]) -> bool:
    """Tell whether a job may give way: it is paused, its turn is over, or its first tries are.

    No time is modelled, and who asks writes some time after it has read. So the job may have leases meanwhile.
    """
    tries = [attempt for x in ledgers for state, attempt in x.cells if state in OPEN]
    return bool(tries) and (job.paused or m.turns or (m.yields and min(tries) > 0))


def _sweep(m: World, s: State, c: int) -> Steps:
    ledger = s.ledgers[c]
    idle = ledger.holder == FREE and not finished(ledger.cells)
    if idle and not s.pointers[c] and s.jobs[m.job_of[c]].state in ACTIVE and "the_sweeper" not in m.without:
        yield Step(True, f"the sweeper points to {c}", m.point(s, c))


# J2, J3


def _fold(m: World, s: State, c: int) -> Steps:
    """One transaction of ledger and job; a job's only chunk ends its job in the same one."""
    ledger, j = s.ledgers[c], m.job_of[c]
    now = histogram(ledger.cells)
    if ledger.holder == FREE and now != ledger.folded:
        job = s.jobs[j]
        counts = tuple(a + b - d for a, b, d in zip(job.counts, now, ledger.folded, strict=True))
        folded = m.change_ledger(m.change_job(s, j, counts=counts), c, folded=now)
        yield Step(True, f"fold of {c}", folded)
        if m.chunks == 1 and job.state in ACTIVE and finished(ledger.cells):
            end = {"state": DONE} if m.exclusive else {"state": LOGGED}
            ended = m.change_job(folded, j, **end)
            if m.exclusive:
                ended = _sent(m, ended, j)._replace(finals=put(ended.finals, j, m.chunks + 2))
            yield Step(True, f"fold of {c}, the job's only chunk: {end['state']}", ended)
            if "the_only_chunk_is_compared" in m.without:  # judged by a record of the stream, and written later
                yield Step(False, f"the stream shows {c} done", s._replace(finals=put(s.finals, j, -1)))
    elif "a_fold_is_compared" in m.without and finished(ledger.cells) and s.left.crash:
        counts = tuple(a + b for a, b in zip(s.jobs[j].counts, (m.messages, 0, 0, 0, 0, 0), strict=True))
        yield Step(False, f"fold of {c} again", spend(m.change_job(s, j, counts=counts), "crash"))


def _finalise(m: World, s: State, j: int) -> Steps:
    """Read the job, read its ledgers one by one, then write SENT and LOGGED, each if the job's version is as read.

    `finals`: 1 the job is read, n + 1 so are n ledgers, one more SENT is written; any other write of the job voids it.
    """
    job, at = s.jobs[j], s.finals[j]
    last = m.chunks + 1
    if at == -1:
        yield Step(True, f"job {j} ends as the stream showed it", _log(m, s, j))
    elif at == 0:
        quiet = job.counts[0] + job.counts[1] == 0
        if job.state in (STOPPED, DONE) or (job.state in ACTIVE and quiet):
            yield Step(True, f"finaliser reads job {j}: {job.state}", s._replace(finals=put(s.finals, j, 1)))
    elif job.state in (READY, LOGGED):
        yield Step(True, f"finaliser of {j} leaves", s._replace(finals=put(s.finals, j, 0)))
    elif at < last:
        ledger = s.ledgers[m.chunks_of[j][at - 1]]
        good = _settled(m, ledger, job.state)
        told = s._replace(finals=put(s.finals, j, at + 1 if good else 0))
        yield Step(True, f"finaliser of {j} finds ledger {at - 1} {'settled' if good else 'unsettled'}", told)
    elif at == last and job.state in ACTIVE:
        after = _sent(m, m.change_job(s, j, state=DONE), j)
        yield Step(True, f"finaliser: job {j} is SENT", after._replace(finals=put(s.finals, j, last + 1)))
    else:
        yield Step(True, f"finaliser: job {j} is LOGGED", _log(m, s, j))
        if job.state == DONE and s.left.crash:
            died = spend(s._replace(finals=put(s.finals, j, 0)), "crash")
            yield Step(False, f"finaliser of {j} dies between SENT and LOGGED", died)


def _sent(m: World, s: State, j: int) -> State:
    """Return the state after a job became SENT: it still holds the credential."""
    early = "the_reservation_lasts_until_the_end" in m.without
    return s._replace(holders=tuple(x for x in s.holders if x != j)) if early else s


def _settled(m: World, ledger: Ledger, state: str) -> bool:
    if state == STOPPED and "a_stopped_job_waits_for_leases" in m.without:
        return True
    if state != STOPPED and "the_finaliser_reads_ledgers" in m.without:
        return True
    return ledger.holder == FREE and (finished(ledger.cells) or state == STOPPED)


def _log(m: World, s: State, j: int) -> State:
    job = s.jobs[j]
    left = any(not finished(s.ledgers[c].cells) for c in m.chunks_of[j])
    if job.state != STOPPED and left and not any(c.step and c.job == j for c in s.clients):
        raise Broken(f"job {j} becomes LOGGED with work left")
    holders = () if "jobs_share_the_reservation" in m.without else tuple(x for x in s.holders if x != j)
    holders = s.holders if "the_end_gives_the_reservation_back" in m.without else holders
    return m.change_job(s, j, state=LOGGED)._replace(holders=holders, finals=put(s.finals, j, 0))


# J4


def _owner(m: World, s: State, j: int) -> Steps:
    job = s.jobs[j]
    if s.left.stop and job.state in (READY, ENQUEUED, SENDING):
        fresh = tuple(w._replace(after=0) if w.at != "idle" and m.job_of[w.chunk] == j else w for w in s.workers)
        after = m.change_job(s, j, state=STOPPED, stopped=True)._replace(workers=fresh)
        yield Step(False, f"owner stops {j}", spend(after, "stop"))
    if s.left.resume and job.state == LOGGED and job.counts[0] and job.retry is None:
        yield Step(False, f"owner resumes {j}", spend(m.change_job(s, j, state=READY), "resume"))


def _retry(m: World, s: State, n: int, client: Client) -> Steps:
    """An owner's retry: read the job, reopen ledger after ledger, then the job; whoever gets a 409 asks again."""
    if client.step == 0:
        for j, job in enumerate(s.jobs):
            if s.left.retry and job.state == LOGGED:
                yield Step(False, f"owner {n} retries {j}", spend(_told(s, n, Client(j, 1)), "retry"))
        return
    j, state = client.job, s.jobs[client.job].state
    if client.step == -1:
        if state == LOGGED:
            yield Step(True, f"owner {n} retries {j} again", _told(s, n, Client(j, 1)))
        return
    if s.left.crash:
        yield Step(False, f"the answer to owner {n} is lost", spend(_told(s, n, Client(j, -1)), "crash"))
    if client.step <= m.chunks:
        yield _reopen(m, s, n, client)
    else:
        yield _run_again(m, s, n, client)


def _told(s: State, n: int, client: Client) -> State:
    return s._replace(clients=put(s.clients, n, client))


def _run_again(m: World, s: State, n: int, client: Client) -> Step[State]:
    j, state = client.job, s.jobs[client.job].state
    if not client.found:
        return Step(True, f"owner {n}: nothing to retry", _told(s, n, Client()))
    if state == LOGGED:
        return Step(True, f"owner {n}: job {j} runs again", _told(m.change_job(s, j, state=READY), n, Client()))
    if state == READY or "an_overtaken_retry_asks_again" in m.without:
        return Step(True, f"owner {n}: 202, job {j} is {state}", _told(s, n, Client()))
    return Step(True, f"owner {n}: 409, job {j} is {state}", _told(s, n, Client(j, -1)))


def _reopen(m: World, s: State, n: int, client: Client) -> Step[State]:
    c = m.chunks_of[client.job][client.step - 1]
    if s.jobs[client.job].state != LOGGED and "a_retry_reopens_under_logged" not in m.without:
        return Step(
            True, f"owner {n}: 409 at ledger {c}", s._replace(clients=put(s.clients, n, Client(client.job, -1)))
        )
    ledger = s.ledgers[c]
    wanted = (DROPPED, UNKNOWN) if "a_retry_leaves_unknown" in m.without else (DROPPED,)
    tries = [attempt for state, attempt in ledger.cells if state in wanted]
    after = s
    if tries and ledger.holder == FREE:
        highest = max(tries) + m.limit
        limit = highest if "the_limit_never_shrinks" in m.without else max(ledger.limit, highest)
        cells = tuple((QUEUED, a) if state in wanted else (state, a) for state, a in ledger.cells)
        after = m.change_ledger(s, c, cells=cells, limit=limit, lane=0, tried=0, asked=m.route > 0)
    found = client.found or any(state in (QUEUED, RETRY) for state, _ in after.ledgers[c].cells)
    told = Client(client.job, client.step + 1, found)
    return Step(True, f"owner {n} reopens ledger {c}", _told(after, n, told))
