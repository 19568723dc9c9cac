"""A part of the grid of `make pace`, for every run of the tests: the troubles that found something, and all at once."""

import pytest

from tests.engine.measuring import worst_second
from tests.engine.pace import RATES, Calls, Case, Result, Trouble, run, verdict
from tests.fakes.clock import START

SECONDS = {1: 40, 10: 20, 14: 20, 150: 10, 1000: 4}
DEAR = {(1000, Calls.ONE, Trouble.SKEW)} | {
    (rate, Calls.SWITCHED, trouble) for rate in RATES for trouble in (Trouble.SKEW, Trouble.ALL)
}
"""A thread for each of so many calls: `make pace` has it, and `test_pace.py` at 150 a second."""
CASES = [
    Case(rate, calls, trouble, SECONDS[rate])
    for rate in RATES
    for calls in Calls
    for trouble in (Trouble.SKEW, Trouble.ALL)
    if (rate, calls, trouble) not in DEAR
]


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.rate}-{c.calls}-{c.trouble}")
def test_no_second_holds_more_than_the_rate(case: Case) -> None:
    assert verdict(case, run(case)) == ""


@pytest.mark.slow
@pytest.mark.promise(2)
def test_workers_that_start_anew_know_nothing_and_keep_the_rate() -> None:
    case = Case(150, Calls.MOST, Trouble.RESTARTS, 30)
    result = run(case)
    assert result.excused > 0, "nobody died"
    assert verdict(case, result) == ""


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.parametrize(
    ("rate", "trouble", "seconds"), [(1, Trouble.NONE, 600), (10, Trouble.ALL, 28), (150, Trouble.RESTARTS, 15)]
)
def test_a_rate_that_is_set_while_all_send_holds_from_the_next_window_on(
    rate: int, trouble: Trouble, seconds: float
) -> None:
    case = Case(rate, Calls.SWITCHED, trouble, seconds)
    assert verdict(case, run(case)) == ""


def test_what_the_verdict_is_about() -> None:
    case = Case(10, Calls.ONE, Trouble.NONE, 10)
    assert verdict(case, Result(worst=10, average=9.3, excused=0, slowest=0)) == ""
    assert "11 in a second" in verdict(case, Result(worst=11, average=9.3, excused=0, slowest=0))
    assert "0.920 of the rate" in verdict(case, Result(worst=10, average=9.2, excused=0, slowest=0))
    over = Result(worst=10, average=9.3, excused=0, slowest=0, over=2)
    assert "2 above the present rate" in verdict(case, over)
    assert "by 1" in verdict(case, Result(worst=10, average=9.3, excused=0, slowest=1))
    assert worst_second([(START, 3), (START + 0.5, 1), (START + 1, 2), (START + 1.1, 1)]) == 6
