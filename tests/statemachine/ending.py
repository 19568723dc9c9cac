"""The end of a run: without further harm, time, the sweeper and the workers bring every job to rest."""

from collections.abc import Sequence
from typing import Final

from shared.contracts import Word
from shared.domain.feedback import HARD, SOFT, WordKind
from shared.domain.states import OPEN, Cell, JobState
from shared.engine.control import NotNow
from tests.fakes.world import ACCOUNT
from tests.statemachine.watch import Watch
from tests.statemachine.world import StagedWorld

EVERY: Final = 200
"""Seconds between sweeps."""
SWEEPS: Final = 120
"""Within so many all must come to rest: rounds over a route take minutes, and a lost pointer may take an hour."""
ASKED: Final = 3
"""How often an owner asks for what was stopped."""


def settle(world: StagedWorld, watch: Watch, words: Sequence[tuple[str, Word]], doubted: set[str]) -> None:
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
    if watch.broken is None:
        watch.look()
        for job in world.jobs:
            _final(world, watch, job)


def _waits(world: StagedWorld, watch: Watch, job: str) -> bool:
    return watch.broken is None and bool(OPEN & set(world.states(job)))


def pause(world: StagedWorld, watch: Watch) -> None:
    """Let things go on for some minutes without harm, whether or not all comes to rest."""
    for _ in range(2):
        world.run(seconds=EVERY)
        world.clock.advance(EVERY)
        if watch.broken is None:
            world.sweep()


def _rest(world: StagedWorld, watch: Watch) -> None:
    if watch.broken is not None:
        return
    try:
        world.settle(seconds=EVERY, sweeps=SWEEPS)
    except AssertionError as stuck:
        watch.fail(f"STUCK: {stuck}")


def _after(said: set[WordKind], retry_on: Sequence[str]) -> set[Cell]:
    """Return the states in which a message may end after words about its last attempt, whatever their order."""
    if said & HARD:
        return {Cell.BOUNCED}
    if WordKind.DELIVERED in said:
        return {Cell.DELIVERED}
    if said & SOFT:
        return {Cell.DROPPED}
    if said & set(retry_on):
        return {Cell.SENT, Cell.RELAYED, Cell.DROPPED, Cell.UNKNOWN}
    return {Cell.SENT, Cell.RELAYED} if WordKind.ACCEPTED in said else set(Cell)


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
            said = {k for a, k in watch.words.get(place, ()) if a == attempt or k is WordKind.DELIVERED}
            skipped = state is Cell.SKIPPED and _suppressed(world, place)
            if said and state not in _after(said, job.policy.retry_on) and not skipped:
                watch.fail(f"message {x.chunk}.{i} ends as {state.name} after the words {sorted(said)}")
            taken = sorted(watch.taken.get(place, []))
            twice = any(a not in watch.given_up(place) for a in taken[:-1])
            if twice or state is Cell.UNKNOWN:
                line = world.logs.line(job, x.chunk, i)
                if line is None or (twice and not line.may_duplicate):
                    watch.fail(f"message {x.chunk}.{i} was accepted twice, and its log does not say that it may be")
                elif not twice and not line.error:
                    watch.fail(f"message {x.chunk}.{i} is unknown, and its log has no reason")
