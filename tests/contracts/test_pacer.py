"""The rule of slots, in memory and on DynamoDB."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.domain.pacing import HORIZON, pace
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import FakeStores, Stores


def test_the_first_slots_start_now_and_others_follow(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    first = stores.pacer.reserve("one", 9, p, lead=0.025)
    assert first.first == pytest.approx(clock.now() + 0.025, abs=1e-5)
    assert (first.count, first.spacing) == (9, p.spacing)
    second = stores.pacer.reserve("one", 2, p, lead=0.025)
    assert second.first == pytest.approx(first.at(9), abs=1e-5)
    third = stores.pacer.reserve("one", 1, p, lead=0.025)
    assert third.first == pytest.approx(second.at(2), abs=1e-5)


def test_credentials_do_not_share_slots(stores: Stores, clock: FakeClock) -> None:
    for name in ("one", "two"):
        assert stores.pacer.reserve(name, 9, pace(10, 1), lead=0).first == pytest.approx(clock.now(), abs=1e-5)


def test_slots_that_nobody_took_are_gone(stores: Stores, clock: FakeClock) -> None:
    stores.pacer.reserve("one", 9, pace(10, 1), lead=0)
    clock.advance(10)
    assert stores.pacer.reserve("one", 9, pace(10, 1), lead=0).first == pytest.approx(clock.now(), abs=1e-5)


def test_nobody_reserves_more_than_two_seconds_ahead(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    ahead = []
    for _ in range(12):
        slots = stores.pacer.reserve("one", 9, p, lead=0)
        ahead.append(slots.first - clock.now())
    assert max(ahead) <= HORIZON + 1e-3
    assert ahead[-1] > HORIZON - 0.1


def test_slots_that_come_too_late_are_left_to_others(stores: Stores, clock: FakeClock) -> None:
    p = pace(1, 1)
    taken = stores.pacer.reserve("one", 11, p, lead=0)
    now = clock.now()
    none = stores.pacer.reserve("one", 1, p, lead=0, until=now + 5)
    assert (none.count, clock.now()) == (0, now)
    assert none.first == pytest.approx(taken.at(11), abs=1e-5)
    assert stores.pacer.reserve("one", 1, p, lead=0, until=now + 12).first == pytest.approx(taken.at(11), abs=1e-5)


def test_a_reservation_whose_answer_was_lost_wastes_slots_and_no_more(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    first = stores.pacer.reserve("one", 2, p, lead=0)
    assert stores.pacer.reserve("one", 2, p, lead=0).first == pytest.approx(first.at(2), abs=1e-5)
    stores.tap.arm(0, When.REPEATED)
    assert stores.pacer.reserve("one", 2, p, lead=0).first == pytest.approx(first.at(6), abs=1e-5)
    assert stores.tap.fired == 1
    assert stores.pacer.reserve("one", 1, p, lead=0).first == pytest.approx(first.at(8), abs=1e-5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([1.0, 10.0, 14.0, 150.0, 1000.0]),
    st.lists(st.tuples(st.integers(1, 200), st.floats(0, 3), st.floats(0, 0.5)), min_size=1, max_size=15),
)
def test_slots_never_overlap(rate: float, asked: list[tuple[int, float, float]]) -> None:
    clock = FakeClock()
    pacer = FakeStores(clock).pacer
    p = pace(rate, 1)
    end = 0.0
    for k, pause, lead in asked:
        clock.advance(pause)
        slots = pacer.reserve("one", min(k, p.window), p, lead=lead)
        assert slots.first >= max(end - 2e-6, clock.now() + lead - 2e-6)
        end = slots.at(slots.count)
