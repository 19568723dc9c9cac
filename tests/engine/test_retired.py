"""A credential that is declared no more: what waits for it goes to another, or ends; nothing waits for ever."""

import pytest

from shared.contracts import pointer
from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import JobState
from shared.engine.reports.message_log import Filter
from shared.engine.walks.pointing import LOST_AFTER_MS
from tests.fakes.lists import send_list
from tests.fakes.world import ACCOUNT, World, credential

HOUR = LOST_AFTER_MS / 1000 + 1


@pytest.fixture
def world() -> World:
    return World(credential("one", 10), credential("two", 10))


def drained(world: World, *jobs: str, hours: int = 1) -> None:
    """Let some hours pass, sweep and run, and fail unless the jobs are LOGGED then."""
    for _ in range(hours):
        world.clock.advance(HOUR)
        world.sweep()
        world.run()
    assert {world.job(name).state for name in jobs} == {JobState.LOGGED}


@pytest.mark.slow
@pytest.mark.promise(3)
def test_what_waits_in_a_lane_that_goes_is_sent_through_the_next_credential(world: World) -> None:
    job = world.accept(30, route=("one", "two"))
    world.lanes.remove("one")
    world.run()
    assert world.counts(job.id) == {"queued": 15, "sent": 15}
    drained(world, job.id)
    assert world.counts(job.id) == {"sent": 30}
    assert {x.provider for x in world.oracle.taken} == {"two"}
    assert len({x.ref for x in world.oracle.taken}) == 30


@pytest.mark.promise(3)
def test_messages_without_another_provider_end_with_a_reason(world: World) -> None:
    job = world.accept(3, route=("one",))
    world.lanes.remove("one")
    drained(world, job.id)
    assert world.counts(job.id) == {"failed": 3}
    assert world.oracle.taken == []
    lines, _ = world.logs.lines(world.job(job.id), Filter())
    assert {line.error for line in lines} == {"providers_exhausted"}


def test_nothing_is_moved_while_a_deployment_may_be_under_way(world: World) -> None:
    """A sweeper of the former version does not know of a credential that was just added."""
    job = world.accept(3, route=("two",))
    world.lanes.remove("two")
    world.clock.advance(HOUR - 60)
    world.sweep()
    ledger = world.ledgers.read(job.id, 0)
    assert ledger is not None
    assert (ledger.lane, ledger.epoch, world.counts(job.id)) == ("two", 0, {"queued": 3})


def test_a_pass_goes_to_no_lane_that_has_gone(world: World) -> None:
    """Not even where the one left has failed: it is tried again, round by round, and nothing is given up at once."""
    job = world.accept(1, route=("one", "two"))
    world.ledgers.reschedule(job.id, 0, not_before=0, lane="one")
    world.lanes["one"].send([pointer(job.id, 0)])
    world.lanes.remove("two")
    world.providers["one"].script("r0@example.com", [Rejected("try later", permanent=False)])
    world.run()
    assert world.counts(job.id) == {"sent": 1}
    assert {x.provider for x in world.oracle.taken} == {"one"}


def test_what_is_stopped_stays(world: World) -> None:
    job = world.accept(3, route=("one",))
    world.control.stop(job.id, ACCOUNT)
    world.lanes.remove("one")
    world.clock.advance(HOUR)
    world.sweep()
    world.run()
    assert world.counts(job.id) == {"queued": 3}


def test_campaigns_that_wait_for_a_credential_that_goes_end_one_after_the_other(world: World) -> None:
    first, second = send_list(world, "spring", 3), send_list(world, "autumn", 3)
    world.lanes.remove("one")
    drained(world, first.id, second.id, hours=3)
    assert [world.counts(x.id) for x in (first, second)] == [{"failed": 3}] * 2
