"""Questions about messages of unknown fate keep to the time and the pace of their credential."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.jobs.states import Cell
from shared.domain.lanes.switches import Switches
from shared.engine.outcome.resolve import GROUP, Resolved
from shared.ports import Loaded, Retriable
from tests.fakes.faults import Crash
from tests.fakes.provider import ResendingProvider, ResolvingProvider
from tests.fakes.world import INVOCATION, World, credential

U, S = Cell.UNKNOWN, Cell.SENT


@pytest.fixture
def resending() -> World:
    return World(credential("one"), provider=ResendingProvider)


def all_in_doubt(world: World, count: int) -> str:
    """Return a job of one chunk whose messages were all taken, and are in doubt: their worker died."""
    job = world.accept(count).id
    world.tap.arm_at("records.put_detail")
    with pytest.raises(Crash):
        world.send("one")
    world.clock.sleep(200)
    assert world.ledgers.read_all(job)[0].ran_out(world.clock.ms)
    world.sweep()
    assert world.states(job) == [U] * count
    world.clock.sleep(60)
    return job


def quick() -> World:
    """Return a world that sends all of it in one window."""
    return World(credential("one", 400), provider=ResolvingProvider)


def slow_down(world: World) -> None:
    """Let each slot of the credential take five seconds."""
    world.stores.switch("one", Switches(rate=0.2))


def test_a_question_waits_for_no_slot_beyond_its_time() -> None:
    world = quick()
    job = all_in_doubt(world, 4)
    slow_down(world)
    world.pacer.tat["one"] = int((world.clock.now() + 200) * 1e6)  # type: ignore[attr-defined]
    begun = world.clock.now()
    assert world.resolve("one", job, 0) == Resolved()
    assert world.clock.now() - begun < INVOCATION - 10
    assert "provider.one.resolve" not in world.tap.calls


def test_questions_end_in_time_and_the_rest_waits_for_the_next_look() -> None:
    """Where each slot has to be waited for."""
    world = quick()
    job = all_in_doubt(world, 40)
    slow_down(world)
    begun = world.clock.now()
    asked = world.resolve("one", job, 0).asked
    assert 15 <= asked < 40
    assert world.clock.now() - begun <= INVOCATION - 10
    assert world.states(job).count(S) == asked


def test_a_question_of_a_slow_job_costs_one_slot_of_the_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    world = quick()
    job = all_in_doubt(world, 4)
    load = world.records.load

    def slow(*args: Any, **named: Any) -> Loaded | None:
        loaded = load(*args, **named)
        return replace(loaded, job=replace(loaded.job, rate=0.1)) if loaded else None

    monkeypatch.setattr(world.records, "load", slow)
    begun = world.clock.now()
    assert world.resolve("one", job, 0).accepted == 4
    assert world.clock.now() - begun < 0.2
    assert world.pacer.tat["one"] / 1e6 - begun < 0.2  # type: ignore[attr-defined]


@pytest.mark.promise(3)
def test_a_killed_resolver_has_stored_nearly_all_answers() -> None:
    world = quick()
    job = all_in_doubt(world, 4 * GROUP)
    killed = 3 * GROUP + 5
    world.tap.arm(killed - 1, error=Crash, where=lambda name: name == "provider.one.resolve")
    with pytest.raises(Crash):
        world.resolve("one", job, 0)
    assert world.states(job).count(S) == 3 * GROUP


def test_at_a_slow_pace_each_event_is_shown_as_it_arrives() -> None:
    world = quick()
    job = all_in_doubt(world, 8)
    slow_down(world)
    world.tap.arm(5, error=Crash, where=lambda name: name == "provider.one.resolve")
    with pytest.raises(Crash):
        world.resolve("one", job, 0)
    assert world.states(job).count(S) >= 4


@pytest.mark.parametrize("error", [Retriable, PermissionError])
def test_a_fault_amid_the_questions_loses_no_answer(error: type[Exception], resending: World) -> None:
    job = all_in_doubt(resending, 6)
    resending.tap.arm(3, error=error, where=lambda name: name == "records.control")
    with pytest.raises(error):
        resending.resolve("one", job, 0)
    assert resending.states(job).count(S) == 3
