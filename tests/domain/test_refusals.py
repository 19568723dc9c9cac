"""What is left of a rate after a refusal, by what else became of calls of late."""

from dataclasses import replace

import pytest

from shared.domain.lanes.pacing import Pace, pace
from shared.domain.lanes.refusals import EFFECT, FEW, GENTLE, STEEP, STEEPEST, RefusalTally
from shared.domain.lanes.switches import BELOW, NOT_LOWERED, ThrottledRate

NOW = 1_800_000_000.0


def at(rate: float, past: ThrottledRate = NOT_LOWERED) -> Pace:
    return pace(rate, 1, lowered=past, now=NOW)


def lowered(p: Pace, tally: RefusalTally, now: float = NOW) -> ThrottledRate:
    found = p.refused(now, 1.0, tally)
    assert found is not None
    return found


def test_a_refusal_among_many_calls_lowers_nothing() -> None:
    assert at(100).refused(NOW, 1.0, RefusalTally(100, 3)) is None
    assert at(100).refused(NOW, 1.0, RefusalTally(1000, 55)) is None


def test_where_few_calls_are_known_little_is_taken_away_and_not_again_at_once() -> None:
    first = lowered(at(100), RefusalTally(1, 1))
    assert first == ThrottledRate(100 * GENTLE, round((NOW + 1) * 1000), limit=100)
    again = pace(100, 1, lowered=first, now=NOW + 2)
    assert again.refused(NOW + 2, 1.0, RefusalTally(FEW - 1, 1)) is None


def test_a_share_shows_the_limit() -> None:
    found = lowered(at(100), RefusalTally(400, 200))
    assert 50 <= found.limit <= 53
    assert found.rate == BELOW * found.limit
    assert found.share == 0.5


def test_where_all_is_refused_half_is_left_and_what_was_taken_before_is_remembered() -> None:
    seen = ThrottledRate(48, round((NOW - 100) * 1000), limit=50, share=0.5)
    found = lowered(at(100, seen), RefusalTally(40, 40))
    assert (found.rate, found.limit) == (at(100, seen).rate * STEEP, 50)
    assert lowered(at(100), RefusalTally(40, 39)).rate >= 100 * STEEPEST


def test_what_a_lower_rate_does_not_lessen_was_chance() -> None:
    seen = ThrottledRate(87, round((NOW - 6) * 1000), limit=90, share=0.1)
    found = lowered(at(100, seen), RefusalTally(500, 50))
    assert (found.rate, found.limit, found.share) == (100, 100, 0)
    late = ThrottledRate(87, round((NOW - EFFECT - 1) * 1000), limit=90, share=0.1)
    assert lowered(at(100, late), RefusalTally(500, 75)).rate < 87


def test_a_rate_returns_at_once_to_what_was_taken_and_then_rises_with_care() -> None:
    some = ThrottledRate(10, round(NOW * 1000), limit=80, share=0.5)
    assert some.within(100, NOW + 15) > 20
    there = some.within(100, NOW + 31)
    assert BELOW * 80 <= there < 78
    assert some.within(100, NOW + 61) < 79
    assert ThrottledRate(10, round(NOW * 1000)).within(100, NOW + 31) < 11, "of which no limit is known"


def test_a_declared_rate_is_no_limit_that_was_found() -> None:
    before = ThrottledRate(90, round((NOW - EFFECT - 10) * 1000), limit=100)
    found = lowered(at(100, before), RefusalTally(3, 1))
    assert (found.rate, found.limit) == (90, 100), "it is back soon"
    seen = ThrottledRate(48, round((NOW - EFFECT - 10) * 1000), limit=50, share=0.5)
    assert lowered(replace(at(100, seen), rate=50), RefusalTally(300, 1)).limit == 45, "and here it rises with care"


@pytest.mark.parametrize(
    ("calls", "refused", "failed", "works"),
    [
        *[(0, 0, 0, False), (1, 0, 0, True), (1, 0, 1, False), (3, 3, 0, False), (10, 0, 5, True), (10, 0, 6, False)],
        *[(19, 0, 9, True), (20, 0, 6, True), (20, 0, 7, False), (23, 3, 7, False)],
    ],
)
def test_a_provider_works_if_most_of_many_calls_or_half_of_few_were_taken(
    calls: int, refused: int, failed: int, *, works: bool
) -> None:
    assert RefusalTally(calls, refused, failed).works == works
