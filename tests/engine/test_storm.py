"""A lane keeps its rate while its provider fails in every way and its workers die; the long form is a program."""

import pytest

from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import Cell
from tests.engine.storm import SHARE, Storm
from tests.fakes.world import World, credential
from tests.tiers import some_slow


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("seed", some_slow(range(20), set(range(1, 20))))
def test_a_lane_keeps_most_of_its_rate_in_a_storm(seed: int) -> None:
    weathered = Storm(seed, 8000).weather()
    assert weathered.share >= SHARE
    assert weathered.single <= 5


@pytest.mark.parametrize(("others", "latest"), [(40, 3), (0, 72)])
def test_what_fails_in_the_hands_of_a_new_worker_comes_again_soon_where_others_saw_the_provider_work(
    others: int, latest: float
) -> None:
    world = World(credential("one", 100))
    world.accept(others or 1, account="acc_000000000002")
    world.run(seconds=1)
    if others:
        world.clock.run(lambda: world.send("one"))
        world.accept(1, account="acc_000000000002")
        world.run(seconds=1)  # its reservation tells the others
    else:
        world.clock.sleep(60)
    world.providers["one"].script("r0@example.com", [Rejected("http_503", permanent=False)] * 2)
    job = world.accept(1)
    new = world.sender("one", breaker_cache=world.process())
    waits = []
    for _ in range(2):
        assert world.send("one", new) is not None
        (ledger,) = world.ledgers.read_all(job.id)
        assert world.states(job.id) == [Cell.QUEUED]
        waits.append(ledger.not_before / 1000 - world.clock.now())
        world.clock.sleep(waits[-1])
    assert 0 < waits[0] <= 2, "one failed call shows nothing"
    assert latest / 2 < waits[1] <= latest
