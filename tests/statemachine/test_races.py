"""Races too narrow for a minute of chance, step by step."""

from shared.domain.jobs.job import Policy
from shared.domain.jobs.states import Cell, JobState
from shared.engine.jobs.control import NotNow, Resumed
from tests.fakes.stores import FakeStores
from tests.fakes.world import ACCOUNT
from tests.statemachine.provider import Answer
from tests.statemachine.world import StagedWorld, small

FAILED = frozenset({"failed"})


def test_of_two_retries_at_once_the_late_one_touches_no_ledger_of_a_running_job() -> None:
    """The finaliser may have read that ledger as done: the job would end under a worker that sends what it holds."""
    with small(window=3):
        world = StagedWorld(FakeStores, lanes=1, per_call=1, relays=False)
        world.staged["one"].always = Answer.NOT_SENT
        job = world.accept(2, policy=Policy(max_attempts=1)).id
        world.settle()
        assert set(world.states(job)) == {Cell.DROPPED}

        late = world.stage.start("retry", lambda: world.control.retry(job, ACCOUNT, FAILED))
        while late.call not in ("records.requeue", ""):
            world.stage.resume(late)
        assert late.call  # it has seen the job LOGGED and its ledger done
        world.control.retry(job, ACCOUNT, FAILED)
        while world.send("one") is not None:
            pass
        assert world.job(job).state is JobState.SENDING
        seen = world.cells(job)
        assert {state for state, _ in seen} == {Cell.DROPPED}
        world.stage.finish(late)

        assert isinstance(late.result, NotNow)
        assert world.cells(job) == seen
        world.settle()
        assert isinstance(world.control.retry(job, ACCOUNT, FAILED), Resumed)
        world.settle()
        assert set(world.states(job)) == {Cell.DROPPED}
