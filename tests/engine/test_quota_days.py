"""Forty days of quotas with workers that die; `make quota-days` prints them."""

import pytest

from tests.engine.quota_days import CASES, ROUTES, USED, overflown, simulated
from tests.tiers import some_slow


@pytest.mark.promise(2)
@pytest.mark.parametrize("per", some_slow(CASES, set(CASES) - {"hour"}))
def test_the_worst_period_is_within_the_quota_and_it_is_used(per: str) -> None:
    quota, days, kills = CASES[per]
    found = simulated(quota, days, kills)
    assert found.over <= 0
    assert found.used >= USED
    assert found.killed >= 2
    assert found.leases < found.sent / 5, "waiting costs leases"


@pytest.mark.promise(2)
@pytest.mark.parametrize("name", some_slow(ROUTES, {"a warm-up, then 24h"}))
def test_what_a_credential_has_no_room_for_goes_by_the_next_within_its_own_quota(name: str) -> None:
    quotas, days, kills = ROUTES[name]
    found = overflown(quotas, days, kills)
    assert {x: shown.over for x, shown in found.items() if shown.over > 0} == {}
    assert {x: shown.used for x, shown in found.items() if shown.used < USED} == {}
    assert all(shown.killed >= 2 for shown in found.values())
    assert sum(shown.sent for shown in found.values()) > 1.2 * max(shown.sent for shown in found.values())
