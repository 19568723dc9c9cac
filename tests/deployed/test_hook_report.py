"""The report of the drill of webhooks."""

from tests.deployed.hook_kills import HookKills, in_time


def test_without_kills_the_95th_percentile_is_judged() -> None:
    slow = [1.0] * 90 + [3.0] * 10
    judged = [
        bool(in_time(HookKills(1, 1, kills=kills, waits=list(waits)), 2.0).wrong)
        for kills, waits in ((0, slow), (0, [1.0] * 100), (3, slow))
    ]
    assert judged == [True, False, False]
