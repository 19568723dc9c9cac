"""Questions about messages of unknown fate keep to the time and the pace of their credential."""

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.jobs.outcomes import Finding
from shared.domain.jobs.states import Cell
from shared.engine.outcome.resolve import GROUP, LATER, SHARE, Resolved
from shared.ports import Loaded, Retriable, Target
from tests.engine.shaky import deploy, logged, shake
from tests.fakes.faults import Crash
from tests.fakes.provider import ResendingProvider, ResolvingProvider, Swallowed
from tests.fakes.world import World, credential

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


def serve_questions(world: World, seconds: float) -> list[float]:
    """Serve the lane as its messages become due; returns when questions were asked, in seconds from now."""
    provider = world.providers["one"]
    assert isinstance(provider, ResolvingProvider)
    began, asked, find = world.clock.now(), [], provider._find

    def noted(target: Target, at: float) -> Finding:
        asked.append(world.clock.now() - began)
        return find(target, at)

    provider._find = noted  # type: ignore[method-assign]
    while world.clock.now() - began < seconds:
        if world.send("one") is None:
            world.clock.sleep(0.5)
    return asked


def test_a_question_whose_turn_is_far_away_comes_again_later() -> None:
    world = quick()
    job = all_in_doubt(world, 4)
    world.pacer.tat["one"] = int((world.clock.now() + 20) * 1e6)  # type: ignore[attr-defined]
    begun = world.clock.now()
    assert world.resolve("one", job, 0) == Resolved()
    assert world.clock.now() == begun, "it holds up nothing"
    assert "provider.one.resolve" not in world.tap.calls
    serve_questions(world, 20 + LATER + 1)
    assert world.states(job) == [S] * 4


def test_questions_take_a_tenth_of_the_slots_and_the_rest_comes_again() -> None:
    world = World(credential("one", 5), provider=ResolvingProvider)
    shake(world, "one", 0.4, [(Swallowed(), 0.0)])
    jobs = [world.accept(60).id for _ in range(3)]
    deploy(world, "one", until=lambda: logged(world))
    doubts = sum(world.states(job).count(U) for job in jobs)
    assert doubts >= 60
    world.clock.sleep(120)
    world.sweep()
    asked = serve_questions(world, 1800)
    assert len(asked) == doubts
    for start in asked:
        assert sum(start <= at < start + 60 for at in asked) <= 60 * 5 * SHARE + GROUP
    assert all(world.states(job).count(S) == len(world.states(job)) for job in jobs)


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
    world.resolve("one", job, 0)
    with pytest.raises(Crash):
        serve_questions(world, 60)
    assert world.states(job).count(S) == 3 * GROUP


@pytest.mark.parametrize("error", [Retriable, PermissionError])
def test_a_fault_amid_the_questions_loses_no_answer(error: type[Exception], resending: World) -> None:
    job = all_in_doubt(resending, 6)
    resending.tap.arm(3, error=error, where=lambda name: name == "records.control")
    with pytest.raises(error):
        resending.resolve("one", job, 0)
    assert resending.states(job).count(S) == 5
