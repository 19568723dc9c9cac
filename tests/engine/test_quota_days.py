"""Forty days of quotas with workers that die; `python -m tests.engine.quota_days` prints them."""

from typing import Final

import pytest

from tests.engine.quota_days import CASES, simulated
from tests.tiers import some_slow

USED: Final = 0.98


@pytest.mark.promise(2)
@pytest.mark.parametrize("per", some_slow(CASES, set(CASES) - {"hour"}))
def test_the_worst_period_is_within_the_quota_and_it_is_used(per: str) -> None:
    quota, days, kills = CASES[per]
    found = simulated(quota, days, kills)
    assert found.over <= 0
    assert found.used >= USED
    assert found.killed >= 2
    assert found.leases < found.sent / 5, "waiting costs leases"
