import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.lanes.pacing import HORIZON, LATE, SKEW, WINDOW, Slots, pace


@pytest.mark.parametrize(
    ("rate", "per_call", "slots", "window"),
    [(1, 1, 0.97, 1), (10, 1, 9.7, 9), (14, 1, 13.58, 10), (150, 6, 142.0176, 35), (1000, 40, 941.2341, WINDOW)],
)
def test_the_pace_of_a_rate(rate: float, per_call: int, slots: float, window: int) -> None:
    got = pace(rate, 1000)
    assert (got.rate, got.per_call, got.window) == (rate, per_call, window)
    assert got.slots == pytest.approx(slots)
    assert got.spacing == pytest.approx(1 / slots)


@pytest.mark.parametrize(
    ("rate", "window", "room"),
    [
        (0.5, 1, 1),
        (5, 4, 4),
        (20, 10, 19),
        (41, 10, 39),
        (46, 11, 44),
        (200, 48, 194),
        (206, 49, 199),
        (207, 50, 200),
        (824, 199, 200),
        (825, 200, 200),
        (40_000, 200, 200),
    ],
)
def test_a_window_is_a_quarter_of_a_second_or_ten_and_never_more_than_a_second(
    rate: float, window: int, room: int
) -> None:
    got = pace(rate, 1)
    assert (got.window, got.room) == (window, room)


@pytest.mark.parametrize(
    ("limit", "bound", "expected", "slots"),
    [(1, 0, 1, 970), (1000, 1, 1, 941.2341), (20, 0, 20, 960.8227), (1000, 30, 30, 941.2341)],
)
def test_provider_and_operator_bound_a_call(limit: int, bound: int, expected: int, slots: float) -> None:
    got = pace(1000, limit, bound)
    assert got.per_call == expected
    assert got.slots == pytest.approx(slots)


def test_a_jobs_own_rate_makes_its_windows_take_turns_and_its_slots_no_dearer() -> None:
    got = pace(1000, 1000, job_rate=10)
    assert (got.per_call, got.window) == (1, 10)
    assert got.slots == pace(1000, 1000).slots
    assert got.period == pytest.approx(10 / 9.7)
    assert pace(10, 1, job_rate=1000) == pace(10, 1)


@given(st.floats(0.1, 5000), st.integers(1, 1000), st.integers(0, 1000))
def test_a_full_second_of_calls_never_exceeds_the_rate(rate: float, limit: int, per_call: int) -> None:
    p = pace(rate, limit, per_call)
    assert p.slots < rate
    assert 1 <= p.window <= p.room <= WINDOW
    # The first call is late and the last one's clock ahead; the calls between are of any size.
    within = p.slots * (1 + LATE + SKEW)
    assert p.per_call == 1 or within + p.per_call < rate + 1


@given(st.floats(1, 5000), st.integers(1, 1000), st.integers(0, 1000), st.one_of(st.none(), st.floats(0.1, 5000)))
def test_the_operators_bound_makes_calls_smaller_and_not_faster(
    rate: float, limit: int, bound: int, job_rate: float | None
) -> None:
    free = pace(rate, limit, job_rate=job_rate)
    bounded = pace(rate, limit, bound, job_rate)
    assert bounded.slots == free.slots
    assert bounded.per_call == min(free.per_call, bound or free.per_call)
    assert free.per_call <= max(1, rate / 25)
    assert free.slots >= 0.93 * min(rate, job_rate or rate)


@given(st.floats(1, 50_000), st.integers(1, 200), st.one_of(st.none(), st.floats(0.5, 50_000)))
def test_lateness_is_let_pass_only_where_it_cannot_exceed_the_rate(
    rate: float, leases: int, job_rate: float | None
) -> None:
    """Of all leases of a credential each may be late with a whole window, whatever job its own slots are for."""
    whole = pace(rate, 1, leases=leases)
    for p in (whole, pace(rate, 1, job_rate=job_rate, leases=leases)):
        assert p.late in (LATE, HORIZON)
        if p.late == HORIZON:
            assert leases * whole.room + whole.slots * 1.01 <= rate
    assert pace(rate, 1).late == LATE


def test_a_fast_credential_with_few_leases_burns_no_slot() -> None:
    assert pace(40_000, 1, leases=4).late == HORIZON
    assert pace(20_000, 1, leases=4).late == LATE


def test_slots_follow_each_other() -> None:
    slots = Slots(100.0, 0.5, 3)
    assert [slots.at(i) for i in range(3)] == [100.0, 100.5, 101.0]
