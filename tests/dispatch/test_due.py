"""The function of jobs whose time has come."""

from types import SimpleNamespace
from typing import Any

import pytest

from functions.dispatch import due, services
from shared import contracts
from shared.domain.states import JobState
from shared.engine.due import Due
from tests.fakes.world import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    parts = SimpleNamespace(
        due=Due(records=world.records, planner=world.planner, schedules=world.schedules), clock=world.clock
    )
    monkeypatch.setattr(services, "deployment", lambda: parts)
    return world


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
