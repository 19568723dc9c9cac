"""Races too narrow for a minute of chance, step by step."""

from shared.domain.jobs import Policy
from shared.domain.states import Cell, JobState
from shared.engine.control import NotNow
from tests.fakes.stores import FakeStores
from tests.fakes.world import ACCOUNT
from tests.statemachine.provider import Answer
from tests.statemachine.world import StagedWorld, small

FAILED = frozenset({"failed"})


def test_of_two_retries_at_once_the_late_one_is_not_told_that_its_messages_go_on() -> None:
    """It reopens ledgers that the finaliser has just read as done, and the job ends under it."""
    with small(window=3):
        world = StagedWorld(FakeStores, lanes=1, per_call=1, relays=False)
        world.staged["one"].always = Answer.NOT_SENT
        job = world.accept(4, policy=Policy(max_attempts=1)).id
        world.settle()
        assert set(world.states(job)) == {Cell.DROPPED}

        late = world.stage.start("retry", lambda: world.control.retry(job, ACCOUNT, FAILED))
        world.stage.resume(late)
        assert late.call == "ledgers.list"  # it has seen the job LOGGED
        world.control.retry(job, ACCOUNT, FAILED)
        while world.send("one") is not None:
            pass
        log = world.stage.start("log", lambda: world.logger.fold(world.stream[-1]))
        while log.call not in ("records.change.finish", ""):
            world.stage.resume(log)
        assert log.call
        world.stage.finish(late)
        world.stage.finish(log)

        assert world.job(job).state is JobState.LOGGED
        assert set(world.states(job)) == {Cell.QUEUED}
        assert isinstance(late.result, NotNow)
        world.control.retry(job, ACCOUNT, FAILED)
        world.settle()
        assert set(world.states(job)) == {Cell.DROPPED}
