"""The rule of slots, in memory and on DynamoDB."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.adapters.dynamo import keys
from shared.domain.lanes.pacing import HORIZON, NEAR, PATIENCE, pace
from shared.domain.lanes.switches import AS_DECLARED, Switches
from tests.fakes.clock import FakeClock
from tests.fakes.faults import When
from tests.fakes.stores import FakeStores, Stores
from tests.fakes.tables import MotoStores
from tests.tiers import examples


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


def test_unused_slots_are_lost(stores: Stores, clock: FakeClock) -> None:
    stores.pacer.reserve("one", 9, pace(10, 1), lead=0)
    clock.advance(10)
    assert stores.pacer.reserve("one", 9, pace(10, 1), lead=0).first == pytest.approx(clock.now(), abs=1e-5)


def test_reservations_reach_at_most_two_seconds_ahead(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    ahead = []
    for _ in range(12):
        slots = stores.pacer.reserve("one", 9, p, lead=0)
        ahead.append(slots.first - clock.now())
    assert max(ahead) <= HORIZON + 1e-3
    assert ahead[-1] > HORIZON - 0.1


def test_large_jobs_reserve_less_ahead_until_they_have_waited(stores: Stores, clock: FakeClock) -> None:
    small, large = pace(10, 1), replace(pace(10, 1), yields=True)
    stores.pacer.reserve("one", 9, small, lead=0)
    begun = clock.now()
    slots = stores.pacer.reserve("one", 1, large, lead=0)
    assert slots.first - clock.now() == pytest.approx(NEAR, abs=0.01)
    assert clock.now() - begun == pytest.approx(9 * small.spacing - NEAR, abs=0.01)
    stores.pacer.reserve("two", 38, small, lead=0)
    begun = clock.now()
    patient = stores.pacer.reserve("two", 1, large, lead=0)
    assert clock.now() - begun == pytest.approx(38 * small.spacing - NEAR, abs=0.01)
    assert patient.first - clock.now() == pytest.approx(NEAR, abs=0.01)


def test_large_jobs_are_served_like_others_once_they_have_waited(stores: Stores, clock: FakeClock) -> None:
    """Small jobs that never end keep the credential reserved further ahead than large ones may reserve."""
    assert pace(10, 1).ahead(0) == HORIZON
    large = replace(pace(10, 1), yields=True)
    assert [large.ahead(waited) for waited in (0, PATIENCE - 0.01, PATIENCE)] == [NEAR, NEAR, HORIZON]


def test_slots_that_come_too_late_are_left_to_others(stores: Stores, clock: FakeClock) -> None:
    p = pace(1, 1)
    taken = stores.pacer.reserve("one", 11, p, lead=0)
    now = clock.now()
    none = stores.pacer.reserve("one", 1, p, lead=0, until=now + 5)
    assert (none.count, clock.now()) == (0, now)
    assert none.first == pytest.approx(taken.at(11), abs=1e-5)
    assert stores.pacer.reserve("one", 1, p, lead=0, until=now + 12).first == pytest.approx(taken.at(11), abs=1e-5)


def test_a_credential_that_is_paused_gives_no_slots_and_says_so(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    stores.switch("one", Switches(paused=True))
    for rate in (p, pace(10, 1, present=5)):
        none = stores.pacer.reserve("one", 1, rate, lead=0)
        assert (none.count, none.switches) == (0, Switches(paused=True))
    stores.switch("one", AS_DECLARED)
    got = stores.pacer.reserve("one", 1, p, lead=0)
    assert (got.count, got.switches) == (1, None)
    assert got.first == pytest.approx(clock.now(), abs=1e-5), "who was refused has taken nothing"


@pytest.mark.promise(2)
def test_no_slot_is_given_out_at_a_rate_that_is_not_the_present_one(stores: Stores, clock: FakeClock) -> None:
    old = stores.pacer.reserve("one", 7, pace(10, 1), lead=0)
    for _ in range(2):
        stores.pacer.reserve("one", 1, pace(10, 1), lead=0)  # whoever reserves knows that others' slots are ahead
    stores.switch("one", Switches(rate=2.5))
    none = stores.pacer.reserve("one", 9, pace(10, 1), lead=0)
    assert (none.count, none.switches) == (0, Switches(rate=2.5))
    slower = pace(10, 1, present=2.5)
    assert slower.rate == 2.5
    assert slower.spacing == pytest.approx(1 / (0.97 * 2.5))
    got = stores.pacer.reserve("one", 2, slower, lead=0)
    assert got.first == pytest.approx(old.at(9), abs=1e-5)
    again = stores.pacer.reserve("one", 1, slower, lead=0)
    assert again.first == pytest.approx(got.at(2), abs=1e-5)
    stores.switch("one", Switches(rate=4))
    assert stores.pacer.reserve("one", 1, slower, lead=0).switches == Switches(rate=4)
    stores.switch("one", AS_DECLARED)
    assert stores.pacer.reserve("one", 1, slower, lead=0).switches == AS_DECLARED
    assert stores.pacer.reserve("one", 1, pace(10, 1), lead=0).count == 1


def test_a_pause_and_a_rate_are_read_together(stores: Stores) -> None:
    stores.switch("one", Switches(paused=True, rate=3))
    assert stores.pacer.reserve("one", 1, pace(10, 1), lead=0).switches == Switches(paused=True, rate=3)


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ({"N": "0"}, Switches(paused=True)),
        ({"N": "-5"}, Switches(paused=True)),
        ({"S": "fast"}, Switches(paused=True)),
        ({"N": "33.333333333333333333333333333333333333"}, Switches(rate=33.333333333333336)),
        ({"N": "1E+30"}, Switches(rate=1e30)),
    ],
)
def test_whatever_somebody_writes_by_hand_is_never_faster(
    moto_dynamo: Any, clock: FakeClock, stored: dict[str, str], told: Switches
) -> None:
    stores = MotoStores(moto_dynamo, clock)
    moto_dynamo.put_item(TableName=stores.tables.ops, Item={**keys.pacer("one"), "rate": stored})
    assert stores.pacer.reserve("one", 1, pace(10, 1), lead=0).switches == told
    if told.rate:
        at = pace(10, 1, present=told.rate)
        assert at.rate == 10
        assert stores.pacer.reserve("one", 1, at, lead=0).count == 1


def test_a_reservation_whose_answer_was_lost_wastes_slots_and_no_more(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    first = stores.pacer.reserve("one", 2, p, lead=0)
    assert stores.pacer.reserve("one", 2, p, lead=0).first == pytest.approx(first.at(2), abs=1e-5)
    stores.tap.arm(0, When.REPEATED)
    assert stores.pacer.reserve("one", 2, p, lead=0).first == pytest.approx(first.at(6), abs=1e-5)
    assert stores.tap.fired == 1
    assert stores.pacer.reserve("one", 1, p, lead=0).first == pytest.approx(first.at(8), abs=1e-5)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
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
