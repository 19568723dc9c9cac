"""A provider may take fewer recipients a call with some contents."""

import pytest

from shared.domain.content.content import Content
from shared.ports import Sized
from tests.fakes.provider import FakeProvider
from tests.fakes.world import World, credential


class Heavy(FakeProvider):
    """Takes contents one by one."""

    def per_call_of(self, content: Content) -> int:
        assert content.subject
        return 1


@pytest.mark.slow
@pytest.mark.promise(2)
def test_slots_are_reserved_for_what_a_call_really_carries() -> None:
    world = World(credential("one", 1000), provider_limit=50, provider=Heavy)
    assert isinstance(world.providers["one"], Sized)
    job = world.accept(500)
    world.run()
    assert {n for _, _, n in world.oracle.calls} == {1}
    assert world.counts(job.id) == {"sent": 500}
    world.check()


def test_others_are_asked_for_nothing() -> None:
    world = World(credential("one", 1000), provider_limit=50)
    assert not isinstance(world.providers["one"], Sized)
    world.accept(100)
    world.run()
    assert max(n for _, _, n in world.oracle.calls) > 1
