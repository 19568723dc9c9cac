"""Single messages that bounce: too small to be stopped by themselves, so their account's day is judged."""

import pytest

from shared.domain.audit import Event, Log
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.states import JobState
from shared.ports import Retriable
from tests.fakes.faults import When
from tests.fakes.world import ACCOUNT, World, credential


@pytest.fixture
def world() -> World:
    return World(credential("one", 100))


def fresh(world: World, i: int) -> Recipient:
    """Return a recipient that no message has bounced for."""
    address = f"r{len(world.jobs)}-{i}@example.com"
    return Recipient(address, address)


def post(world: World, n: int, word: str, *, each: int = 1) -> None:
    """Send so many small batches, and have the provider say a word about each of their messages."""
    jobs = [world.accept([fresh(world, i) for i in range(each)]) for _ in range(n)]
    world.run()
    world.track("one", *(world.word(job.id, i, word) for job in jobs for i in range(each)))
    while world.log() is not None:
        pass


def told(world: World) -> list[Event]:
    return [x for x in world.stores.journal.since(ACCOUNT, Log.AUDIT, 0) if x.kind == "account.bouncing"]


def test_the_eleventh_bounce_of_a_day_is_told_once_and_stops_nothing(world: World) -> None:
    post(world, 10, "bounced")
    assert told(world) == []
    post(world, 1, "bounced")
    assert len(told(world)) == 1
    (event,) = told(world)
    assert (event.account, event.actor) == (ACCOUNT, "system")
    assert (event.data["channel"], event.data["bounced"], event.data["settled"]) == ("email", 11, 11)
    post(world, 5, "bounced")
    assert told(world) == [event]
    assert {world.job(name).state for name in world.jobs} == {JobState.LOGGED}


def test_a_tenth_of_those_with_a_final_result_may_bounce(world: World) -> None:
    post(world, 110, "delivered")
    post(world, 12, "bounced")
    assert told(world) == []
    post(world, 1, "bounced")
    (event,) = told(world)
    assert (event.data["bounced"], event.data["settled"]) == (13, 123)


def test_batches_that_the_guard_judges_by_themselves_do_not_count(world: World) -> None:
    post(world, 1, "bounced", each=11)
    assert told(world) == []
    assert world.job(world.jobs[-1]).counts["bounced"] == 11
    post(world, 2, "bounced", each=5)
    assert told(world) == []
    post(world, 1, "bounced", each=1)
    (event,) = told(world)
    assert event.data["bounced"] == 11


def test_each_day_is_judged_by_itself(world: World) -> None:
    post(world, 10, "bounced")
    world.clock.advance(86_400)
    post(world, 10, "bounced")
    assert told(world) == []
    post(world, 1, "bounced")
    assert [x.data["bounced"] for x in told(world)] == [11]


def test_a_day_is_looked_at_only_for_messages_that_bounced(world: World) -> None:
    post(world, 20, "delivered")
    assert "bouncing.of" not in world.tap.calls
    post(world, 11, "bounced")
    looks = world.tap.calls.count("bouncing.of")
    post(world, 5, "bounced")
    assert world.tap.calls.count("bouncing.of") == looks, "it was told"


def test_what_could_not_be_told_is_told_with_the_next_bounce(world: World) -> None:
    post(world, 10, "bounced")
    world.tap.arm_at("bouncing.note", When.BEFORE, lambda: Retriable("busy"))
    post(world, 1, "bounced")
    assert told(world) == []
    post(world, 1, "bounced")
    assert [x.data["bounced"] for x in told(world)] == [12]
