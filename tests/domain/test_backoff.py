import random

import pytest

from shared.domain.lanes.backoff import ROUND_DELAYS, Chance, round_delay


@pytest.mark.parametrize("chance", Chance)
@pytest.mark.parametrize("number", range(1, 8))
def test_a_round_waits_its_delay_give_or_take_a_fifth(number: int, chance: Chance) -> None:
    delays_of_all = ROUND_DELAYS[chance]
    base = delays_of_all[min(number, len(delays_of_all)) - 1]
    rng = random.Random(1)  # noqa: S311 - jitter
    delays = [round_delay(number, rng, chance) for _ in range(200)]
    assert all(0.8 * base <= d <= 1.2 * base for d in delays)
    assert max(delays) - min(delays) > 0.2 * base


@pytest.mark.parametrize("chance", Chance)
def test_the_first_round_does_not_wait(chance: Chance) -> None:
    assert round_delay(0, random.Random(1), chance) == 0.0  # noqa: S311 - jitter


def test_the_worse_the_chance_the_longer_a_round_waits() -> None:
    for number in range(1, 8):
        good, unknown, poor = (ROUND_DELAYS[x][min(number, len(ROUND_DELAYS[x])) - 1] for x in Chance)
        assert good <= unknown <= poor
