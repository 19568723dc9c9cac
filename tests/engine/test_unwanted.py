"""Who tells a provider to send no more is suppressed by its refusal, as by a complaint."""

from dataclasses import replace

import pytest

from shared.domain.jobs.outcomes import Rejected
from shared.ports import Retriable
from tests.fakes.faults import When
from tests.fakes.world import ACCOUNT, World, credential

STOP = Rejected("unsubscribed", permanent=True, unwanted=True)


@pytest.fixture
def world() -> World:
    return World(credential("one"))


def suppressed(world: World) -> set[str]:
    return set(world.records.suppressed(ACCOUNT, {f"r{i}@example.com" for i in range(3)}))


def test_a_refusal_for_that_suppresses_its_recipient_alone(world: World) -> None:
    world.providers["one"].script("r1@example.com", [STOP])
    world.providers["one"].script("r2@example.com", [Rejected("bad", permanent=True)])
    job = world.accept(3)
    world.run()
    assert world.counts(job.id) == {"sent": 1, "failed": 2}
    assert suppressed(world) == {"r1@example.com"}


def test_a_test_message_suppresses_no_recipient(world: World) -> None:
    world.providers["one"].script("r1@example.com", [STOP])
    job = world.accept(3)
    world.stores.records.jobs[job.id] = replace(job, test=True)  # type: ignore[attr-defined]
    world.run()
    assert suppressed(world) == set()


@pytest.mark.promise(3)
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_store_that_cannot_take_it_loses_no_result(world: World, when: When) -> None:
    world.providers["one"].script("r1@example.com", [STOP])
    job = world.accept(3)
    world.tap.arm_at("records.suppress", when=when, error=Retriable)
    world.settle()
    assert world.tap.fired == 1
    assert world.counts(job.id) == {"sent": 2, "failed": 1}
    world.check()
