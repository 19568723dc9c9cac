"""One campaign per credential at a time, oldest first; several jobs of the same campaign side by side."""

import pytest

from shared.domain.jobs.job import Job
from shared.domain.jobs.outcomes import Rejected, Unknown
from shared.domain.jobs.states import JobState
from shared.engine.jobs.control import Resumed
from shared.engine.walks.jobs import YOUNG_MS
from shared.ports import OpenJob, Retriable
from tests.fakes.faults import When
from tests.fakes.lists import send_list
from tests.fakes.world import ACCOUNT, World, credential

DOWN = Rejected("down", permanent=False)


@pytest.fixture
def world() -> World:
    return World(credential("one"), credential("two"))


def states(world: World, *jobs: Job) -> list[str]:
    return [world.job(job.id).state.value for job in jobs]


def ids(jobs: list[Job]) -> list[str]:
    return [job.id for job in jobs]


def serve(world: World, lane: str = "one") -> None:
    """Send and fold all that is there, without planning anything."""
    while world.send(lane) is not None or world.log() is not None:
        pass


def aged(world: World, *campaigns: str) -> list[Job]:
    """Store a job of each campaign, each a second younger than the one before."""
    made = []
    for campaign in campaigns:
        made.append(send_list(world, campaign, 2))
        world.clock.advance(1)
    return made


def test_the_oldest_job_starts_and_those_of_its_campaign_with_it(world: World) -> None:
    first, other, second, third = aged(world, "spring", "autumn", "spring", "winter")
    assert ids(world.planner.react(third.id)) == [first.id, second.id]
    assert states(world, first, other, second, third) == ["ENQUEUED", "READY", "ENQUEUED", "READY"]
    assert sum(len(q.sent) for q in world.lanes.values()) == 2
    assert world.planner.plan(other.id) is None
    assert world.planner.next("one") == []
    assert world.records.reserved("one")[0] == "spring"


def test_the_next_begins_when_the_last_of_a_campaign_has_ended(world: World) -> None:
    first, other, second, third = aged(world, "spring", "autumn", "spring", "winter")
    world.planner.react(first.id)
    serve(world)
    assert states(world, first, second) == ["LOGGED", "LOGGED"]
    assert ids(world.planner.react(second.id)) == [other.id]
    serve(world)
    assert ids(world.planner.react(other.id)) == [third.id]
    serve(world)
    assert states(world, first, other, second, third) == ["LOGGED"] * 4
    assert [x.ref.job for x in world.oracle.taken] == [x.id for x in (first, second, other, third) for _ in range(2)]


def test_a_younger_job_of_the_holder_joins_it(world: World) -> None:
    first, other = aged(world, "spring", "autumn")
    world.planner.react(first.id)
    (late,) = aged(world, "spring")
    assert ids(world.planner.react(late.id)) == [late.id]
    assert states(world, other) == ["READY"]


def test_credentials_do_not_wait_for_each_other(world: World) -> None:
    here, there = send_list(world, "spring"), send_list(world, "autumn", credential="two")
    assert ids(world.planner.react(here.id)) == [here.id]
    assert ids(world.planner.react(there.id)) == [there.id]
    assert (world.records.reserved("one")[0], world.records.reserved("two")[0]) == ("spring", "autumn")


def test_batches_and_tests_go_beside_a_campaign(world: World) -> None:
    held = send_list(world, "spring")
    world.planner.react(held.id)
    tests = [send_list(world, name, test=True) for name in ("spring", "autumn")]
    assert [ids(world.planner.react(job.id)) for job in tests] == [[tests[0].id], [tests[1].id]]
    batch = world.accept(2, route=("one",))
    assert batch.state is JobState.ENQUEUED
    serve(world)
    assert states(world, batch, *tests) == ["LOGGED"] * 3


def test_one_that_is_not_due_lets_younger_ones_go_first(world: World) -> None:
    scheduled = send_list(world, "spring", not_before=world.clock.ms + 60_000)
    (young,) = aged(world, "autumn")
    assert ids(world.planner.react(scheduled.id)) == [young.id]
    world.clock.advance(60)
    assert world.planner.react(scheduled.id) == []
    serve(world)
    assert ids(world.planner.react(scheduled.id)) == [scheduled.id]


def test_a_job_that_the_index_does_not_show_yet_has_its_turn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = aged(world, "spring", "autumn")
    seen = [OpenJob(second.id, running=False, not_before=0, created_at=second.created_at, campaign="autumn")]
    monkeypatch.setattr(world.records, "open_on", lambda _credential, running: [] if running else seen)
    assert ids(world.planner.react(first.id)) == [first.id]
    assert states(world, second) == ["READY"]


def test_what_the_index_still_shows_is_not_started_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = aged(world, "spring", "autumn")
    old = list(world.records.open_on("one", running=False))
    world.control.stop(first.id, ACCOUNT)
    monkeypatch.setattr(world.records, "open_on", lambda _credential, running: [] if running else old)
    assert ids(world.planner.next("one")) == [second.id]
    assert states(world, first) == ["STOPPED"]


@pytest.mark.promise(7)
def test_planning_again_and_again_changes_nothing(world: World) -> None:
    first, other = aged(world, "spring", "autumn")
    world.planner.react(first.id)
    before = (world.job(first.id), world.job(other.id), len(world.lanes["one"].sent))
    for job in (first, other, first, other):
        assert world.planner.react(job.id) == []
    assert (world.job(first.id), world.job(other.id), len(world.lanes["one"].sent)) == before


@pytest.mark.parametrize("kind", ["campaign", "batch"])
def test_a_plan_whose_answer_was_lost_sends_its_pointers(world: World, kind: str) -> None:
    if kind == "campaign":
        job = send_list(world, "spring", 2)
    else:
        job = world.accept(2, route=("one",), not_before=world.clock.ms + 1000)
        world.clock.advance(1)
    world.tap.arm_at("records.change.plan", When.REPEATED)
    assert ids(world.planner.react(job.id)) == [job.id]
    assert world.tap.fired == 1
    assert len(world.lanes["one"].sent) == 1


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("nth", range(8))
def test_whatever_fails_all_campaigns_come_to_their_end_in_turn(world: World, nth: int, when: When) -> None:
    jobs = aged(world, "spring", "autumn", "spring")
    world.tap.arm(nth, when, Retriable)
    world.settle()
    assert world.tap.fired == 1
    world.check()
    assert states(world, *jobs) == ["LOGGED"] * 3
    assert {world.counts(job.id)["sent"] for job in jobs} == {2}
    assert world.records.reserved("one")[0] == ""


def test_the_sweeper_starts_waiting_jobs_oldest_first(world: World) -> None:
    first, other, second = aged(world, "spring", "autumn", "spring")
    world.clock.advance(YOUNG_MS / 1000)
    assert world.sweep().planned == 2
    assert states(world, first, other, second) == ["ENQUEUED", "READY", "ENQUEUED"]
    assert world.sweep().planned == 0
    serve(world)
    assert world.sweep().planned == 1
    assert states(world, first, other, second) == ["LOGGED", "ENQUEUED", "LOGGED"]


def test_a_job_that_has_gone_before_its_end_holds_nothing_for_ever(world: World) -> None:
    first, other = aged(world, "spring", "autumn")
    world.planner.react(first.id)
    world.stores.expire(first.id)
    world.clock.advance(YOUNG_MS / 1000)
    assert [world.sweep().planned for _ in range(2)] == [0, 1]
    assert states(world, other) == ["ENQUEUED"]


def test_a_stopped_campaign_frees_the_credential_when_it_is_at_rest(world: World) -> None:
    first, other = aged(world, "spring", "autumn")
    world.planner.react(first.id)
    world.control.stop(first.id, ACCOUNT)
    assert world.planner.react(other.id) == []
    world.clock.advance(YOUNG_MS / 1000)
    world.sweep()
    assert states(world, first) == ["LOGGED"]
    assert ids(world.planner.react(first.id)) == [other.id]


def test_a_resumed_job_waits_for_the_campaign_that_came_between_and_keeps_its_age(world: World) -> None:
    first, other, third = aged(world, "spring", "autumn", "winter")
    world.planner.react(first.id)
    world.control.stop(first.id, ACCOUNT)
    world.clock.advance(YOUNG_MS / 1000)
    world.sweep()
    world.planner.react(first.id)
    assert states(world, other) == ["ENQUEUED"]
    resumed = world.control.resume(first.id, ACCOUNT)
    assert isinstance(resumed, Resumed)
    assert (resumed.job.state, resumed.messages, resumed.recorded) == (JobState.READY, 2, False)
    serve(world)
    assert ids(world.planner.react(other.id)) == [first.id]
    assert states(world, third) == ["READY"]


def test_a_retry_waits_too(world: World) -> None:
    (first,) = aged(world, "spring")
    for i in range(2):
        world.providers["one"].script(f"r{i}@example.com", [DOWN] * 6)
    world.settle()
    assert world.counts(first.id) == {"failed": 2}
    (other,) = aged(world, "autumn")
    world.planner.react(other.id)
    retried = world.control.retry(first.id, ACCOUNT, frozenset({"failed"}))
    assert isinstance(retried, Resumed)
    assert (retried.job.state, retried.messages) == (JobState.READY, 2)
    world.settle()
    assert states(world, first, other) == ["LOGGED", "LOGGED"]
    assert {world.counts(job.id)["sent"] for job in (first, other)} == {2}


def test_feedback_that_reopens_a_campaigns_message_waits_its_turn(world: World) -> None:
    first, other = aged(world, "spring", "autumn")
    world.providers["one"].script("r0@example.com", [Unknown("timeout")])
    world.planner.react(first.id)
    serve(world)
    world.planner.react(other.id)
    world.track("one", world.word(first.id, 0, "absent"))
    assert states(world, first, other) == ["READY", "ENQUEUED"]
    assert world.planner.react(first.id) == []
    world.settle()
    assert states(world, first, other) == ["LOGGED", "LOGGED"]
    assert {world.counts(job.id)["sent"] for job in (first, other)} == {2}
    assert world.records.reserved("one")[0] == ""
