"""The function of jobs whose time has come."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from functions.dispatch import due, services
from shared import contracts
from shared.contracts import DueKind, DueMinute, ResumeTask
from shared.domain.jobs.states import JobState
from shared.engine.jobs.plan import Due
from shared.engine.minutes import MinuteRelay
from shared.ports import Retriable
from tests.fakes.world import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    parts = SimpleNamespace(
        due=Due(records=world.records, planner=world.planner, schedules=world.schedules),
        clock=world.clock,
        waker=world.waker,
    )
    monkeypatch.setattr(services, "deployment", lambda: parts)
    return world


class Context:
    """What Lambda says of an invocation that has a minute left."""

    aws_request_id = "request"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds that are left."""
        return 60_000


def event(*bodies: str) -> dict[str, Any]:
    return {"Records": [{"messageId": str(n), "body": body} for n, body in enumerate(bodies)]}


@pytest.mark.promise(7)
def test_its_event_twice_starts_a_job_once(world: World) -> None:
    job = world.accept(2, not_before=world.clock.ms + 60_000)
    early = event(contracts.due(job.id))
    for _ in range(2):
        assert due.handler(early, None) == {"batchItemFailures": []}
        assert world.job(job.id) == job
    world.clock.advance(60)
    states = []
    for _ in range(2):
        assert due.handler(early, None) == {"batchItemFailures": []}
        states.append((world.job(job.id), len(world.lanes["one"].sent) + len(world.lanes["two"].sent)))
    assert states[0] == states[1]
    assert (states[0][0].state, states[0][1]) == (JobState.ENQUEUED, 2)


@pytest.mark.promise(6)
@pytest.mark.parametrize("body", ["", "[]", "7", "{}", '{"job":7}', "hello"])
def test_poison_goes_to_the_dead_letters_and_takes_nothing_along(world: World, body: str) -> None:
    job = world.accept(1, not_before=world.clock.ms + 1000)
    world.clock.advance(1)
    answer = due.handler(event(body, contracts.due("0" * 26), contracts.due(job.id)), None)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "0"}]}
    assert world.job(job.id).state is JobState.ENQUEUED


def test_a_minute_that_is_too_early_comes_again_and_then_wakes_its_function(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[DueMinute] = []
    relay = MinuteRelay(wake={DueKind.DIGESTS: woken.append}, queue=world.due_queue, clock=world.clock)
    monkeypatch.setattr(services.deployment(), "relay", relay, raising=False)
    minute = DueMinute(DueKind.DIGESTS, world.clock.ms // 1000 + 100)
    assert due.handler(event(minute.dumps(), "{}"), None) == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert woken == []
    (again,) = world.due_queue.waiting
    assert again.due == minute.at - 90
    world.clock.advance(10)
    assert due.handler(event(again.body), None) == {"batchItemFailures": []}
    assert woken == [minute]


@pytest.mark.promise(7)
def test_a_waking_keeps_no_job_waiting_and_goes_on_by_a_message(world: World) -> None:
    paused = [world.accept(1) for _ in range(5)]
    job = world.accept(1, not_before=world.clock.ms + 1000)
    world.clock.advance(1)
    for queue in (world.due_queue, *world.lanes.values()):
        queue.lose()
    before = len(world.tap.calls)
    world.tap.delay = lambda: world.clock.advance(6)
    way = ResumeTask(at=world.clock.ms)
    assert due.handler(event(way.dumps(), contracts.due(job.id), way.dumps()), Context()) == {"batchItemFailures": []}
    calls = world.tap.calls[before:]
    assert calls.index("queue.send") < calls.index("records.open_jobs")
    (first, second) = [ResumeTask.loads(m.body) for m in world.due_queue.waiting]
    assert first is not None
    assert (first == second, first.link, first.after != "") == (True, 2, True), "the second took one page, too"
    world.tap.delay = lambda: None
    list(world.waken(seconds=20))
    there = {json.loads(m.body)["job"] for lane in world.lanes.values() for m in lane.waiting}
    assert there == {x.id for x in (job, *paused)}


@pytest.mark.promise(6)
@pytest.mark.parametrize("body", ['{"wake":7}', '{"wake":{"slot":1}}'])
def test_a_waking_that_cannot_be_read_or_fails_is_delivered_again(world: World, body: str) -> None:
    world.accept(1)
    world.tap.arm_at("records.open_jobs", error=lambda: Retriable("busy"))
    answer = due.handler(event(body, ResumeTask(at=world.clock.ms).dumps()), Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "0"}, {"itemIdentifier": "1"}]}
