"""The report of the drill of webhooks."""

from tests.deployed.hook_kills import HookKills, in_time


def test_without_kills_the_95th_percentile_is_judged() -> None:
    slow = [1.0] * 90 + [3.0] * 10
    judged = [
        bool(in_time(HookKills(1, 1, kills=kills, waits=list(waits)), 2.0).wrong)
        for kills, waits in ((0, slow), (0, [1.0] * 100), (3, slow))
    ]
    assert judged == [True, False, False]


def test_without_kills_each_acceptance_is_timed() -> None:
    wrong = [in_time(HookKills(1, 1, timed=100, waits=[1.0] * n), 2.0).wrong for n in (100, 6, 0)]
    assert wrong == [
        [],
        ["only 6 of 100 acceptances were heard of"],
        ["only 0 of 100 acceptances were heard of"],
    ]


def test_a_report_names_times_only_if_they_were_measured() -> None:
    assert "p95" not in HookKills(1, 40, kills=2).text()
    text = HookKills(1, 3, timed=3, waits=[1.0] * 3, answered=[1.5] * 3).text()
    assert "p95 of 3 acceptances from the last answer in the chunk to the arrival 1.00 s" in text
    assert "from the message's own 1.50 s" in text
