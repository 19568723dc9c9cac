"""A batch of the stream ends its single messages together, and the fault of one is its own."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import JobState
from shared.engine.outcome.fold import Folded
from shared.ports import ENDS, Retriable
from tests.fakes.crashes import dying
from tests.fakes.faults import When
from tests.fakes.world import ACCOUNT, World, credential

MESSAGES = 5


def sent(count: int = MESSAGES, **changes: Any) -> World:
    """Return a world whose single messages were all sent, and none folded."""
    world = World(credential("one", 1000))
    world.providers["one"].script("r0@example.com", [Rejected("bad", permanent=True), Unknown("silence")])
    for _ in range(count):
        world.accept(1, **changes)
    while world.send("one"):
        pass
    return world


def fold(world: World) -> dict[str, Folded]:
    """Fold the whole stream as one batch."""
    done = {name: act() for name, act in world.logger.batch(list(world.stream))}
    world.stream.clear()
    return done


def sums(world: World) -> dict[str, int]:
    return {k: v for k, v in world.stores.stats(ACCOUNT).items() if "." not in k}


@pytest.mark.promise(7)
def test_single_messages_of_a_batch_end_in_one_call() -> None:
    world = sent()
    before = len(world.tap.calls)
    done = fold(world)
    assert world.tap.calls[before:] == ["records.read_jobs", "records.fold_jobs"]
    assert list(done) == world.jobs
    assert [(x.folded, x.state, x.kind) for x in done.values()] == [(1, JobState.LOGGED, "batch")] * MESSAGES
    assert [x.job for x in done.values()] == [world.job(name) for name in world.jobs]
    assert sums(world) == {"queued": MESSAGES - 1, "failure": 1}


def test_many_end_in_few_calls_and_one_that_is_left_by_itself() -> None:
    world = sent(2 * ENDS + 1)
    before = len(world.tap.calls)
    fold(world)
    calls = world.tap.calls[before:]
    assert (calls.count("records.fold_jobs"), calls.count("records.fold")) == (2, 1)
    assert {world.job(name).state for name in world.jobs} == {JobState.LOGGED}
    assert sum(sums(world).values()) == 2 * ENDS + 1


def test_jobs_of_several_days_and_of_test_keys_end_apart() -> None:
    world = World(credential("one", 1000))
    for test in (False, True):
        world.accept(1, test=test)
    world.clock.advance(86_400)
    world.accept(1)
    while world.send("one"):
        pass
    before = len(world.tap.calls)
    fold(world)
    assert "records.fold_jobs" not in world.tap.calls[before:]
    assert {world.job(name).state for name in world.jobs} == {JobState.LOGGED}


@pytest.mark.promise(7)
@pytest.mark.parametrize("fault", [Retriable, ValueError])
def test_a_fault_of_one_job_keeps_no_other(monkeypatch: pytest.MonkeyPatch, fault: type[Exception]) -> None:
    world = sent()
    bad = world.jobs[2]
    together, alone = world.records.fold_jobs, world.records.fold

    def fold_jobs(ends: Sequence[tuple[Ledger, Job]], finish: int) -> Any:
        if bad in [job.id for _, job in ends]:
            raise fault("poisoned")
        return together(ends, finish)

    def one(ledger: Ledger, job: Job, **more: Any) -> Any:
        if job.id == bad:
            raise fault("poisoned")
        return alone(ledger, job, **more)

    monkeypatch.setattr(world.records, "fold_jobs", fold_jobs)
    monkeypatch.setattr(world.records, "fold", one)
    folds: dict[str, Callable[[], Folded]] = dict(world.logger.batch(list(world.stream)))
    poisoned = folds.pop(bad)
    assert {act().state for act in folds.values()} == {JobState.LOGGED}
    with pytest.raises(fault, match="poisoned"):
        poisoned()
    assert world.job(bad).state is JobState.SENDING
    assert sum(sums(world).values()) == MESSAGES - 1
    monkeypatch.undo()
    world.settle()
    assert sum(sums(world).values()) == MESSAGES


@pytest.mark.promise(7)
def test_one_that_moves_on_meanwhile_is_folded_as_it_is_now() -> None:
    world = sent()
    records = list(world.stream)
    world.track("one", world.word(world.jobs[2], 0, "delivered"))
    done = {name: act() for name, act in world.logger.batch(records)}
    assert {x.state for x in done.values()} == {JobState.LOGGED}
    assert sums(world) == {"queued": MESSAGES - 2, "failure": 1, "success": 1}


@pytest.mark.promise(7)
@pytest.mark.parametrize("when", When)
def test_a_crash_or_fault_at_any_call_of_a_batch_counts_each_once(when: When) -> None:
    for world in dying(sent, fold, when, least=2):
        world.settle()
        world.check()
        assert {world.job(name).state for name in world.jobs} == {JobState.LOGGED}
        assert sums(world) == {"queued": MESSAGES - 1, "failure": 1}
