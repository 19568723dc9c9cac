"""Whatever call to the store fails, a worker that lives knows what it called: each message is sent once."""

import pytest

from shared.domain.states import Cell
from shared.engine.logs import Filter
from shared.ports import Retriable
from tests.fakes.faults import When, is_store
from tests.fakes.world import World, credential


@pytest.mark.promise(1)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER, When.REPEATED])
@pytest.mark.parametrize("nth", range(15))
def test_a_hiccup_of_the_store_makes_nothing_unknown_or_double(nth: int, when: When) -> None:
    """The worker lives and knows what it called: whatever call fails, each message is sent once and known as sent."""
    world = World(credential("one", 10))
    job = world.accept(12)
    world.tap.arm(nth, when, Retriable, where=is_store)
    world.settle()
    assert world.tap.fired == 1
    assert world.oracle.times(job.id) == {(0, i): 1 for i in range(12)}
    assert world.counts(job.id) == {"sent": 12}
    lines, _ = world.logs.lines(job, Filter())
    assert [[a.provider_message_id != "" for a in line.attempts] for line in lines] == [[True]] * 12
    world.check()


def test_a_reservation_that_fails_in_mid_window_makes_nothing_unknown() -> None:
    """The calls whose slots were missed were never begun; a store that cannot be reached does not change that."""
    world = World(credential("one", 10))
    job = world.accept(9)
    provider = world.providers["one"]
    slow: list[bool] = []

    def stall(_targets: object) -> None:
        if not slow:
            slow.append(True)
            world.clock.advance(3)  # every later slot of the window is missed
            world.tap.arm_at("pacer.reserve", error=Retriable)

    provider.before = stall
    with pytest.raises(Retriable):
        world.send("one")
    assert world.cells(job.id) == [(Cell.SENT, 1)] + [(Cell.QUEUED, 0)] * 8
    world.settle()
    assert world.counts(job.id) == {"sent": 9}
    assert len(world.oracle.taken) == 9
    lines, _ = world.logs.lines(job, Filter())
    assert [[a.outcome for a in line.attempts] for line in lines] == [["accepted"]] * 9
