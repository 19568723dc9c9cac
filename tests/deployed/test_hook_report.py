"""The times of webhooks: they are judged where nothing is killed, and each acceptance has to be timed."""

import pytest

from tests.deployed.drill import Report
from tests.deployed.hook_kills import in_time

SLOW = [1.0] * 90 + [3.0] * 10
FEW = "only {} of 100 acceptances were heard of"


@pytest.mark.parametrize(
    ("waits", "wrong"),
    [
        ([1.0] * 100, []),
        (SLOW, ["without kills, the p95 is 3.00 s: over 2 s"]),
        ([1.0] * 6, [FEW.format(6)]),
        ([], [FEW.format(0)]),
    ],
)
def test_the_95th_percentile_of_all_acceptances_is_judged(waits: list[float], wrong: list[str]) -> None:
    report = Report()
    in_time(report, waits, waits, timed=100, within=2.0)
    assert report.wrong == wrong
