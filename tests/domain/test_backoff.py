import random

import pytest

from shared.domain.lanes.backoff import ROUND_DELAYS, round_delay


@pytest.mark.parametrize("number", range(1, 8))
def test_a_round_waits_its_delay_give_or_take_a_fifth(number: int) -> None:
    base = ROUND_DELAYS[min(number, 5) - 1]
    rng = random.Random(1)  # noqa: S311 - jitter
    delays = [round_delay(number, rng) for _ in range(200)]
    assert all(0.8 * base <= d <= 1.2 * base for d in delays)
    assert max(delays) - min(delays) > 0.2 * base


def test_the_first_round_does_not_wait() -> None:
    assert round_delay(0, random.Random(1)) == 0.0  # noqa: S311 - jitter
