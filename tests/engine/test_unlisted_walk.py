"""The walk that puts small jobs into the index of open jobs that have not ended soon."""

import pytest

from shared.domain.ids import minute_of
from shared.domain.times import MINUTE_MS
from shared.engine.walks import Run, WalkCounts
from shared.engine.walks.progress import MAX_LEFT, Progress
from shared.engine.walks.unlisted import LATE_MS, PARTS, UnlistedJobs
from tests.fakes.faults import When
from tests.fakes.world import World, credential

pytestmark = pytest.mark.promise(3)
LATE = (MINUTE_MS + LATE_MS) / 1000
"""Seconds after which each job of a minute is walked."""


class Unlisting(World):
    """A world whose small jobs are in the index once they have waited."""

    unlists = True


@pytest.fixture
def world() -> World:
    """A world whose sweeper has run."""
    made = Unlisting(credential("one", 10))
    made.sweep()
    return made


def test_what_has_ended_is_not_put_into_the_index(world: World) -> None:
    world.accept(3)
    world.run()
    world.clock.advance(LATE)
    assert world.sweep().enlisted == 0


def test_a_lost_pointer_is_sent_again_once_its_minute_is_walked(world: World) -> None:
    job = world.accept(3)
    assert world.lanes["one"].lose() == 1
    world.clock.advance(LATE_MS / 1000 - 1)
    assert world.sweep().enlisted == 0
    world.clock.advance(MINUTE_MS / 1000 + 1)
    swept = world.sweep()
    assert (swept.enlisted, swept.pointed) == (1, 1)
    world.run()
    assert world.counts(job.id) == {"sent": 3}
    world.clock.advance(LATE)
    assert world.sweep().enlisted == 0


def test_a_sweeper_that_was_away_walks_each_minute_since(world: World) -> None:
    jobs = []
    for _ in range(4):
        jobs.append(world.accept(1))
        world.clock.advance(MINUTE_MS / 1000)
    world.lanes["one"].lose()
    world.clock.advance(LATE)
    assert world.sweep().enlisted == 4
    world.run()
    assert [world.counts(x.id) for x in jobs] == [{"sent": 1}] * 4


def test_a_part_whose_read_fails_is_read_again_by_the_next_run(world: World) -> None:
    job = world.accept(1).id
    world.lanes["one"].lose()
    world.clock.advance(LATE)
    floor = int(Progress.loads(world.stores.bookmarks.load()["unlisted"]).floor)
    nth = (minute_of(job) - floor) * len(PARTS) + PARTS.index(job[-2])
    world.tap.arm(nth, When.BEFORE, ConnectionError, where=lambda name: name == "records.unlisted")
    with pytest.raises(ConnectionError):
        world.sweep()
    assert world.sweep().enlisted == 1
    world.run()
    assert world.counts(job) == {"sent": 1}


def test_a_job_whose_write_fails_is_put_there_by_the_next_run(world: World) -> None:
    world.accept(1)
    world.lanes["one"].lose()
    world.clock.advance(LATE)
    world.tap.arm_at("records.enlist", When.BEFORE, ConnectionError)
    with pytest.raises(ConnectionError):
        world.sweep()
    assert world.sweep().enlisted == 1


def test_no_job_is_left_out_before_a_run_has_stored_where_the_walk_begins(world: World) -> None:
    """Else a job of the minute between would be in no minute that is walked."""
    begun: list[bool] = []
    walk = UnlistedJobs(world.records, lambda: begun.append(True))
    run = Run(world.clock.ms, world.clock.now() + 60, Progress(), WalkCounts(), [])
    for _ in range(2):
        assert not begun
        assert list(walk.looks(run, "")) == []
        walk.ended(run)
    assert begun


def test_with_too_many_faults_to_note_the_same_minutes_are_walked_again(world: World) -> None:
    walk = UnlistedJobs(world.records, lambda: None)
    left = {f"1/{n}": (0, 0) for n in range(MAX_LEFT)}
    for faults, floor in ((MAX_LEFT, "7"), (MAX_LEFT - 1, str((world.clock.ms - LATE_MS) // MINUTE_MS))):
        progress = Progress(floor="7", left=dict(list(left.items())[:faults]))
        walk.ended(Run(world.clock.ms, world.clock.now(), progress, WalkCounts(), []))
        assert progress.floor == floor
