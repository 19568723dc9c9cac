"""What the log says of attempts that no detail names."""

import pytest

from shared.domain.jobs.job import OnAmbiguous, Policy
from shared.domain.jobs.outcomes import Throttled
from shared.domain.jobs.states import Cell
from tests.fakes.faults import Crash, When
from tests.fakes.provider import Swallowed
from tests.fakes.world import ACCOUNT, INVOCATION, LEASE_MARGIN, World, credential

LEASE = INVOCATION + LEASE_MARGIN + 1


def test_a_zombie_that_was_throttled_leaves_a_reason() -> None:
    """Its own detail replaces the word of who took over, and names only whom the provider did not ask to wait."""
    world = World(credential("one", 10))
    job = world.accept(3).id
    provider = world.providers["one"]
    provider.script("r1@example.com", [Throttled(2)])

    def frozen(_targets: object) -> None:
        if len(world.oracle.calls) == 1:
            provider.before = lambda _targets: None
            world.clock.advance(LEASE)
            world.sweep()

    provider.before = frozen
    world.send("one")
    assert world.states(job) == [Cell.SENT, Cell.UNKNOWN, Cell.UNKNOWN]
    line = world.logs.line(world.job(job), 0, 1)
    assert line is not None
    assert line.error == "worker_lost"


def test_a_resent_message_may_duplicate_although_two_crashes_left_no_detail() -> None:
    world = World(credential("one", 10))
    job = world.accept(1).id
    world.tap.arm_at("records.put_detail", When.BEFORE)
    with pytest.raises(Crash):
        world.run()
    world.clock.advance(LEASE)
    world.tap.arm_at("records.complete_detail", When.BEFORE)
    with pytest.raises(Crash):
        world.sweep()
    world.settle()
    line = world.logs.line(world.job(job), 0, 0)
    assert line is not None
    assert (line.error, line.may_duplicate) == ("worker_lost", False)

    world.control.retry(job, ACCOUNT, frozenset({"unknown"}))
    world.settle()
    assert world.states(job) == [Cell.SENT]
    line = world.logs.line(world.job(job), 0, 0)
    assert line is not None
    assert line.may_duplicate


def test_the_last_try_in_doubt_is_unknown_and_believes_the_provider_later() -> None:
    """Whoever prefers a duplicate to a wait still must not read "failed" of a message that the provider has."""
    world = World(credential("one", 10))
    world.providers["one"].script("r0@example.com", [Swallowed()])
    job = world.accept(1, policy=Policy(max_attempts=1, on_ambiguous=OnAmbiguous.FAIL_OVER)).id
    world.settle()
    assert world.cells(job) == [(Cell.UNKNOWN, 1)]
    world.control.retry(job, ACCOUNT, frozenset({"failed"}))
    world.settle()
    assert len(world.oracle.taken) == 1
    world.track("one", world.word(job, 0, "accepted"))
    assert world.states(job) == [Cell.SENT]
