"""Quotas where slots are reserved, in memory and on DynamoDB."""

from datetime import UTC, datetime
from typing import Any, Final

import pytest

from shared.adapters.dynamo import keys
from shared.contracts import CredentialQuota, Per, Warmup
from shared.domain.lanes.lease_hints import MOST_BESIDE_QUOTAS, LeaseHint
from shared.domain.lanes.pacing import Slots, pace
from shared.domain.lanes.periods import BUCKET, ends
from shared.domain.lanes.quotas import GUARD, UNBOUNDED, Spend, Unused
from shared.domain.lanes.refusals import RefusalTally
from tests.fakes.clock import FakeClock
from tests.fakes.stores import Stores
from tests.fakes.tables import MotoStores

HOURLY: Final = (CredentialQuota(10, Per.HOUR),)
SLIDING: Final = (CredentialQuota(10, Per.SLIDING),)
ALL: Final = (
    *HOURLY,
    CredentialQuota(25, Per.DAY, "Europe/Paris"),
    CredentialQuota(40, Per.MONTH),
    CredentialQuota(30, Per.SLIDING),
)
PACE: Final = pace(100, 1)


def reserve(stores: Stores, units: int, quotas: tuple[CredentialQuota, ...], unused: Unused = Unused()) -> Slots:  # noqa: B008
    return stores.pacer.reserve("one", units, PACE, lead=0, spend=Spend(quotas, units, unused=unused))


@pytest.mark.promise(2)
@pytest.mark.parametrize("quotas", [HOURLY, SLIDING, ALL])
def test_no_more_than_the_quota_is_reserved(
    stores: Stores, clock: FakeClock, quotas: tuple[CredentialQuota, ...]
) -> None:
    assert reserve(stores, 6, quotas).room.left == 4
    little = reserve(stores, 5, quotas)
    assert (little.count, little.room.left, little.room.until) == (0, 4, 0), "less is left, and the lane is not full"
    assert reserve(stores, 4, quotas).count == 4
    full = reserve(stores, 1, quotas)
    assert full.count == 0
    assert full.room.until > clock.ms
    assert stores.holds.read("a", "one").at(clock.ms).paused


def test_a_full_lane_is_open_again_in_the_next_period(stores: Stores, clock: FakeClock) -> None:
    assert reserve(stores, 10, HOURLY).count == 10
    until = reserve(stores, 1, HOURLY).room.until / 1000
    assert until == pytest.approx(ends(Per.HOUR, "UTC", clock.now()) + GUARD, abs=0.01)
    clock.advance(until - clock.now() - 0.5)
    assert reserve(stores, 1, HOURLY).count == 0
    clock.advance(1)
    hold = stores.holds.read("a", "one").at(clock.ms)
    assert (hold.paused, hold.resumed_at) == (False, round(until * 1000))
    assert reserve(stores, 10, HOURLY).count == 10


@pytest.mark.promise(2)
def test_a_day_of_a_warmup_has_its_own_size(stores: Stores, clock: FakeClock) -> None:
    today = datetime.fromtimestamp(clock.now(), UTC).date()
    quotas = (CredentialQuota(10, Per.DAY, "UTC", Warmup(today, (3, 5))),)
    for size in (3, 5, 10, 10):
        assert reserve(stores, size, quotas).count == size
        full = reserve(stores, 1, quotas).room
        assert full.until / 1000 == pytest.approx(ends(Per.DAY, "UTC", clock.now()) + GUARD, abs=0.01)
        clock.advance(full.until / 1000 - clock.now() + 1)


def test_24_hours_slide(stores: Stores, clock: FakeClock) -> None:
    for _ in range(2):
        assert reserve(stores, 5, SLIDING).count == 5
        clock.advance(6 * 3600)
    full = reserve(stores, 1, SLIDING)
    assert full.count == 0
    clock.advance(12 * 3600 - 60)
    assert reserve(stores, 1, SLIDING).count == 0
    clock.advance(60 + BUCKET + 2 * GUARD)
    assert reserve(stores, 5, SLIDING).count == 5
    assert reserve(stores, 1, SLIDING).count == 0


def test_units_that_no_call_used_are_used_first(stores: Stores) -> None:
    first = reserve(stores, 10, ALL[:1])
    assert first.counters
    again = reserve(stores, 3, HOURLY, Unused(3, first.counters))
    assert (again.count, again.room.left) == (3, 0)


@pytest.mark.parametrize("quotas", [HOURLY, SLIDING, ALL])
def test_what_is_given_back_may_be_sent_and_opens_the_lane(
    stores: Stores, clock: FakeClock, quotas: tuple[CredentialQuota, ...]
) -> None:
    first = reserve(stores, 10, quotas)
    assert reserve(stores, 1, quotas).count == 0
    stores.pacer.give_back("one", Unused(4, first.counters))
    assert not stores.holds.read("a", "one").at(clock.ms).paused
    assert reserve(stores, 5, quotas).count == 0
    assert reserve(stores, 4, quotas).count == 4


def test_what_is_given_back_late_changes_no_later_period(stores: Stores, clock: FakeClock) -> None:
    first = reserve(stores, 10, ALL)
    clock.advance(3600 + 2 * GUARD)
    assert reserve(stores, 5, ALL).count == 5
    stores.pacer.give_back("one", Unused(10, first.counters))
    spend = Spend(ALL, 1)
    assert stores.pacer.room("one", spend).left == 5, "the hour's quota is what it was; the day has got ten back"
    assert reserve(stores, 6, ALL).count == 0


def test_a_lane_that_its_provider_calls_full_gives_no_slots_to_messages(stores: Stores, clock: FakeClock) -> None:
    stores.pacer.fill("one", clock.ms + 60_000, 1)
    stores.pacer.fill("one", clock.ms + 30_000, 2)
    none = reserve(stores, 1, ())
    assert (none.count, none.room.until, none.room.step) == (0, clock.ms + 60_000, 1)
    assert stores.pacer.reserve("one", 1, PACE, lead=0).count == 1, "a question is no message"
    clock.advance(61)
    again = reserve(stores, 1, ())
    assert (again.count, again.room.step) == (1, 1)


def test_a_lane_that_its_provider_calls_full_is_not_opened_by_what_is_given_back(
    stores: Stores, clock: FakeClock
) -> None:
    first = reserve(stores, 3, HOURLY)
    stores.pacer.fill("one", clock.ms + 60_000, 1)
    stores.pacer.give_back("one", Unused(1, first.counters))
    assert reserve(stores, 1, HOURLY).count == 0


def test_without_quotas_nothing_is_stored(moto_dynamo: Any, clock: FakeClock) -> None:
    stores = MotoStores(moto_dynamo, clock)
    assert reserve(stores, 1, ()).room == UNBOUNDED
    item = moto_dynamo.get_item(TableName=stores.tables.ops, Key=keys.pacer("one"))["Item"]
    assert set(item) == {"pk", "sk", "tat"}


def test_with_all_quotas_and_all_hints_it_is_one_write_unit(moto_dynamo: Any, clock: FakeClock) -> None:
    """At two million messages a day, with calls counted, jobs' clocks, and the end of an hour near."""
    stores = MotoStores(moto_dynamo, clock)
    quotas = tuple(CredentialQuota(10**9, per, zone) for per, zone in [(Per.HOUR, "Europe/Paris"), (Per.DAY, "UTC")])
    quotas += (CredentialQuota(10**9, Per.MONTH), CredentialQuota(10**9, Per.SLIDING))
    name = "sendgrid-main-of-the-country"
    most = 0
    for n in range(90):
        hint = LeaseHint(f"abcdef{n % 12}", "j" * 26, n, 5)
        for job in ("aaaaaa", "bbbbbb"):
            slow = pace(100, 1, job_rate=10)
            spend = Spend(quotas, 13_000)
            tally = RefusalTally(100, 3, 2)
            got = stores.pacer.reserve(name, 5, slow, lead=0, job=job, hint=hint, ended=tally, spend=spend)
            assert got.count == 5
        item = moto_dynamo.get_item(TableName=stores.tables.ops, Key=keys.pacer(name))["Item"]
        most = max(most, sum(len(x) + len(str(*v.values())) for x, v in item.items()))
        clock.advance(BUCKET - 0.01)
    assert sum(x.startswith("at_") for x in item) == MOST_BESIDE_QUOTAS
    assert most <= 1024
