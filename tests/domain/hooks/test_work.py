"""The breaker of an endpoint."""

from dataclasses import replace

from shared.domain.hooks.work import AT_ONCE, FAILING_MS, HookWork, failed, succeeded
from tests.domain.hooks.examples import HOOK
from tests.domain.ledgers import NOW


def broken(fails: int, now: int = NOW) -> HookWork:
    work = HookWork(HOOK)
    for _ in range(fails):
        work = failed(work, now, 20)
    return work


def test_five_failures_in_a_row_open_the_breaker_for_longer_each_time() -> None:
    pauses = [broken(n).open_until for n in range(4, 14)]
    assert [max(0, x - NOW) // 1000 for x in pauses] == [0, 5, 10, 20, 40, 80, 160, 300, 300, 300]


def test_an_open_breaker_lets_nothing_through_and_then_one_probe() -> None:
    work = broken(5)
    assert [broken(4).at_once(NOW), work.at_once(NOW), work.at_once(NOW + 5_000)] == [AT_ONCE, 0, 1]
    assert succeeded(work, 20).at_once(NOW) == AT_ONCE


def test_a_dead_endpoint_is_called_seldom_in_its_first_minute() -> None:
    work, now, calls = HookWork(HOOK), NOW, 0
    while now < NOW + 60_000:
        n = work.at_once(now)
        for _ in range(n):
            work = failed(work, now, 20)
        calls += n
        now = max(now + 1, work.open_until)
    assert calls <= 20


def test_an_endpoint_is_left_alone_for_as_long_as_it_asks_up_to_an_hour() -> None:
    assert failed(HookWork(HOOK), NOW, 20, 90_000).open_until == NOW + 90_000
    assert failed(HookWork(HOOK), NOW, 20, 10**9).open_until == NOW + 3_600_000


def test_five_days_of_failures_and_nothing_else_are_too_many() -> None:
    work = broken(5)
    later = failed(work, NOW + FAILING_MS, 20)
    assert [work.is_failing(NOW + FAILING_MS - 1), later.is_failing(NOW + FAILING_MS)] == [False, True]
    anew = failed(succeeded(work, 20), NOW + FAILING_MS, 20)
    assert not anew.is_failing(NOW + FAILING_MS)


def test_a_slow_or_failing_endpoint_is_called_apart() -> None:
    assert not HookWork(HOOK).apart
    assert failed(HookWork(HOOK), NOW, 20).apart
    assert succeeded(HookWork(HOOK), 1_001).apart
    assert not succeeded(replace(HookWork(HOOK), slow=True, fails=3), 1_000).apart


def test_new_deliveries_need_a_hint_unless_a_worker_looks_anyway() -> None:
    work = HookWork(HOOK)
    assert work.needs_hint(NOW)
    assert not replace(work, until=NOW + 1).needs_hint(NOW)
    assert not replace(work, open_until=NOW + 1).needs_hint(NOW)
