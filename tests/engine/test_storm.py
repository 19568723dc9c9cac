"""A lane keeps its rate while its provider fails in every way and its workers die; the long form is a program."""

import pytest

from tests.engine.storm import SHARE, Storm
from tests.tiers import some_slow


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.parametrize("seed", some_slow(range(20), set(range(1, 20))))
def test_a_lane_keeps_most_of_its_rate_in_a_storm(seed: int) -> None:
    weathered = Storm(seed, 8000).weather()
    assert weathered.share >= SHARE
    assert weathered.single <= 5
