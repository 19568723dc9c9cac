"""How long units take within rates and quotas."""

from datetime import UTC, datetime
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import CredentialQuota, Per, Warmup
from shared.domain.lanes.estimates import LONGEST, Capacity, finished
from shared.domain.lanes.periods import ends
from shared.domain.lanes.quotas import Spend, book

HOUR: Final = 3600.0
DAY: Final = 86_400.0
NOW: Final = 497_000 * HOUR
"""The beginning of an hour, UTC."""


def test_without_quotas_the_rate_decides() -> None:
    assert finished(1000, [Capacity(10)], NOW) == NOW + 100
    assert finished(1000, [Capacity(10), Capacity(15)], NOW) == NOW + 40


@pytest.mark.parametrize(
    ("units", "hours"),
    [(60, 0), (61, 1), (120, 1), (121, 2), (60 * 24 * 30, 24 * 30 - 1)],
)
def test_each_hour_sends_its_quota(units: int, hours: int) -> None:
    end = finished(units, [Capacity(1, (CredentialQuota(60, Per.HOUR),))], NOW)
    assert NOW + hours * HOUR < end <= NOW + hours * HOUR + 62


def test_the_narrowest_quota_decides() -> None:
    quotas = (CredentialQuota(100, Per.HOUR), CredentialQuota(500, Per.DAY), CredentialQuota(3000, Per.MONTH))
    end = finished(600, [Capacity(10, quotas)], NOW)
    assert end == pytest.approx(ends(Per.DAY, "UTC", NOW) + 10, abs=3605)
    assert finished(3001, [Capacity(10, quotas)], NOW) >= ends(Per.MONTH, "UTC", NOW)


@pytest.mark.parametrize(
    ("units", "days"), [(100, 0), (101, 1), (300, 1), (301, 2), (700, 2), (701, 3), (1700, 3), (11_701, 14)]
)
def test_each_day_of_a_warmup_sends_its_size(units: int, days: int) -> None:
    midnight = ends(Per.DAY, "UTC", NOW)
    warmup = Warmup(datetime.fromtimestamp(midnight, UTC).date(), (100, 200, 400))
    begin = midnight + 60
    end = finished(units, [Capacity(10, (CredentialQuota(1000, Per.DAY, "UTC", warmup),))], begin)
    assert max(begin, midnight + days * DAY) < end <= midnight + days * DAY + 102


def test_what_is_used_already_counts() -> None:
    quotas = (CredentialQuota(60, Per.HOUR),)
    booking = book(Spend(quotas, 50), NOW + 60, NOW + 60, {})
    assert booking is not None
    lane = Capacity(10, quotas, booking.applied({}))
    assert finished(10, [lane], NOW + 60) == pytest.approx(NOW + 61, abs=2)
    assert finished(11, [lane], NOW + 60) > NOW + HOUR


def test_a_full_lane_sends_nothing_until_it_is_open() -> None:
    assert finished(10, [Capacity(10, full_until=NOW + 500)], NOW) == pytest.approx(NOW + 501, abs=2)
    two = [Capacity(10, full_until=NOW + 500), Capacity(1)]
    assert finished(100, two, NOW) == pytest.approx(NOW + 100, abs=2)


def test_24_hours_send_their_quota_in_each() -> None:
    end = finished(3000, [Capacity(100, (CredentialQuota(1000, Per.SLIDING),))], NOW)
    assert NOW + 2 * DAY <= end <= NOW + 2.1 * DAY


def test_what_never_ends_ends_at_the_longest() -> None:
    assert finished(10**9, [Capacity(1, (CredentialQuota(1, Per.MONTH),))], NOW) == NOW + LONGEST
    assert finished(1, [], NOW) == NOW + LONGEST


@given(st.integers(1, 10**6), st.floats(0.02, 1000), st.integers(1, 10**5), st.sampled_from(list(Per)))
def test_more_takes_longer_and_a_quota_never_shortens(units: int, rate: float, messages: int, per: Per) -> None:
    free, bounded = Capacity(rate), Capacity(rate, (CredentialQuota(messages, per),))
    end = finished(units, [bounded], NOW)
    assert end >= min(NOW + LONGEST, finished(units, [free], NOW)) - 1
    assert finished(units + 1000, [bounded], NOW) >= end
