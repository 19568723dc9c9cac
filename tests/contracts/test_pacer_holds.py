"""What a provider's refusals, jobs' own rates and wrong clocks do to slots, in memory and on DynamoDB."""

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import answered_at
from shared.adapters.dynamo.credentials.pacer import DynamoPacer
from shared.adapters.dynamo.credentials.tallies import CALLS, REFUSED
from shared.domain.lanes.pacing import HORIZON, OWN_WAIT, WRONG, Pace, pace
from shared.domain.lanes.refusals import GENTLE, NO_CALLS, STEEP, RefusalTally
from shared.domain.lanes.switches import AS_DECLARED, DOUBLING, NOT_LOWERED, Switches, ThrottledRate
from shared.ports import Clock, Retriable
from tests.fakes.clock import FakeClock, SkewedClock
from tests.fakes.queues import FakePacer
from tests.fakes.stores import Stores
from tests.fakes.tables import MotoStores

FIRST = RefusalTally(1, 1)
JOB, OTHER = "j" * 20 + "abcdef", "j" * 20 + "ghijkl"


def refused(p: Pace, clock: Clock, wait: float, tally: RefusalTally = FIRST) -> ThrottledRate:
    """Return what is left of a rate after a refusal that lowers it."""
    lowered = p.refused(clock.now(), wait, tally)
    assert lowered is not None
    return lowered


@pytest.mark.promise(2)
def test_a_lowered_rate_slows_all_workers_at_their_next_reservation(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    stores.pacer.reserve("one", 4, p, lead=0)
    lowered = refused(p, clock, 1.5)
    assert lowered == ThrottledRate(10 * GENTLE, clock.ms + 1500, limit=10)
    assert stores.pacer.lower("one", lowered, p.lowered) == lowered
    none = stores.pacer.reserve("one", 4, p, lead=0)
    assert (none.count, none.switches) == (0, Switches(lowered=lowered))
    slower = pace(10, 1, lowered=lowered, now=clock.now())
    assert (slower.rate, slower.window) == (9, 8)
    hold = lowered.until / 1000
    got = stores.pacer.reserve("one", 4, slower, lead=0)
    assert got.first == pytest.approx(hold, abs=2e-3)
    assert stores.pacer.reserve("one", 1, slower, lead=0).first == pytest.approx(got.at(4), abs=1e-5)


def test_a_rate_is_lowered_once_for_all_calls_that_were_on_their_way(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    first = stores.pacer.lower("one", refused(p, clock, 1), p.lowered)
    clock.advance(0.2)
    assert stores.pacer.lower("one", refused(p, clock, 1), p.lowered) == first
    again = pace(10, 1, lowered=first, now=clock.now())
    steeper = refused(again, clock, 1, RefusalTally(4, 4))
    assert steeper.rate == pytest.approx(10 * GENTLE * STEEP)
    assert stores.pacer.lower("one", steeper, again.lowered) == steeper
    assert stores.pacer.lower("one", steeper, p.lowered) == steeper, "an old refusal changes nothing"


def test_calls_that_any_worker_tells_are_counted_for_all_until_they_are_old(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    other = _pacer(stores, clock)
    assert stores.pacer.reserve("one", 1, p, lead=0, ended=RefusalTally(30, 1)).tally == RefusalTally(30, 1)
    assert other.reserve("one", 1, p, lead=0).tally == RefusalTally(30, 1)
    assert other.reserve("one", 1, p, lead=0, ended=RefusalTally(20, 2)).tally == RefusalTally(50, 3)
    clock.advance(p.judged)
    assert other.reserve("one", 1, p, lead=0, ended=RefusalTally(1, 0)).tally == RefusalTally(51, 3)
    clock.advance(p.judged)
    assert stores.pacer.reserve("one", 1, p, lead=0).tally == RefusalTally(1, 0)


def test_calls_of_before_a_hold_do_not_count_after_it(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    stores.pacer.reserve("one", 1, p, lead=0, ended=RefusalTally(30, 15))
    lowered = stores.pacer.lower("one", refused(p, clock, 1, RefusalTally(31, 16)), p.lowered)
    slower = pace(10, 1, lowered=lowered, now=clock.now())
    assert stores.pacer.reserve("one", 1, slower, lead=0).tally == NO_CALLS
    clock.advance(1)
    assert stores.pacer.reserve("one", 1, slower, lead=0, ended=RefusalTally(9, 1)).tally == RefusalTally(9, 1)


def test_a_hold_that_outlasts_the_lease_gives_no_slots(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    lowered = stores.pacer.lower("one", refused(p, clock, 300), p.lowered)
    held = pace(10, 1, lowered=lowered, now=clock.now())
    now = clock.now()
    none = stores.pacer.reserve("one", 1, held, lead=0, until=now + 60)
    assert (none.count, none.switches, clock.now()) == (0, None, now)
    assert none.first == pytest.approx(now + 300, abs=2e-3)
    got = stores.pacer.reserve("one", 1, held, lead=0, until=now + 301)
    assert got.first == pytest.approx(now + 300, abs=2e-3)
    assert clock.now() == pytest.approx(now + 300 - HORIZON, abs=2e-3)


def test_a_rate_that_has_recovered_is_forgotten_by_the_next_reservation(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    lowered = stores.pacer.lower("one", refused(p, clock, 1), p.lowered)
    clock.advance(1 + DOUBLING)
    whole = pace(10, 1, lowered=lowered, now=clock.now())
    assert (whole.rate, whole.recovered(clock.now())) == (10, True)
    assert stores.pacer.reserve("one", 1, whole, lead=0).count == 1
    assert stores.pacer.reserve("one", 1, p, lead=0).count == 1, "who knows of no lowered rate is not refused"


def test_the_share_that_showed_a_limit_stays_while_the_rate_is_lowered_and_goes_with_it(
    stores: Stores, clock: FakeClock
) -> None:
    p = pace(10, 1)
    shown = stores.pacer.lower("one", replace(refused(p, clock, 1), share=0.5), p.lowered)
    clock.advance(1)
    slower = pace(10, 1, lowered=shown, now=clock.now())
    for _ in range(3):
        assert stores.pacer.reserve("one", 1, slower, lead=0, ended=RefusalTally(9, 1)).count == 1
        clock.advance(2 * slower.judged)
    assert stores.pacer.reserve("one", 1, p, lead=0).switches == Switches(lowered=shown)
    clock.advance(DOUBLING)
    whole = pace(10, 1, lowered=shown, now=clock.now())
    assert stores.pacer.reserve("one", 1, whole, lead=0).count == 1
    assert stores.pacer.reserve("one", 1, p, lead=0).count == 1


def test_a_rate_set_by_operators_replaces_a_lowered_one(stores: Stores, clock: FakeClock) -> None:
    p = pace(10, 1)
    stores.pacer.lower("one", refused(p, clock, 900), p.lowered)
    clock.advance(1)
    stores.switch("one", Switches(rate=4))
    none = stores.pacer.reserve("one", 1, p, lead=0)
    assert none.switches == Switches(rate=4)
    stores.switch("one", AS_DECLARED)
    assert stores.pacer.reserve("one", 1, p, lead=0).first == pytest.approx(clock.now(), abs=1e-5)


@pytest.mark.promise(2)
def test_a_job_with_its_own_rate_waits_for_its_turn_and_costs_others_only_its_slots(
    stores: Stores, clock: FakeClock
) -> None:
    p, slow = pace(100, 1), pace(100, 1, job_rate=0.5)
    first = stores.pacer.reserve("one", 1, slow, lead=0, job=JOB)
    plain = stores.pacer.reserve("one", 50, p, lead=0)
    assert plain.first == pytest.approx(first.at(1), abs=1e-5), "one slot, not two seconds of them"
    other = stores.pacer.reserve("one", 1, slow, lead=0, job=OTHER)
    assert other.first == pytest.approx(plain.at(50), abs=1e-5), "each job has a clock of its own"
    again = stores.pacer.reserve("one", 1, slow, lead=0, job=JOB)
    assert again.first == pytest.approx(first.first + slow.period, abs=1e-5)
    stores.pacer.reserve("one", 150, p, lead=0)
    clock.advance(slow.period - 0.5)
    behind = stores.pacer.reserve("one", 90, p, lead=0)
    third = stores.pacer.reserve("one", 1, slow, lead=0, job=JOB)
    assert third.first >= max(again.first + slow.period, behind.at(90)) - 1e-5


def test_a_turn_that_is_far_away_is_not_waited_for(stores: Stores, clock: FakeClock) -> None:
    slow = pace(100, 1, job_rate=0.1)
    first = stores.pacer.reserve("one", 1, slow, lead=0, job=JOB)
    now = clock.now()
    none = stores.pacer.reserve("one", 1, slow, lead=0, job=JOB)
    assert (none.count, none.switches, clock.now()) == (0, None, now)
    assert none.first == pytest.approx(first.first + slow.period, abs=1e-5)
    clock.advance(slow.period - OWN_WAIT + 0.1)
    assert stores.pacer.reserve("one", 1, slow, lead=0, job=JOB).first == pytest.approx(none.first, abs=1e-5)


@pytest.mark.promise(4)
@pytest.mark.parametrize("rate", [100, 1, 0.02])
def test_slots_that_a_wrong_clock_put_hours_ahead_are_pulled_back(
    stores: Stores, clock: FakeClock, rate: float
) -> None:
    p = pace(rate, 1)
    there = SkewedClock(clock, 3 * 3600)
    wrong = _pacer(stores, there).reserve("one", p.window, p, lead=0)
    now = clock.now()
    got = stores.pacer.reserve("one", 1, p, lead=0)
    assert got.count == 1
    assert got.first - now <= 60 + 51, "not hours"
    assert got.first >= wrong.at(wrong.count) - 3 * 3600 - 1e-5, "after all that the wrong clock may still use"
    assert stores.pacer.skew() == pytest.approx(3 * 3600, abs=60)
    assert stores.pacer.skew() == 0
    assert stores.pacer.reserve("one", 1, p, lead=0).first == pytest.approx(got.at(1), abs=1e-5)


def test_slots_as_far_ahead_as_the_rules_allow_are_left_where_they_are(stores: Stores, clock: FakeClock) -> None:
    slowest = pace(0.02, 1)
    first = stores.pacer.reserve("one", 24 + 23, slowest, lead=0)
    none = stores.pacer.reserve("one", 1, slowest, lead=0, until=clock.now() + 60)
    assert none.first == pytest.approx(first.at(47), abs=1e-4)


@pytest.mark.promise(4)
def test_a_hold_and_a_jobs_turn_by_a_wrong_clock_are_pulled_back_too(stores: Stores, clock: FakeClock) -> None:
    p, slow = pace(10, 1), pace(10, 1, job_rate=1)
    ahead = SkewedClock(clock, 7200)
    wrong = _pacer(stores, ahead)
    wrong.reserve("one", 1, slow, lead=0, job=JOB)
    wrong.lower("one", refused(p, ahead, 1), NOT_LOWERED)
    now = clock.now()
    got = stores.pacer.reserve("one", 1, slow, lead=0, job=JOB)
    assert (got.count, got.switches) == (1, None)
    assert got.first - now < 5


@pytest.mark.promise(2)
@pytest.mark.parametrize("off", [2 * 3600.0, -2 * 3600.0, WRONG + 1])
def test_a_process_whose_clock_is_wrong_gets_no_slots_and_pulls_none_back(
    stores: Stores, clock: FakeClock, off: float
) -> None:
    p = pace(10, 1)
    before = stores.pacer.reserve("one", 9, p, lead=0)
    with pytest.raises(Retriable):
        _pacer(stores, SkewedClock(clock, off), judge=clock).reserve("one", 1, p, lead=0)
    got = stores.pacer.reserve("one", 1, p, lead=0)
    assert got.first >= before.at(9) - 1e-5


def _pacer(stores: Stores, clock: Any, judge: FakeClock | None = None) -> Any:
    """Return the pacer of another process, with a clock of its own."""
    if isinstance(stores, MotoStores):
        return DynamoPacer(
            stores.dynamo, stores.tables.ops, clock, answered=lambda _answer: judge.now() if judge else None
        )
    return FakePacer.beside(stores.pacer, clock, judge)


def test_clocks_of_jobs_that_have_passed_do_not_fill_the_item(moto_dynamo: Any, clock: FakeClock) -> None:
    stores, slow = MotoStores(moto_dynamo, clock), pace(100, 1, job_rate=1)

    def clocks() -> int:
        item = moto_dynamo.get_item(TableName=stores.tables.ops, Key=keys.pacer("one"))["Item"]
        return sum(name.startswith("own_") for name in item)

    for n in range(6):
        stores.pacer.reserve("one", 1, slow, lead=0, job=f"{n:026}")
    assert clocks() == 6
    clock.advance(120)
    for n in range(8):
        clock.advance(2)
        stores.pacer.reserve("one", 1, slow if n % 2 else pace(100, 1), lead=0, job=JOB)
    assert clocks() == 1


def test_counts_of_calls_do_not_fill_the_item(moto_dynamo: Any, clock: FakeClock) -> None:
    stores, p = MotoStores(moto_dynamo, clock), pace(10, 1)
    for n in range(1, 9):
        stores.pacer.reserve("one", 1, p, lead=0, ended=RefusalTally(9, 1))
        clock.advance(p.judged * n)
    item = moto_dynamo.get_item(TableName=stores.tables.ops, Key=keys.pacer("one"))["Item"]
    assert len([name for name in item if name.startswith((CALLS, REFUSED))]) <= 4


@pytest.mark.parametrize(
    "attributes",
    [
        {"lowered": {"N": "-3"}, "hold_until": {"N": "1"}},
        {"lowered": {"S": "slow"}, "hold_until": {"N": "1"}},
        {"lowered": {"N": "3"}},
        {"hold_until": {"N": "0"}},
    ],
)
def test_half_of_a_lowered_rate_or_none_is_as_if_there_were_none(
    moto_dynamo: Any, clock: FakeClock, attributes: dict[str, dict[str, str]]
) -> None:
    stores = MotoStores(moto_dynamo, clock)
    moto_dynamo.put_item(TableName=stores.tables.ops, Item={**keys.pacer("one"), **attributes})
    p = pace(10, 1)
    got = stores.pacer.reserve("one", 1, p, lead=0)
    if got.switches is not None:
        got = stores.pacer.reserve("one", 1, replace(p, lowered=got.switches.lowered), lead=0)
    assert got.count == 1


def test_a_deployed_process_is_judged_by_the_date_of_awss_answers() -> None:
    dated = {"ResponseMetadata": {"HTTPHeaders": {"date": "Sun, 22 Nov 2026 10:00:00 GMT"}}}
    assert answered_at(dated) == 1795341600.0
    assert answered_at({}) is None
    assert answered_at({"ResponseMetadata": {"HTTPHeaders": {"date": "soon"}}}) is None


def test_all_workers_learn_how_many_calls_failed(stores: Stores, clock: FakeClock) -> None:
    p = pace(100, 1)
    assert not stores.pacer.reserve("one", 1, p, lead=0).tally.works, "nothing is known"
    assert stores.pacer.reserve("one", 1, p, lead=0, ended=RefusalTally(19, 0, 6)).tally.works
    assert stores.pacer.reserve("one", 1, p, lead=0, ended=RefusalTally(5, 4)).tally == RefusalTally(24, 4, 6)
    assert stores.pacer.reserve("one", 1, p, lead=0).tally.works
    assert not stores.pacer.reserve("one", 1, p, lead=0, ended=RefusalTally(2, 0, 2)).tally.works
    clock.advance(3 * p.judged)
    assert stores.pacer.reserve("one", 1, p, lead=0).tally == NO_CALLS
