"""Campaigns that share a credential run side by side, each at its own rate."""

from shared.domain.jobs.states import JobState
from tests.engine.measuring import drain, worst_second
from tests.engine.test_own_rate import SHARED, times
from tests.fakes.lists import send_list
from tests.fakes.world import World, credential


def test_campaigns_that_share_a_credential_run_side_by_side_each_at_its_own_rate() -> None:
    world = World(credential("one", 10))
    slow = send_list(world, "spring", 8, content=SHARED, rate=1.0, shared=True)
    quick = send_list(world, "autumn", 24, content=SHARED, rate=3.0, shared=True)
    for job in (slow, quick):
        assert [x.id for x in world.planner.react(job.id)] == [job.id]
    assert world.records.reserved("one")[0] == ""
    drain(world, skew=0.005)
    assert worst_second(times(world, slow.id)) <= 1
    assert worst_second(times(world, quick.id)) <= 3
    assert times(world, quick.id)[0][0] < times(world, slow.id)[3][0], "not one after the other"
    world.run()
    assert {world.job(job.id).state for job in (slow, quick)} == {JobState.LOGGED}
    world.check()


def test_a_campaign_that_shares_begins_beside_one_that_holds_the_credential() -> None:
    world = World(credential("one"))
    holder = send_list(world, "spring", 2)
    world.planner.react(holder.id)
    beside = send_list(world, "autumn", 2, shared=True)
    assert world.planner.plan(beside.id) is not None
    assert world.records.reserved("one")[0] == "spring"
    world.settle()
    assert {world.job(job.id).state for job in (holder, beside)} == {JobState.LOGGED}
    assert world.records.reserved("one")[0] == ""
