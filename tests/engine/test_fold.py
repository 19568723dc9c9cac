from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.jobs.job import Policy
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import Cell, JobState
from shared.engine.jobs.control import Resumed
from shared.engine.outcome.fold import Folded
from shared.ports import Retriable
from tests.fakes.faults import When
from tests.fakes.world import ACCOUNT, World, credential

REFUSED = Rejected("bad", permanent=True)


@pytest.fixture(params=[1, 2])
def world(request: pytest.FixtureRequest) -> World:
    """Jobs of one chunk, or of two."""
    return World(*(credential(f"c{i}") for i in range(request.param)))


def serve(world: World) -> None:
    """Send everything, without folding anything."""
    while any(world.send(lane) for lane in list(world.senders)):
        pass


def test_the_last_fold_closes_the_job(world: World) -> None:
    job = world.accept(6)
    serve(world)
    assert world.job(job.id).state is JobState.SENDING
    assert world.job(job.id).counts["queued"] == 6
    folds = [world.log() for _ in range(job.chunks)]
    ends = [(x.folded, x.state, x.kind) for x in folds if x is not None]
    assert ends == [*[(1, JobState.SENDING, "batch")] * (job.chunks - 1), (1, JobState.LOGGED, "batch")]
    done = world.job(job.id)
    assert (done.state, done.counts["sent"], done.finished_at) == (JobState.LOGGED, 6, world.clock.ms)


@pytest.mark.promise(7)
def test_records_repeated_in_any_order_change_nothing(world: World) -> None:
    job = world.accept(6)
    world.providers["c0"].script("r1@example.com", [REFUSED])
    records: list[Ledger] = []
    world.stores.listener = lambda x: records.append(x) if x.dirty else None
    serve(world)
    for x in [*records, *reversed(records), *records]:
        world.logger.fold(x)
    first = (world.job(job.id), world.stores.stats(ACCOUNT), world.ledgers.read_all(job.id))
    for x in reversed(records):
        world.logger.fold(x)
    assert (world.job(job.id), world.stores.stats(ACCOUNT), world.ledgers.read_all(job.id)) == first
    assert first[0].state is JobState.LOGGED
    assert sum(first[0].counts.values()) == 6
    assert sum(v for k, v in first[1].items() if "." not in k) == 6


def test_a_ledger_that_somebody_works_on_is_not_folded(world: World) -> None:
    job = world.accept(6)
    for x in world.ledgers.read_all(job.id):
        got = world.ledgers.send_start(
            job.id, x.chunk, lane=x.lane, owner="me", now=world.clock.ms, until=world.clock.ms + 1
        )
        assert isinstance(got, Ledger)
        assert world.logger.fold(replace(got, dirty=True)) == Folded(folded=0)


def test_a_record_of_a_job_that_has_gone_changes_nothing(world: World) -> None:
    job = world.accept(6)
    stray = replace(world.ledgers.read_all(job.id)[0], job="0" * 26, dirty=True)
    assert world.logger.fold(stray) == Folded(folded=0)


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("nth", range(6))
def test_a_fold_that_fails_is_repeated_and_counts_once(world: World, nth: int, when: When) -> None:
    job = world.accept(6)
    serve(world)
    world.tap.arm(nth, when, Retriable)
    world.run()
    world.tap.disarm()
    world.settle()
    assert {k: v for k, v in world.job(job.id).counts.items() if v} == {"sent": 6}
    assert world.stores.stats(ACCOUNT)["queued"] == 6


def test_two_loggers_at_once_close_a_job_once(world: World) -> None:
    job = world.accept(6)
    serve(world)
    records = list(world.stream)
    world.slow_down(0.001, 0.02)

    def fold_all() -> None:
        for x in records:
            world.logger.fold(x)

    world.clock.run(fold_all, fold_all, world.sweep)
    world.settle()
    assert world.job(job.id).state is JobState.LOGGED
    assert {k: v for k, v in world.job(job.id).counts.items() if v} == {"sent": 6}


def test_a_job_waits_for_every_chunk(world: World) -> None:
    job = world.accept(6)
    assert world.logger.finalise(job.id) is JobState.ENQUEUED
    assert world.send("c0")
    assert world.logger.finalise(job.id) is (JobState.LOGGED if job.chunks == 1 else JobState.SENDING)


def test_a_stopped_job_waits_for_its_busy_chunks_and_not_for_idle_ones(world: World) -> None:
    job = world.accept(6)
    x = world.ledgers.read_all(job.id)[0]
    world.ledgers.send_start(job.id, x.chunk, lane=x.lane, owner="me", now=world.clock.ms, until=world.clock.ms + 9000)
    world.control.stop(job.id, ACCOUNT)
    assert world.logger.finalise(job.id) is JobState.STOPPED
    world.clock.advance(10)
    assert world.logger.finalise(job.id) is JobState.LOGGED
    assert world.counts(job.id) == {"queued": 6}


def meanwhile(world: World, happens: Callable[[], object]) -> None:
    """Let something happen once, between the next reading of a job's ledgers and what is made of it."""
    original = world.ledgers.read_all

    def read_then(job: str) -> list[Ledger]:
        found = original(job)
        world.ledgers.read_all = original  # type: ignore[method-assign]
        happens()
        return found

    world.ledgers.read_all = read_then  # type: ignore[method-assign]


def test_a_finaliser_that_slept_through_a_retry_does_not_end_the_job(world: World) -> None:
    """It saw every chunk done; since then the job was stopped, closed and retried, and is ENQUEUED as it was then."""
    name = world.accept(2, policy=Policy(max_attempts=1)).id
    for p in world.providers.values():
        p.script("r0@example.com", [Rejected("down", permanent=False)])
    serve(world)
    while world.stream:
        world.records.fold(world.stream.popleft(), world.job(name))

    def retried() -> None:
        world.control.stop(name, ACCOUNT)
        assert world.logger.finalise(name) is JobState.LOGGED
        assert isinstance(world.control.retry(name, ACCOUNT, frozenset({"failed"})), Resumed)

    meanwhile(world, retried)
    assert world.logger.finalise(name) is JobState.ENQUEUED
    assert sorted(world.states(name)) == [Cell.QUEUED, Cell.SENT]
    world.settle()
    assert world.counts(name) == {"sent": 2}


def test_a_finaliser_that_slept_through_a_resume_and_a_stop_waits_for_the_lease(world: World) -> None:
    """It saw a stopped job that nobody worked on; since then it was resumed, leased and stopped again."""
    name = world.accept(2).id
    world.control.stop(name, ACCOUNT)

    def resumed() -> None:
        assert world.logger.finalise(name) is JobState.LOGGED
        assert isinstance(world.control.resume(name, ACCOUNT), Resumed)
        x = world.ledgers.read_all(name)[0]
        world.ledgers.send_start(name, 0, lane=x.lane, owner="me", now=world.clock.ms, until=world.clock.ms + 9000)
        world.control.stop(name, ACCOUNT)

    meanwhile(world, resumed)
    assert world.logger.finalise(name) is JobState.STOPPED
    world.clock.advance(10)
    assert world.logger.finalise(name) is JobState.LOGGED


@pytest.mark.promise(7)
def test_a_record_older_than_its_ledger_folds_the_ledger_as_it_is_now(world: World) -> None:
    """The newer record may have been dropped."""
    name = world.accept(2).id
    serve(world)
    old = list(world.stream)
    for x in old:
        world.ledgers.join(name, x.chunk, [(0, 1, Cell.DELIVERED)], route=world.job(name).route, credential=x.lane)
    for late in (False, True):
        for _, fold in world.logger.batch(old, late=late):
            assert fold() == Folded(0 if late else len(old), world.job(name), kind="batch")
    assert {k: v for k, v in world.job(name).counts.items() if v} == world.counts(name)
    assert world.counts(name)["delivered"] == len(old)
    assert not any(x.dirty for x in world.ledgers.read_all(name))


def test_figures_that_are_not_folded_do_not_keep_a_job_from_its_end(world: World) -> None:
    """A word of unknown fate among them is asked about all the same."""
    name = world.accept(11).id
    for provider in world.providers.values():  # whichever the batch begins with
        provider.script("r0@example.com", [Unknown("silence")])
    serve(world)
    lane = world.ledgers.read_all(name)[-1].lane
    chunk = world.ledgers.read_all(name)[-1].chunk
    assert world.logger.finalise(name) is JobState.LOGGED
    world.ledgers.join(name, chunk, [(0, 1, Cell.SENT)], route=world.job(name).route, credential=lane)
    assert sum(world.job(name).counts[k] for k in ("queued", "sending")) == 11
    assert list(world.records.doubts(world.clock.ms + 3_600_000)) == [name]
    while world.stream:
        world.log()
    assert {k: v for k, v in world.job(name).counts.items() if v} == world.counts(name)


def test_the_jobs_of_a_batch_are_read_together_and_each_is_closed_once(world: World) -> None:
    names = [world.accept(4).id for _ in range(3)]
    serve(world)
    before = len(world.tap.calls)
    folds = dict(world.logger.batch(list(world.stream)))
    assert {fold().state for fold in folds.values()} == {JobState.LOGGED}
    assert sorted(folds) == sorted(names)
    calls = world.tap.calls[before:]
    assert calls.count("records.read_jobs") == 1
    several = world.job(names[0]).chunks > 1
    assert calls.count("records.fold_all") == (3 if several else 0)
    assert calls.count("ledgers.list") == (3 if several else 0)
