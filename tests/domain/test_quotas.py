"""Periods of quotas, and what reservations count."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import CredentialQuota, Per, Warmup
from shared.domain.lanes.periods import BUCKET, BUCKETS, ends, label
from shared.domain.lanes.quotas import (
    GUARD,
    NONE_UNUSED,
    RING,
    Spend,
    Unused,
    book,
    given_back,
    room,
    stale,
)

ZONES: Final = sorted(available_timezones())
CALENDAR: Final = (Per.HOUR, Per.DAY, Per.MONTH)
DAY: Final = 86_400.0
NOW: Final = 1_790_000_000.0
PARIS_TWICE: Final = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Paris")).timestamp()
"""Half past two, the first of two."""


def at(zone: str, *wall: int) -> float:
    """Return a local time as Unix seconds."""
    return datetime(*wall, tzinfo=ZoneInfo(zone)).timestamp()  # type: ignore[arg-type, misc]


@given(st.sampled_from(ZONES), st.sampled_from(CALENDAR), st.floats(1.5e9, 2.2e9))
def test_a_period_ends_where_another_begins_in_every_zone(zone: str, per: Per, moment: float) -> None:
    end = ends(per, zone, moment)
    assert moment < end
    assert label(per, zone, end) != label(per, zone, moment)
    assert label(per, zone, end - 0.001) == label(per, zone, moment)


@pytest.mark.parametrize(
    ("per", "zone", "moment", "end"),
    [
        (Per.HOUR, "Europe/Paris", PARIS_TWICE, PARIS_TWICE + 5400),
        (Per.HOUR, "Asia/Kolkata", at("Asia/Kolkata", 2026, 5, 1, 9, 59), at("Asia/Kolkata", 2026, 5, 1, 10)),
        (Per.DAY, "Europe/Paris", PARIS_TWICE, at("Europe/Paris", 2026, 10, 26)),
        (Per.DAY, "America/Los_Angeles", at("UTC", 2026, 12, 1, 7, 59), at("UTC", 2026, 12, 1, 8)),
        (Per.DAY, "America/Havana", at("America/Havana", 2026, 3, 7, 22), at("UTC", 2026, 3, 8, 5)),
        (Per.MONTH, "UTC", at("UTC", 2026, 12, 31, 23), at("UTC", 2027, 1, 1)),
        (Per.MONTH, "Pacific/Auckland", at("UTC", 2026, 2, 28, 10), at("UTC", 2026, 2, 28, 11)),
    ],
)
def test_periods_end_by_the_local_clock(per: Per, zone: str, moment: float, end: float) -> None:
    assert ends(per, zone, moment) == end


def test_an_hour_that_is_there_twice_is_one_period() -> None:
    assert label(Per.HOUR, "Europe/Paris", PARIS_TWICE) == label(Per.HOUR, "Europe/Paris", PARIS_TWICE + 3600)


# Counting


class Provider:
    """What a provider counts: the moments of calls, and the worst of any period."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, int]] = []

    def worst(self, quota: CredentialQuota) -> int:
        """Return the most units of any period of a quota."""
        if quota.per is not Per.SLIDING:
            counted: Counter[str] = Counter()
            for moment, units in self.calls:
                counted[label(quota.per, quota.zone, moment)] += units
            return max(counted.values(), default=0)
        moments = [moment for moment, _ in self.calls]
        return max(
            (sum(units for _, units in self.calls[bisect_left(moments, end - DAY) : i + 1]))
            for i, end in enumerate(moments)
        )


def send_all(
    quotas: tuple[CredentialQuota, ...], steps: Sequence[tuple[float, int, float, int]], begin: float = NOW
) -> tuple[Provider, dict[str, int | str]]:
    """Have workers with wrong clocks reserve and call.

    Args:
        steps: of each, the seconds since the last, the units wanted, how much the worker's clock is off, and how many
            units are not called and given back.
    """
    now, stored, provider = begin, dict[str, int | str](), Provider()
    for passed, units, off, spared in steps:
        now += passed
        spend = Spend(quotas, units)
        booking = book(spend, now + off, now + off, stored)
        if booking is None or not booking.agrees(stored):
            left = room(spend, now + off, now + off, stored)
            assert left.left is not None
            assert left.left < units, "there was room, and no booking"
            continue
        stored = booking.applied(stored)
        provider.calls.append((now, units - min(spared, units)))
        unused = Unused(min(spared, units), booking.counters)
        for name, less in given_back(unused, stored).items() if unused.units else ():
            stored[name] = int(stored[name]) - less
    return provider, stored


steps = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 3.0, 60.0, 599.0, 1200.0, 1800.0, 4000.0, 40_000.0, 90_000.0]),
        st.integers(1, 12),
        st.floats(-2, 2),
        st.sampled_from([0, 0, 0, 1, 12]),
    ),
    min_size=1,
    max_size=120,
)


@pytest.mark.promise(2)
@given(st.sampled_from(["UTC", "Europe/Paris", "Australia/Lord_Howe", "Asia/Kathmandu"]), steps, st.floats(0, 2 * DAY))
def test_no_period_exceeds_its_quota_by_any_clock(
    zone: str, some: list[tuple[float, int, float, int]], shift: float
) -> None:
    quotas = (
        CredentialQuota(20, Per.HOUR, zone),
        CredentialQuota(40, Per.SLIDING),
        CredentialQuota(50, Per.DAY, zone),
        CredentialQuota(90, Per.MONTH, zone),
    )
    begin = at("Europe/Paris", 2026, 10, 24, 12) + shift
    provider, _ = send_all(quotas, some, begin)
    worst = {quota: provider.worst(quota) for quota in quotas if provider.calls}
    assert all(units <= quota.messages for quota, units in worst.items()), worst


WARMUP: Final = Warmup(date(2026, 10, 24), (5, 7, 11, 20))


@pytest.mark.promise(2)
@given(st.sampled_from(["UTC", "Europe/Paris", "Australia/Lord_Howe", "Asia/Kathmandu"]), steps, st.floats(0, 2 * DAY))
def test_no_day_of_a_warmup_exceeds_its_size_by_any_clock(
    zone: str, some: list[tuple[float, int, float, int]], shift: float
) -> None:
    quota = CredentialQuota(30, Per.DAY, zone, WARMUP)
    provider, _ = send_all((quota,), some, at("Europe/Paris", 2026, 10, 23, 12) + shift)
    counted: Counter[date] = Counter()
    for moment, units in provider.calls:
        counted[datetime.fromtimestamp(moment, ZoneInfo(zone)).date()] += units
    sizes = dict(zip((WARMUP.start + timedelta(days=n) for n in range(4)), WARMUP.days, strict=True))
    for day, units in counted.items():
        assert units <= (0 if day < WARMUP.start else sizes.get(day, 30)), day


def test_a_day_of_a_warmup_is_used_up_and_the_next_is_larger() -> None:
    quota = CredentialQuota(30, Per.DAY, "Europe/Paris", WARMUP)
    provider, _ = send_all((quota,), [(600.0, 1, 0.0, 0)] * (6 * 144), at("Europe/Paris", 2026, 10, 23, 0, 1))
    days = Counter(label(Per.DAY, "Europe/Paris", moment) for moment, _ in provider.calls)
    assert list(days.values()) == [5, 7, 11, 20, 30]
    assert next(iter(days)) == "20261024", "nothing comes before the first day"


def test_beside_midnight_units_count_in_both_days_of_a_warmup() -> None:
    quotas = (CredentialQuota(30, Per.DAY, "UTC", WARMUP),)
    midnight = at("UTC", 2026, 10, 25)
    booking = book(Spend(quotas, 3), midnight - 1, midnight - 1, {})
    assert booking is not None
    assert booking.most == {"used_day_20261024": 2, "used_day_20261025": 4}


@pytest.mark.promise(2)
@given(steps)
def test_no_24_hours_exceed_their_quota(some: list[tuple[float, int, float, int]]) -> None:
    quota = CredentialQuota(30, Per.SLIDING)
    provider, _ = send_all((quota,), some)
    assert not provider.calls or provider.worst(quota) <= 30


def test_a_quota_is_used_up_to_its_last_unit_and_no_further() -> None:
    quotas = (CredentialQuota(7, Per.HOUR), CredentialQuota(7, Per.SLIDING))
    provider, stored = send_all(quotas, [(0.0, 1, 0.0, 0)] * 20)
    assert sum(units for _, units in provider.calls) == 7
    left = room(Spend(quotas, 1), NOW, NOW, stored)
    assert left.left == 0
    assert left.until / 1000 >= ends(Per.HOUR, "UTC", NOW) + GUARD


def test_sliding_hours_use_most_of_their_quota() -> None:
    quota = CredentialQuota(5000, Per.SLIDING)
    provider, _ = send_all((quota,), [(20.0, 100, 0.0, 0)] * (20 * 4320))
    used = sum(units for _, units in provider.calls)
    assert used >= 0.98 * 5000 * 20


def test_units_beside_the_end_of_a_period_count_in_both() -> None:
    quotas = (CredentialQuota(10, Per.HOUR),)
    end = ends(Per.HOUR, "UTC", NOW)
    for moment, names in [(end - GUARD - 1, 1), (end - GUARD + 1, 2), (end + GUARD - 1, 2), (end + GUARD + 1, 1)]:
        booking = book(Spend(quotas, 3), moment, moment, {})
        assert booking is not None
        assert len(booking.counters) == names


def test_a_long_reservation_counts_in_each_period_that_it_reaches() -> None:
    booking = book(Spend((CredentialQuota(10, Per.HOUR),), 3), NOW, NOW + 2 * 3600, {})
    assert booking is not None
    assert len(booking.counters) == 3


def test_units_that_no_call_used_are_used_first() -> None:
    quotas = (CredentialQuota(10, Per.HOUR),)
    first = book(Spend(quotas, 10), NOW, NOW, {})
    assert first is not None
    stored = first.applied({})
    assert not book(Spend(quotas, 4), NOW, NOW, {}).agrees(stored)  # type: ignore[union-attr]
    again = book(Spend(quotas, 4, unused=Unused(4, first.counters)), NOW, NOW, stored)
    assert again is not None
    assert again.agrees(stored)
    assert again.applied(stored) == stored
    assert given_back(Unused(4, first.counters), stored) == dict.fromkeys(first.counters, 4)


def test_units_of_a_later_sum_are_not_given_back() -> None:
    """The counter is still there: it is that of a moment ago."""
    quotas = (CredentialQuota(10, Per.SLIDING),)
    end = (NOW // BUCKET + 1) * BUCKET
    first = book(Spend(quotas, 4), end - 20, end - 20, {})
    assert first is not None
    stored = first.applied({})
    later = end + 3
    second = book(Spend(quotas, 1), later, later, stored)
    assert second is not None
    assert second.agrees(stored)
    assert set(first.counters) <= set(second.applied(stored))
    assert given_back(Unused(4, first.counters), second.applied(stored)) == {}


def test_a_sum_is_of_what_was_read_and_nothing_later() -> None:
    quotas = (CredentialQuota(10, Per.SLIDING),)
    stored = book(Spend(quotas, 4), NOW, NOW, {}).applied({})  # type: ignore[union-attr]
    later = NOW + 2 * BUCKET
    turning = book(Spend(quotas, 1), later, later, stored)
    added = book(Spend(quotas, 5), NOW + 1, NOW + 1, stored)
    assert turning is not None
    assert added is not None
    assert not turning.agrees(added.applied(stored))
    unread = book(Spend(quotas, 1), NOW, NOW, None)
    assert unread is not None
    assert not unread.agrees(turning.applied(stored)), "who has not read a later sum does not pass it by"


def test_the_ring_stays_short() -> None:
    quotas = (CredentialQuota(10**9, Per.SLIDING),)
    _, stored = send_all(quotas, [(300.0, 3000, 0.0, 0)] * 1000)
    assert len(str(stored[RING])) <= 4 * BUCKETS + 20
    assert len(stored) <= 3


def test_counters_that_are_over_go() -> None:
    quotas = (
        CredentialQuota(10, Per.HOUR),
        CredentialQuota(10, Per.DAY, "Europe/Paris"),
        CredentialQuota(9, Per.SLIDING),
    )
    booking = book(Spend(quotas, 1), NOW, NOW, {})
    assert booking is not None
    stored = booking.applied({})
    assert stale(quotas, stored, NOW + 1) == []
    hour = {x for x in stored if "hour" in x}
    assert set(stale(quotas, stored, NOW + 2 * 3600)) == hour
    assert set(stale(quotas, stored, NOW + 2 * DAY)) == hour | {x for x in stored if "_day_" in x}
    assert stale((), stored, NOW + 400 * DAY) == [], "another version may count what this one does not know"


def test_a_message_that_no_quota_ever_has_room_for_is_not_booked() -> None:
    assert book(Spend((CredentialQuota(3, Per.HOUR),), 4), NOW, NOW, {}) is None
    assert book(Spend((CredentialQuota(3, Per.SLIDING),), 4), NOW, NOW, {}) is None
    assert NONE_UNUSED.units == 0
