"""A provider that takes a message and then says that it broke: the message goes out once, in no other way."""

import time
from collections import Counter

import pytest

from shared.adapters.http.transport import HttpClient
from shared.contracts import Credential
from shared.domain.ids import Ref
from shared.domain.jobs.job import Policy
from shared.domain.jobs.states import Cell
from shared.providers import registry
from shared.providers.registry import Needs
from simulator.run import Simulator
from tests.fakes.clock import FakeClock
from tests.fakes.world import World
from tests.providers.contract import CHANNELS, SIMULATED, target
from tests.providers.test_unknowns import MINUTE, Wire

MESSAGES = 6
SURE = frozenset({Cell.QUEUED, Cell.FAILED})
"""What no message may be that a provider has taken."""


@pytest.mark.promise(1)
@pytest.mark.parametrize("status", [500, 502, 504])
@pytest.mark.parametrize("name", SIMULATED)
def test_what_was_taken_and_called_broken_is_never_sent_again(simulator: Simulator, name: str, status: int) -> None:
    """Two credentials of the vendor, so that failing over would make a duplicate as well as trying again.

    It answers questions, so that messages are risked at all.
    """
    channel, clock = CHANNELS.get(name, "email"), FakeClock(float(int(time.time())))
    lanes = [Credential(f"{name}-{status}-{n}", name, channel, 100) for n in (1, 2)]
    world = World(*lanes, clock=clock)
    http = HttpClient(Wire(clock))
    keys = simulator.control.keys(name)
    secret = {"api_key": keys.pop("keys")[0], **keys}
    for lane in lanes:
        simulator.control.webhooks(name, lane.id, mix={"silent": 1})
        simulator.control.faults(name, lane.id, mode="500", status=status, accept=True, own=True, recipients="*")
        needs = Needs(
            http, clock, secret, simulator.base_url(name, lane.id), credential=lane, public_url="https://api.example"
        )
        world.providers[lane.id] = registry.provider(name)(needs)  # type: ignore[assignment]
    world.reboot()
    people = [target(n, channel=channel).recipient for n in range(MESSAGES)]
    job = world.accept(people, policy=Policy(max_attempts=5)).id
    for _ in range(60):
        world.run(seconds=0)
        clock.sleep(MINUTE)
        world.sweep()
    http.close()
    log = [ref for lane in lanes for line in simulator.control.log(name, lane.id) if (ref := Ref.parse(line["ref"]))]
    taken = Counter((ref.chunk, ref.index) for ref in log)
    assert len(taken) == MESSAGES
    assert max(taken.values()) == 1
    assert not SURE & set(world.states(job))
