"""A leaked key schedules a job for weeks ahead; then the key is revoked, and the sender taken back.

Then: key and sender counted at acceptance only, so the mail was sent when its time came.
"""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.audit import SYSTEM, Log
from shared.domain.jobs.states import JobState
from shared.engine.jobs.control import NotNow, Resumed
from shared.ports import Retriable
from tests.fakes.faults import When
from tests.fakes.lists import send_list
from tests.fakes.world import ACCOUNT, CONTENT, World, credential

LEAKED = "00000000000000aa"
OWNERS = "00000000000000bb"
DAYS_MS = 20 * 86_400_000
SENDER = CONTENT.sender.address


@pytest.fixture
def world() -> World:
    return World(credential("one"))


def scheduled(world: World, **changes: Any) -> Any:
    return world.accept(3, **{"by": LEAKED, "not_before": world.clock.ms + DAYS_MS, **changes})


def come(world: World) -> None:
    """Let the time of scheduled jobs come."""
    world.clock.advance(DAYS_MS / 1000 + 1)


@pytest.mark.promise(9)
def test_a_scheduled_job_is_stopped_when_its_key_was_revoked(world: World) -> None:
    job = scheduled(world)
    world.standings.revoked.add(LEAKED)
    come(world)
    world.settle()
    assert world.oracle.taken == []
    stopped = world.job(job.id)
    assert (stopped.state, stopped.stop_reason) == (JobState.LOGGED, "key_revoked")
    assert world.counts(job.id) == {"queued": 3}
    for log in Log:
        events = [x for x in world.stores.journal.since(ACCOUNT, log, 0) if x.id == job.id]
        assert [(x.kind, x.actor, dict(x.data)) for x in events] == [
            ("job.stopped", SYSTEM, {"reason": "key_revoked", "key": LEAKED})
        ]


@pytest.mark.promise(9)
def test_a_scheduled_job_is_stopped_when_its_sender_was_removed(world: World) -> None:
    job = scheduled(world)
    world.standings.removed.add(SENDER)
    come(world)
    world.settle()
    assert world.oracle.taken == []
    assert world.job(job.id).stop_reason == "sender_removed"


def test_a_campaign_that_waited_for_its_turn_is_looked_at_as_well(world: World) -> None:
    first = send_list(world, "spring", 200, created_by=OWNERS)
    world.planner.react(first.id)
    second = send_list(world, "autumn", 3, created_by=LEAKED)
    third = send_list(world, "winter", 3, created_by=OWNERS)
    world.standings.revoked.add(LEAKED)
    world.clock.advance(3600)
    world.settle()
    assert {x.ref.job for x in world.oracle.taken} == {first.id, third.id}
    assert world.job(second.id).stop_reason == "key_revoked"


def test_a_rotated_keys_jobs_start(world: World) -> None:
    job = scheduled(world)
    world.standings.revoked.add(LEAKED)
    world.standings.heirs[LEAKED] = OWNERS
    come(world)
    world.settle()
    assert world.counts(job.id) == {"sent": 3}


def test_a_job_of_a_version_that_noted_no_key_starts_if_its_sender_is_there(world: World) -> None:
    jobs = [scheduled(world, by=by) for by in ("", SYSTEM, "operator:1:role")]
    world.standings.revoked |= {"", SYSTEM}
    come(world)
    world.settle()
    assert [world.counts(job.id) for job in jobs] == [{"sent": 3}] * 3
    late = scheduled(world, by="")
    world.standings.removed.add(SENDER)
    come(world)
    world.settle()
    assert world.job(late.id).stop_reason == "sender_removed"


def test_its_owner_resumes_it_with_another_key(world: World) -> None:
    job = scheduled(world)
    world.standings.revoked.add(LEAKED)
    come(world)
    world.settle()
    resumed = world.control.resume(job.id, ACCOUNT, by=OWNERS)
    assert isinstance(resumed, Resumed)
    assert resumed.job.resumed_by == OWNERS
    world.settle()
    assert world.counts(job.id) == {"sent": 3}
    world.check()


@pytest.mark.parametrize("how", ["resume", "retry"])
def test_stopping_and_resuming_it_first_does_not_hide_the_key(world: World, how: str) -> None:
    job = scheduled(world, by=OWNERS)
    world.control.stop(job.id, ACCOUNT, by=LEAKED)
    include = frozenset({"unsent"} if how == "resume" else {"unsent", "failed"})
    assert isinstance(world.control.retry(job.id, ACCOUNT, include, by=LEAKED), Resumed)
    assert world.job(job.id).state is JobState.READY
    world.standings.revoked.add(LEAKED)
    come(world)
    world.settle()
    assert world.oracle.taken == []
    assert world.job(job.id).stop_reason == "key_revoked"


@pytest.mark.promise(9)
@pytest.mark.parametrize("include", ["unsent", "failed", "unknown"])
@pytest.mark.parametrize("begun", ["", "begun"])
def test_nothing_is_sent_again_from_a_sender_that_was_removed(world: World, begun: str, include: str) -> None:
    job = world.accept(30, by=OWNERS) if begun else scheduled(world)
    if begun:
        world.send("one")
    world.control.stop(job.id, ACCOUNT, by=OWNERS)
    world.settle()
    sent = len(world.oracle.taken)
    world.standings.removed.add(SENDER)
    assert world.control.retry(job.id, ACCOUNT, frozenset({include}), by=OWNERS) == NotNow("sender_removed", None)
    world.settle()
    assert len(world.oracle.taken) == sent
    world.standings.removed.clear()
    assert isinstance(world.control.resume(job.id, ACCOUNT, by=OWNERS), Resumed)


def test_a_sender_that_is_removed_between_a_resume_and_its_start_stops_the_job(world: World) -> None:
    job = scheduled(world)
    world.control.stop(job.id, ACCOUNT)
    world.settle()
    resumed = world.control.resume(job.id, ACCOUNT, by=OWNERS)
    assert isinstance(resumed, Resumed)
    assert resumed.job.state is JobState.READY
    world.standings.removed.add(SENDER)
    come(world)
    world.settle()
    assert (world.oracle.taken, world.job(job.id).stop_reason) == ([], "sender_removed")


def test_a_job_of_a_suspended_account_waits_and_starts_when_that_has_ended(world: World) -> None:
    job = scheduled(world)
    world.stores.pause(ACCOUNT)
    come(world)
    world.run()
    assert world.oracle.taken == []
    world.stores.unpause(ACCOUNT)
    world.settle()
    assert world.counts(job.id) == {"sent": 3}


def test_what_starts_at_once_and_what_has_begun_costs_no_look(world: World) -> None:
    world.accept(3, by=LEAKED)
    send_list(world, "spring", 3, created_by=LEAKED)
    world.settle()
    begun = scheduled(world)
    come(world)
    world.settle()
    assert world.tap.calls.count("standings.read") == 1
    world.standings.revoked.add(LEAKED)
    world.stores.records.jobs[begun.id] = replace(  # type: ignore[attr-defined]
        world.job(begun.id), state=JobState.READY
    )
    world.planner.plan(begun.id)
    assert world.job(begun.id).state is JobState.ENQUEUED


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("call", ["standings.read", "records.change.stop"])
def test_whatever_fails_it_is_not_sent(world: World, call: str, when: When) -> None:
    job = scheduled(world)
    world.standings.revoked.add(LEAKED)
    come(world)
    world.tap.arm_at(call, when, Retriable)
    world.settle()
    assert world.tap.fired == 1
    assert world.oracle.taken == []
    assert world.job(job.id).stop_reason == "key_revoked"
