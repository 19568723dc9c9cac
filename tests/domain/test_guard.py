"""The bounce guard's bounds: more than ten, and more than a tenth of what has a final word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.campaigns.bounce_guard import settled, trips
from shared.domain.jobs.states import COUNT_KEYS

FINAL = ("delivered", "failed", "relayed")
amounts = st.fixed_dictionaries({k: st.integers(0, 2_000) for k in COUNT_KEYS})


def counts(bounced: int, **others: int) -> dict[str, int]:
    return dict.fromkeys(COUNT_KEYS, 0) | {"bounced": bounced} | others


@pytest.mark.parametrize("where", FINAL)
@pytest.mark.parametrize(
    ("bounced", "final", "stops"),
    [(10, 50, False), (10, 10, False), (11, 110, False), (11, 109, True), (11, 11, True), (1001, 10_009, True)],
)
def test_its_bounds_are_exact(where: str, bounced: int, final: int, stops: bool) -> None:  # noqa: FBT001 - a table
    assert trips(counts(bounced, **{where: final - bounced})) is stops


@given(amounts)
def test_it_stops_by_both_bounds_and_nothing_else(seen: dict[str, int]) -> None:
    final = sum(seen[k] for k in (*FINAL, "bounced"))
    assert settled(seen) == final
    assert trips(seen) == (seen["bounced"] > 10 and seen["bounced"] > final / 10)


@given(amounts, st.sampled_from(sorted(set(COUNT_KEYS) - {*FINAL, "bounced"})), st.integers(0, 10_000))
def test_messages_without_a_final_word_do_not_count(seen: dict[str, int], key: str, more: int) -> None:
    assert trips(seen) == trips(seen | {key: more})


@given(amounts, st.sampled_from(FINAL), st.integers(1, 100))
def test_good_news_never_stops_and_bad_news_never_lets_go(seen: dict[str, int], key: str, more: int) -> None:
    assert trips(seen) or not trips(seen | {key: seen[key] + more})
    assert trips(seen | {"bounced": seen["bounced"] + more}) or not trips(seen)
