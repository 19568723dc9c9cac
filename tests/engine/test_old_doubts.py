"""Questions about old doubts beside a live campaign."""

from dataclasses import replace

import pytest

from shared.domain.jobs.outcomes import Finding
from shared.domain.jobs.states import Cell
from shared.ports import Target
from tests.engine.shaky import QUICK, deploy, logged, shake
from tests.fakes.provider import ResolvingProvider, Swallowed
from tests.fakes.world import World, credential

RATE = 150
ANSWER = 0.15
"""Seconds of a question."""


class Slow(ResolvingProvider):
    """A provider whose questions take a while, and that notes when they came."""

    def __init__(self, *args: object, **named: object) -> None:
        super().__init__(*args, **named)  # type: ignore[arg-type]
        self.asked: list[float] = []

    def _find(self, target: Target, at: float) -> Finding:
        self.asked.append(self._clock.now())
        self._clock.sleep(ANSWER)
        return super()._find(target, at)


def campaign(old: int, messages: int) -> tuple[float, World]:
    """Return the seconds that a job takes beside questions about an older one, and the world."""
    world = World(replace(credential("one", RATE), workers=2), provider=Slow)
    if old:
        shake(world, "one", 0.25, [(Swallowed(), 0.0)])
        world.accept(old)
        deploy(world, "one", until=lambda: logged(world))
        world.clock.sleep(120)
    world.providers["one"].before = lambda _targets: None
    world.providers["one"].answer, world.providers["one"].latency = None, QUICK
    world.sweep()
    live = world.accept(messages).id
    return deploy(world, "one", until=lambda: world.states(live).count(Cell.SENT) == messages), world


@pytest.mark.slow
def test_a_thousand_old_doubts_cost_a_live_campaign_a_tenth_of_its_rate_at_most() -> None:
    alone, _ = campaign(0, 4_000)
    beside, world = campaign(4_000, 4_000)
    provider = world.providers["one"]
    assert isinstance(provider, Slow)
    assert provider.asked, "they go on beside it"
    assert beside <= 1.11 * alone
    old = world.jobs[0]
    deploy(world, "one", seconds=3600, until=lambda: Cell.UNKNOWN not in world.states(old))
    assert Cell.UNKNOWN not in world.states(old), "all are asked about"
