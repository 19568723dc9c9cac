import random

import pytest

from shared.domain.lanes.backoff import Chance
from shared.domain.lanes.health import CALLS, FIRST, HALF, IDLE, MANY, RUN, SAMPLE, SPAN, Health

NOW = 1_790_000_000.0


def told(share: float, calls: int) -> Health:
    """Return what a provider has shown of whose calls a share failed, in turn."""
    health, owed = Health(), 0.0
    for n in range(1, calls + 1):
        owed += share
        if owed >= 1:
            owed -= 1
            health.failed(n, NOW)
        else:
            health.succeeded(n, NOW)
    return health


def test_nothing_is_known_at_first() -> None:
    health = Health()
    assert health.unproven(NOW)
    assert not health.dead(NOW)
    assert health.chance(NOW) is Chance.UNKNOWN
    assert health.ease(NOW) == 1


def test_the_first_calls_that_all_fail_show_a_provider_dead() -> None:
    health = Health()
    for n in range(1, FIRST + 1):
        assert not health.dead(NOW)
        health.failed(n, NOW)
    assert health.dead(NOW) == FIRST


def test_one_that_was_alive_is_dead_after_more_in_a_row_or_after_a_while() -> None:
    health = told(0, 100)
    for n in range(101, 101 + FIRST):
        health.failed(n, NOW)
    assert not health.dead(NOW)
    assert health.unproven(NOW)
    assert health.dead(NOW + IDLE + 0.1) == FIRST
    for n in range(101 + FIRST, 101 + RUN):
        health.failed(n, NOW)
    assert health.dead(NOW) == RUN


def test_the_first_calls_of_a_new_process_show_less_where_others_find_the_provider_alive() -> None:
    health = Health()
    for n in range(1, RUN):
        health.failed(n, NOW)
    assert not health.dead(NOW, works=True)
    assert health.dead(NOW) == RUN - 1
    health.failed(RUN, NOW)
    assert health.dead(NOW, works=True) == RUN


@pytest.mark.parametrize(("share", "row"), [(0.0, RUN), (0.1, RUN), (0.2, 13), (0.25, 15), (0.4, 23)])
def test_where_calls_fail_by_chance_more_of_them_in_a_row_show_a_provider_dead(share: float, row: int) -> None:
    health = told(share, 200)
    health.succeeded(201, NOW)
    for n in range(202, 202 + row):
        assert not health.dead(NOW)
        health.failed(n, NOW)
    assert health.dead(NOW) == row


def test_a_success_ends_the_row_of_what_began_before_it() -> None:
    health = told(0, 1)
    for n in (2, 3, 4, 6, 7, 8, 9, 10):
        health.failed(n, NOW)
    health.succeeded(5, NOW)
    assert health.dead(NOW + IDLE + 0.1) == 5  # 6 to 10
    for n in (2, 3, 4):
        health.failed(n, NOW)
    assert health.dead(NOW + IDLE + 0.1) == 5


@pytest.mark.parametrize(("share", "calls", "dead"), [(0.5, MANY - 1, 0), (0.5, MANY, MANY // 2), (0.45, 100, 0)])
def test_half_of_a_sample_shows_a_provider_not_worth_calling(share: float, calls: int, dead: int) -> None:
    assert told(share, calls).dead(NOW) == dead


@pytest.mark.parametrize(("share", "ease"), [(0.0, 1.0), (0.25, 1.0), (0.4, 0.7), (0.49, 0.52), (0.9, 0.5)])
def test_the_pace_falls_to_a_half_between_a_quarter_and_a_half(share: float, ease: float) -> None:
    assert told(share, CALLS).ease(NOW) == pytest.approx(ease, abs=0.01)


def test_few_calls_slow_nothing() -> None:
    assert told(HALF, SAMPLE - 1).ease(NOW) == 1


@pytest.mark.parametrize(("share", "chance"), [(0.0, Chance.GOOD), (0.33, Chance.GOOD), (0.4, Chance.POOR)])
def test_the_chance_is_good_where_two_thirds_are_taken(share: float, chance: Chance) -> None:
    assert told(share, 300).chance(NOW) is chance
    assert told(share, 300).chance(NOW + SPAN + 1) is Chance.UNKNOWN


def test_one_failed_call_shows_nothing_and_a_second_that_the_chance_is_poor() -> None:
    health = Health()
    health.failed(1, NOW)
    assert health.chance(NOW) is Chance.UNKNOWN
    health.failed(2, NOW)
    assert health.chance(NOW) is Chance.POOR
    health.succeeded(3, NOW)
    health.succeeded(4, NOW)
    health.succeeded(5, NOW)
    assert health.chance(NOW) is Chance.UNKNOWN
    health.succeeded(6, NOW)
    assert health.chance(NOW) is Chance.GOOD


def test_only_the_latest_calls_of_the_last_minute_count() -> None:
    health = told(HALF, CALLS)
    assert health.dead(NOW)
    for n in range(CALLS + 1, CALLS + 60):
        health.succeeded(n, NOW)
    assert not health.dead(NOW)
    assert told(HALF, CALLS).ease(NOW + SPAN + 1) == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_quarter_that_fails_at_random_does_not_show_a_provider_dead(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - a provider's whims
    health, opened = Health(), 0
    for n in range(1, 2001):
        if rng.random() < 0.25:
            health.failed(n, NOW + n / 100)
            opened += bool(health.dead(NOW + n / 100))
        else:
            health.succeeded(n, NOW + n / 100)
    assert opened == 0
