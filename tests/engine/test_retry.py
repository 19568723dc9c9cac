"""A retry of a job with many chunks: recorded, carried out slice by slice by whoever lives, and begun once."""

from itertools import count

import pytest
from greenlet import getcurrent, greenlet

from shared.domain.jobs import chunks as chunking
from shared.domain.jobs import retries
from shared.domain.jobs.job import Job, RetryRequest
from shared.domain.jobs.ledger import LedgerStatus
from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import Cell, JobState
from shared.engine.jobs import control, retry
from shared.engine.jobs.control import NotNow, Resumed
from shared.engine.jobs.retry import RetryStep
from tests.fakes.faults import Crash, When
from tests.fakes.world import ACCOUNT, World, credential

DOWN = Rejected("down", permanent=False)
FAILED = frozenset({"unsent", "failed"})
CHUNKS = 7


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "MAX_RECIPIENTS", 2)
    monkeypatch.setattr(control, "AT_ONCE", 5)
    monkeypatch.setattr(retry, "SLICE", 2)


def given_up(world: World) -> str:
    """A job of fourteen in seven chunks of which every second message was given up, in all chunks but the first."""
    job = world.accept(2 * CHUNKS)
    assert job.chunks == CHUNKS
    for i in range(3, 2 * CHUNKS, 2):
        world.providers["one"].script(f"r{i}@example.com", [DOWN] * 6)
    world.settle()
    assert world.counts(job.id) == {"sent": 8, "failed": 6}
    return job.id


@pytest.fixture
def world() -> World:
    return World(credential("one"))


def ask(world: World, job: str, include: frozenset[str] = FAILED) -> Resumed:
    asked = world.control.retry(job, ACCOUNT, include)
    assert isinstance(asked, Resumed)
    return asked


@pytest.mark.slow
def test_it_is_recorded_and_the_job_stays_logged_until_all_its_chunks_are_ready(world: World) -> None:
    job = given_up(world)
    asked = ask(world, job)
    assert (asked.recorded, asked.messages, asked.job.state) == (True, 6, JobState.LOGGED)
    assert world.job(job).retry == RetryRequest((Cell.DROPPED,), world.clock.ms, 3)  # the first slice: chunks 1 and 2
    assert world.counts(job) == {"sent": 8, "queued": 2, "failed": 4}
    assert world.send("one") is None
    assert world.plan() == 0
    world.run()
    assert world.job(job).state is JobState.LOGGED
    assert world.job(job).retry is None
    assert [a for _, a in world.cells(job)] == [1, 1, *[1, 7] * 6]
    assert set(world.states(job)) == {Cell.SENT}
    world.check()


@pytest.mark.slow
def test_a_job_of_fewer_chunks_is_retried_while_its_owner_waits(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = given_up(world)
    monkeypatch.setattr(control, "AT_ONCE", CHUNKS)
    asked = ask(world, job)
    assert (asked.recorded, asked.messages, asked.job.state) == (False, 6, JobState.ENQUEUED)


@pytest.mark.slow
def test_what_needs_no_chunk_made_ready_is_done_at_once(world: World) -> None:
    job = given_up(world)
    assert ask(world, job, frozenset({"unknown"})) == Resumed(world.job(job), 0)
    other = world.accept(2 * CHUNKS)
    world.control.stop(other.id, ACCOUNT)
    world.settle()
    resumed = ask(world, other.id)
    assert (resumed.recorded, resumed.messages, resumed.job.state) == (False, 14, JobState.ENQUEUED)


@pytest.mark.slow
def test_one_retry_at_a_time(world: World) -> None:
    job = given_up(world)
    ask(world, job)
    for include in (FAILED, frozenset({"unsent"}), frozenset({"unknown"})):
        assert world.control.retry(job, ACCOUNT, include) == NotNow("job_in_progress", 5)
    assert world.control.resume(job, ACCOUNT) == NotNow("job_in_progress", 5)


@pytest.mark.slow
def test_the_sweeper_is_enough(world: World) -> None:
    job = given_up(world)
    ask(world, job)
    world.stream.clear()
    world.reboot()
    world.clock.advance(60)
    assert world.sweep().planned == 1
    assert world.job(job).state is JobState.ENQUEUED
    world.settle()
    assert world.counts(job) == {"sent": 14}
    world.check()


@pytest.mark.slow
def test_a_stop_withdraws_it(world: World) -> None:
    job = given_up(world)
    ask(world, job)
    stopped = world.control.stop(job, ACCOUNT)
    assert isinstance(stopped, Job)
    assert (stopped.state, stopped.retry) == (JobState.LOGGED, None)
    taken = len(world.oracle.taken)
    world.settle()
    world.sweep()
    world.run()
    assert len(world.oracle.taken) == taken
    assert world.counts(job) == {"sent": 8, "queued": 2, "failed": 4}
    assert ask(world, job).messages == 6
    world.settle()
    assert world.counts(job) == {"sent": 14}


def points() -> list[int]:
    """Return the places of all calls from the request until the job is planned: what comes then is any job's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunking, "MAX_RECIPIENTS", 2)
        patch.setattr(control, "AT_ONCE", 5)
        patch.setattr(retry, "SLICE", 2)
        world = World(credential("one"))
        job = given_up(world)
        before = len(world.tap.calls)
        ask(world, job)
        world.settle()
        return list(range(world.tap.calls.index("records.change.plan", before) - before + 2))


@pytest.mark.slow
@pytest.mark.promise(3)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize("nth", points())
def test_a_crash_at_any_call_loses_and_doubles_nothing(world: World, nth: int, when: When) -> None:
    job = given_up(world)
    world.tap.arm(nth, when)
    asked = None
    try:
        asked = ask(world, job)
        world.settle()
    except Crash:
        world.reboot()
    world.tap.disarm()
    if asked is None and world.job(job).retry is None:
        ask(world, job)  # its owner got no answer, and nothing was recorded
    world.settle()
    world.clock.advance(60)
    world.sweep()
    world.settle()
    counts = world.counts(job)
    assert counts["sent"] + counts.get("unknown", 0) == 14
    assert counts.get("unknown", 0) <= 2
    world.check()


@pytest.mark.slow
@pytest.mark.promise(7)
@pytest.mark.parametrize("nth", range(15))
def test_a_write_whose_answer_is_lost_is_known_again(world: World, nth: int) -> None:
    """A client below makes a write again whose answer was lost."""
    job = given_up(world)
    world.tap.arm(nth, When.REPEATED, where=lambda name: name.startswith(("records.set", "records.ch", "records.req")))
    assert ask(world, job).recorded
    world.settle()
    assert world.tap.fired == 1
    assert world.counts(job) == {"sent": 14}
    world.check()


@pytest.mark.promise(1)
@pytest.mark.parametrize("call", range(14))
def test_a_late_retry_queues_nothing_that_became_unknown(world: World, call: int) -> None:
    """The owner named what was unknown then. Of two that carry it out one sleeps for an hour at a call of its own, and
    wakes when the other has ended it, and all that was sent again is unknown again."""
    job = world.accept(2 * CHUNKS).id
    for i in range(1, 2 * CHUNKS, 2):
        world.providers["one"].script(f"r{i}@example.com", [Unknown("timeout")] * 2)
    world.settle()
    ask(world, job, frozenset({"unknown"}))
    late: list[greenlet] = []
    made = count()

    def delay() -> None:
        if getcurrent() in late and next(made) == call:
            world.clock.sleep(3600)

    def sleeper() -> None:
        late.append(getcurrent())
        world.retrier.carry_on(job, world.clock.now() + 7200)

    world.tap.delay = delay
    world.clock.run(sleeper, world.settle)
    world.settle()
    assert next(made) > call
    assert world.counts(job) == {"sent": 7, "unknown": 7}
    assert len(world.oracle.calls) == 21


@pytest.mark.slow
@pytest.mark.promise(3)
@pytest.mark.parametrize("seconds", [5, 3600])
@pytest.mark.parametrize("call", range(8))
def test_a_late_retry_changes_nothing_of_a_running_job(world: World, call: int, seconds: int) -> None:
    """One sleeps at a call of its own; its retry is withdrawn meanwhile, and what is ready then is sent."""
    job = given_up(world)
    ask(world, job)
    late: list[greenlet] = []
    made = count()

    def delay() -> None:
        if getcurrent() in late and next(made) == call:
            world.clock.sleep(seconds)

    def sleeper() -> None:
        late.append(getcurrent())
        world.retrier.carry_on(job, world.clock.now() + 7200)

    def owner() -> None:
        world.clock.sleep(1)
        world.control.stop(job, ACCOUNT)
        world.control.resume(job, ACCOUNT)
        world.settle()

    world.tap.delay = delay
    world.clock.run(sleeper, owner)
    world.settle()
    assert next(made) > call
    assert world.job(job).state is JobState.LOGGED
    assert not [x for x in world.ledgers.read_all(job) if x.unfinished]
    world.check()


@pytest.mark.slow
def test_a_ledger_that_a_worker_holds_is_waited_for(world: World) -> None:
    job = given_up(world)
    ask(world, job)
    now = world.clock.ms
    assert world.ledgers.send_start(job, 3, lane="one", owner="late", now=now, until=now + 1000) is None  # DONE
    ledger = world.ledgers.read(job, 3)
    asked = world.job(job)
    assert ledger is not None
    reopened = retries.reopen(ledger, (Cell.DROPPED,), 6)
    assert reopened is not None
    assert world.records.requeue(ledger, reopened, asked)
    held = world.ledgers.send_start(job, 3, lane="one", owner="late", now=now, until=now + 1000)
    assert held is not None
    assert world.retrier.step(job) is RetryStep.WAIT
    world.clock.advance(2)
    world.run()
    assert world.retrier.carry_on(job, world.clock.now() + 20)
    world.settle()
    assert world.counts(job) == {"sent": 14}
    assert all(x.status is LedgerStatus.DONE for x in world.ledgers.read_all(job))


def test_feedback_meanwhile_leaves_the_job_logged(world: World) -> None:
    """The job begins when all its chunks are ready, and not when a word puts one message back."""
    world = World(credential("one"), credential("two"))
    job = world.accept(2 * CHUNKS).id
    for p in world.providers.values():
        p.script("r5@example.com", [DOWN] * 3)
    world.settle()
    ask(world, job)
    lane = world.ledgers.read_all(job)[6].lane
    world.track(lane, world.word(job, 0, "blocked", chunk=6))
    assert world.job(job).state is JobState.LOGGED
    assert world.counts(job) == {"sent": 12, "queued": 2}
    world.settle()
    assert world.counts(job) == {"sent": 14}
    assert len(world.oracle.taken) == 15
