"""The end of a run: without further harm, time, the sweeper and the workers bring every job to rest."""

from collections.abc import Sequence
from math import ceil
from typing import Final

from shared.contracts import ProviderEvent
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.feedback import HARD, SOFT, ProviderEventKind
from shared.domain.jobs.states import OPEN, Cell, JobState
from shared.domain.lanes import backoff
from shared.domain.lanes.breaker import ENOUGH, MAX_DELAY, PROBE_TIME, Breaker
from shared.engine.jobs.control import NotNow
from shared.engine.outcome.track import LATER
from tests.fakes.world import ACCOUNT, INVOCATION, LEASE_MARGIN
from tests.statemachine.watch import Watch
from tests.statemachine.world import StagedWorld

EVERY: Final = 30
"""Seconds for which the engine runs, and as many that pass before the next sweep: one a minute."""
PAUSE: Final = 200
"""The same where it does not matter who is done."""
LOST: Final = 3600
"""Seconds after which a pointer of a lane that is not empty counts as lost (docs/protocol.md, S)."""
_LATE: Final = 1 + backoff.SPREAD
WAIT: Final = (
    INVOCATION
    + LEASE_MARGIN
    + LOST
    + _LATE * max(map(max, backoff.ROUND_DELAYS.values()))
    + (_LATE * MAX_DELAY + PROBE_TIME) / 1000
    + LATER
)
"""Seconds after which whatever a job waits for has come once all is well: its lease runs out, a pointer that is lost is
sent again, the last round begins, its breaker is probed, a word is joined. Each of them once: no new harm is done."""
BUSY: Final = 600
"""Seconds for the work itself, and for sweeps that find one thing after another."""
REASONED: Final = frozenset({Cell.UNKNOWN, Cell.FAILED, Cell.DROPPED, Cell.SKIPPED})
"""What a message ends as only for a reason that its log names."""
ASKED: Final = 3
"""How often an owner asks for what was stopped."""


def settle(world: StagedWorld, watch: Watch, words: Sequence[tuple[str, ProviderEvent]], doubted: set[str]) -> None:
    """Bring all to rest and check what is left. `doubted`: jobs of whose last request nobody knows what came of it."""
    _rest(world, watch)
    for job in world.jobs:
        excused = world.job(job).stopped or job in doubted | watch.withdrawn
        if _waits(world, watch, job) and not excused:
            watch.fail("a job is LOGGED, was not stopped, and has messages that wait")
    for _ in range(ASKED):
        for job in [job for job in world.jobs if _waits(world, watch, job)]:
            watch.asked.add(job)
            if isinstance(world.control.resume(job, ACCOUNT), NotNow):
                watch.fail("a job at rest cannot be resumed")
        _rest(world, watch)
    if watch.broken is None:
        for lane, word in words:
            world.track(lane, word)
    _rest(world, watch)
    _close(world, watch)
    if watch.broken is None:
        watch.look()
        for job in world.jobs:
            _final(world, watch, job)


def _waits(world: StagedWorld, watch: Watch, job: str) -> bool:
    return watch.broken is None and bool(OPEN & set(world.states(job)))


def pause(world: StagedWorld, watch: Watch) -> None:
    """Let things go on for some minutes without harm, whether or not all comes to rest."""
    for _ in range(2):
        world.run(seconds=PAUSE, endless=True)
        world.clock.advance(PAUSE)
        if watch.broken is None:
            world.sweep()


def _rest(world: StagedWorld, watch: Watch) -> None:
    """Bring all jobs to LOGGED within the time that it may take: those that take turns do one after the other."""
    if watch.broken is not None:
        return
    turns = max(1, sum(world.job(job).exclusive for job in world.jobs))
    try:
        world.settle(seconds=EVERY, sweeps=ceil(turns * (WAIT + BUSY) / (2 * EVERY)))
    except AssertionError as stuck:
        watch.fail(f"STUCK: {stuck}")
        return
    for lane in world.staged:
        if world.peek.holder(lane)[1]:
            watch.fail(f"{lane} is reserved, and no job runs")


def _close(world: StagedWorld, watch: Watch) -> None:
    """Send single messages through each credential whose breaker is not closed: a few must close it, one a minute.

    One score is made good by each: the breaker closes at ENOUGH, and may be one short of opening again.
    """
    for lane in world.staged:
        for _ in range(ENOUGH + 1):
            if watch.broken is not None or _breaker(world, lane).closed:
                break
            wait = max(0, _breaker(world, lane).probe_at - world.clock.ms) / 1000
            if wait > _LATE * MAX_DELAY / 1000:
                watch.fail(f"the breaker of {lane} is not to be probed for {wait:.0f} s")
            world.clock.advance(wait + 1)
            _one_more(world, watch, lane)
            _rest(world, watch)
        if watch.broken is None and not _breaker(world, lane).closed:
            watch.fail(f"the breaker of {lane} stays {_breaker(world, lane).state}, and its provider is well")


def _breaker(world: StagedWorld, lane: str) -> Breaker:
    return world.stores.breakers.read([lane])[lane]


def _one_more(world: StagedWorld, watch: Watch, lane: str) -> None:
    """Accept a message to somebody whom nobody has suppressed."""
    happened, world.stage.happened = world.stage.happened, lambda _name: None
    key = f"calm{len(world.jobs)}@example.com"
    job = world.accept((Recipient(key, key),), route=(lane,))
    watch.people[job.id, 0, 0] = key
    world.stage.happened = happened
    watch.look()


def _after(said: set[ProviderEventKind], retry_on: Sequence[str]) -> set[Cell]:
    """Return the states in which a message may end after words about its last attempt, whatever their order."""
    if said & HARD:
        return {Cell.BOUNCED}
    if ProviderEventKind.DELIVERED in said:
        return {Cell.DELIVERED}
    if said & SOFT:
        return {Cell.DROPPED}
    if said & set(retry_on):
        return {Cell.SENT, Cell.RELAYED, Cell.DROPPED, Cell.UNKNOWN}
    return {Cell.SENT, Cell.RELAYED} if ProviderEventKind.ACCEPTED in said else set(Cell)


def _suppressed(world: StagedWorld, place: tuple[str, int, int]) -> bool:
    """Tell whether a message's recipient was suppressed, so that it may have been skipped before another attempt."""
    job, number, index = place
    chunk = world.records.chunk(job, number)
    return chunk is not None and chunk.recipients[index].key in world.stores.suppressed(ACCOUNT)


def _final(world: StagedWorld, watch: Watch, job_id: str) -> None:
    job = world.job(job_id)
    if job.state is not JobState.LOGGED:
        watch.fail(f"the job ends as {job.state}")
    counts = world.counts(job_id)
    if sum(counts.values()) != job.total or sum(job.counts.values()) != job.total:
        watch.fail(f"{counts} and {job.counts} of {job.total}")
    for x in world.peek.ledgers(job_id):
        for i in range(len(x.cells)):
            state, attempt = x.cell(i)
            place = (job_id, x.chunk, i)
            if state in OPEN:
                watch.fail(f"message {x.chunk}.{i} ends as {state.name}")
            said = {k for a, k in watch.words.get(place, ()) if a == attempt or k is ProviderEventKind.DELIVERED}
            skipped = state is Cell.SKIPPED and _suppressed(world, place)
            if said and state not in _after(said, job.policy.retry_on) and not skipped:
                watch.fail(f"message {x.chunk}.{i} ends as {state.name} after the words {sorted(said)}")
            taken = sorted(watch.taken.get(place, []))
            twice = any(a not in watch.given_up(place) for a in taken[:-1])
            line = world.logs.line(job, x.chunk, i)
            if line is None:
                watch.fail(f"message {x.chunk}.{i} has no line in the log")
            elif twice and not line.may_duplicate:
                watch.fail(f"message {x.chunk}.{i} was accepted twice, and its log does not say that it may be")
            elif state in REASONED and not twice and not line.error:
                watch.fail(f"message {x.chunk}.{i} is {state.name}, and its log has no reason")
