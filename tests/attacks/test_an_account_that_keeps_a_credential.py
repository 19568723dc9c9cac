"""An account holds a shared credential by a slow campaign, and an operator suspends it to let the others send.

Then: the suspended campaign kept the reservation, and another account's campaign waited for as long as it was so.
"""

import pytest

from shared.contracts import load_due
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import JobState
from shared.engine.jobs.plan import Due
from shared.ports import Retriable
from tests.fakes.faults import When
from tests.fakes.lists import send_list
from tests.fakes.world import ACCOUNT, World, credential

OTHER = "acc_000000000002"
SWEEP_S = 60


@pytest.fixture
def world() -> World:
    return World(credential("one", 10))


def two(world: World, messages: int = 40) -> tuple[Job, Job]:
    """Store a hostile account's campaign, which has sent its first window, and another's that waits behind it."""
    hostile = send_list(world, "hostile", messages)
    world.planner.react(hostile.id)

    def suspend(_targets: object) -> None:
        if len(world.oracle.taken) == 1:
            world.stores.pause(ACCOUNT)

    world.providers["one"].before = suspend
    world.send("one")
    world.clock.advance(1)
    honest = send_list(world, "honest", 5, account=OTHER)
    return hostile, honest


@pytest.mark.promise(3)
def test_a_suspended_accounts_campaign_lets_the_next_one_start(world: World) -> None:
    hostile, honest = two(world)
    world.clock.advance(SWEEP_S)
    world.sweep()
    world.run()
    assert world.counts(honest.id) == {"sent": 5}
    assert world.job(hostile.id).state is JobState.READY
    assert 0 < len(world.oracle.times(hostile.id)) < 40
    world.check()


@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_after_the_suspension_it_takes_its_turn_again_and_sends_each_message_once(world: World) -> None:
    hostile, honest = two(world)
    assert [job.id for job in world.planner.next("one")] == [honest.id]
    world.run()
    third = send_list(world, "third", 5, account=OTHER)
    world.stores.unpause(ACCOUNT)
    world.settle()
    assert {j: world.counts(j) for j in (hostile.id, honest.id, third.id)} == {
        hostile.id: {"sent": 40},
        honest.id: {"sent": 5},
        third.id: {"sent": 5},
    }
    order = list(dict.fromkeys(x.ref.job for x in world.oracle.taken))
    assert order == [hostile.id, honest.id, third.id]
    jobs = [x.ref.job for x in world.oracle.taken]
    assert max(i for i, x in enumerate(jobs) if x == hostile.id) < jobs.index(third.id), "the older one goes first"
    world.check()


@pytest.mark.promise(1)
def test_it_keeps_the_credential_while_a_window_of_it_is_out(world: World) -> None:
    hostile = send_list(world, "hostile", 40)
    world.planner.react(hostile.id)
    honest = send_list(world, "honest", 5, account=OTHER)
    started: list[str] = []

    def look(_targets: object) -> None:
        world.stores.pause(ACCOUNT)
        started.extend(job.id for job in world.planner.next("one"))

    world.providers["one"].before = look
    world.send("one")
    assert started == []
    world.providers["one"].before = lambda _targets: None
    assert [job.id for job in world.planner.next("one")] == [honest.id]


def test_a_job_keeps_its_credential_when_no_other_waits(world: World) -> None:
    hostile = send_list(world, "hostile", 40)
    world.planner.react(hostile.id)
    world.stores.pause(ACCOUNT)
    world.run()
    world.clock.advance(SWEEP_S)
    world.sweep()
    assert world.job(hostile.id).state is JobState.ENQUEUED
    assert world.records.reserved("one")[0] == "hostile"


def test_a_pause_of_everything_takes_nobodys_turn(world: World) -> None:
    hostile = send_list(world, "hostile", 40)
    world.planner.react(hostile.id)
    send_list(world, "honest", 5, account=OTHER)
    world.stores.pause("")
    assert world.planner.next("one") == []
    assert world.records.reserved("one")[0] == "hostile"


def test_a_campaign_with_nothing_left_to_send_ends_and_does_not_wait(world: World) -> None:
    hostile = send_list(world, "hostile", 1)
    world.planner.react(hostile.id)
    world.send("one")
    world.stores.pause(ACCOUNT)
    honest = send_list(world, "honest", 5, account=OTHER)
    assert world.planner.next("one") == []
    world.run()
    assert world.job(hostile.id).state is JobState.LOGGED
    assert world.counts(honest.id) == {"sent": 5}


def test_a_suspension_has_the_turns_looked_at_within_seconds(world: World) -> None:
    hostile = send_list(world, "hostile", 40)
    world.planner.react(hostile.id)
    honest = send_list(world, "honest", 5, account=OTHER)
    world.stores.pause(ACCOUNT)
    assert world.campaign_queue.look_again() == 1
    assert world.due_queue.receive() is None, "a window may be out"
    world.clock.advance(4)
    message = world.due_queue.receive()
    assert message is not None
    started = Due(records=world.records, planner=world.planner, schedules=world.schedules).arrived(
        load_due(message.body)
    )
    assert started == world.job(honest.id)
    assert world.job(hostile.id).state is JobState.READY


@pytest.mark.promise(3)
@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("nth", range(24))
def test_whatever_fails_the_next_one_starts_and_all_is_sent_once(world: World, nth: int, when: When) -> None:
    hostile, honest = two(world)
    world.tap.arm(nth, when, Retriable)
    for _ in range(4):
        world.clock.advance(SWEEP_S)
        try:
            world.sweep()
            world.run()
        except Retriable:
            continue
    assert world.counts(honest.id) == {"sent": 5}
    world.stores.unpause(ACCOUNT)
    world.settle()
    assert world.counts(hostile.id) == {"sent": 40}
    world.check()
