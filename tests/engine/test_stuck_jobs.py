"""What the sweeper calls stuck, and what it does not."""

import pytest

from shared.domain.jobs.outcomes import Throttled
from shared.domain.jobs.states import Change, JobState
from shared.engine.walks.stuck_jobs import STUCK_AFTER_MS
from tests.fakes.world import ACCOUNT, World, credential

HOURS = STUCK_AFTER_MS / 1000


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


def stranded(world: World) -> str:
    """Return a job whose pointer is lost again and again."""
    job = world.accept(3).id
    world.lanes["one"].lose()
    return job


def test_an_unserved_job_is_stuck_after_two_hours(world: World) -> None:
    job = stranded(world)
    world.clock.advance(HOURS)
    assert world.sweep().stuck == ()
    world.lanes["one"].lose()
    world.clock.advance(1)
    assert world.sweep().stuck == (job,)
    world.run()
    assert world.sweep().stuck == ()


def test_a_job_behind_others_is_not_stuck_while_its_lane_moves(world: World) -> None:
    waiting = stranded(world)
    world.clock.advance(HOURS + 1)
    world.providers["one"].script("r0@example.com", [Throttled(3600)])
    moving = world.accept(1)
    world.clock.advance(20)
    assert world.send("one") is not None
    assert world.counts(moving.id) == {"queued": 1}
    assert world.sweep().stuck == ()
    world.lanes["one"].lose()
    world.clock.advance(HOURS + 3601)
    assert waiting in (world.sweep().stuck or ())


def test_a_job_that_waits_for_its_next_pass_is_not_stuck(world: World) -> None:
    job = stranded(world)
    world.ledgers.reschedule(job, 0, not_before=world.clock.ms + 3 * STUCK_AFTER_MS, lane="one")
    world.clock.advance(HOURS + 1)
    assert world.sweep().stuck == ()


def test_a_paused_job_is_not_stuck(world: World) -> None:
    stranded(world)
    world.clock.advance(HOURS + 1)
    world.stores.pause(ACCOUNT)
    assert world.sweep().stuck == ()
    world.stores.unpause(ACCOUNT)
    assert len(world.sweep().stuck or ()) == 1


def test_a_job_that_is_not_due_is_not_stuck(world: World) -> None:
    world.accept(3, not_before=world.clock.ms + 2 * STUCK_AFTER_MS)
    world.clock.advance(HOURS + 1)
    assert world.sweep().stuck == ()


def test_a_run_that_did_not_see_everything_says_nothing(world: World) -> None:
    stranded(world)
    world.clock.advance(HOURS + 1)
    swept = world.sweeper.sweep(world.clock.now() - 1)
    assert (swept.complete, swept.stuck) == (False, None)


def test_a_stopped_job_that_does_not_end_is_stuck(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = stranded(world)
    world.logger.add(world.job(job), world.ledgers.read_all(job))
    world.records.change(world.job(job), Change.STOP, world.clock.ms)
    monkeypatch.setattr(world.logger, "conclude", lambda _job, rests: None if rests else JobState.LOGGED)
    world.clock.advance(HOURS)
    assert world.sweep().stuck == ()
    world.clock.advance(1)
    assert world.sweep().stuck == (job,)
