from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.jobs.outcomes import Accepted, NotStarted, NotTogether, Outcome, Rejected, Throttled, Unknown
from shared.domain.lanes import breaker as rules
from shared.domain.lanes.breaker import (
    ASK_AGAIN,
    FIRST_DELAY,
    MAX_DELAY,
    PROBE_TIME,
    PROBES,
    STEADY,
    Breaker,
    BreakerState,
    Verdict,
    verdict,
)

NOW = 1_790_000_000_000
NEVER = Breaker("one")


def opened(x: Breaker = NEVER, now: int = NOW, jitter: float = 0.0) -> Breaker:
    out = rules.opened(x, reason="http_503", failures=5, now=now, jitter=jitter)
    assert out is not None
    return out


def probing(x: Breaker, owner: str = "me") -> Breaker:
    out = rules.probing(x, owner=owner, now=x.probe_at)
    assert out is not None
    return out


def reopened(x: Breaker, now: int) -> Breaker:
    out = rules.reopened(x, owner="me", reason="http_500", now=now, jitter=0.0)
    assert out is not None
    return out


def closed(x: Breaker, now: int) -> Breaker:
    out = rules.closed(x, owner="me", now=now)
    assert out is not None
    return out


def test_a_breaker_opens_for_ten_seconds_and_says_why() -> None:
    x = opened()
    assert x == Breaker(
        "one", BreakerState.OPEN, "http_503", NOW, 5, NOW + FIRST_DELAY, FIRST_DELAY, failed_at=NOW, version=1
    )
    assert [x.usable(NOW + ms) for ms in (0, 9_999, 10_000)] == [False, False, True]
    assert rules.opened(x, reason="late", failures=5, now=NOW + 1, jitter=0.0) is None


@pytest.mark.parametrize(("jitter", "wait"), [(-1.0, 8_000), (0.0, 10_000), (1.0, 12_000)])
def test_delays_differ_by_a_fifth(jitter: float, wait: int) -> None:
    assert opened(jitter=jitter).probe_at == NOW + wait


def test_probes_wait_for_their_time_and_run_one_at_a_time() -> None:
    x = opened()
    assert rules.probing(x, owner="me", now=x.probe_at - 1) is None
    y = probing(x)
    assert (y.state, y.prober, y.probes, y.since, y.version) == (BreakerState.HALF_OPEN, "me", PROBES, NOW, 2)
    assert not y.usable(x.probe_at + PROBE_TIME - 1)
    assert rules.probing(y, owner="you", now=x.probe_at + PROBE_TIME - 1) is None
    assert rules.probing(NEVER, owner="me", now=NOW) is None


def test_probes_of_which_nothing_is_heard_are_handed_to_another() -> None:
    y = probing(opened())
    z = rules.probing(y, owner="you", now=y.probe_at)
    assert z is not None
    assert (z.prober, z.probe_at) == ("you", y.probe_at + PROBE_TIME)
    assert rules.closed(z, owner="me", now=y.probe_at + 1) is None
    assert rules.reopened(z, owner="me", reason="x", now=y.probe_at + 1, jitter=0.0) is None


def test_a_probe_that_fails_doubles_the_delay_up_to_five_minutes() -> None:
    x = opened()
    delays = []
    for _ in range(7):
        x = reopened(probing(x), x.probe_at)
        delays.append(x.delay // 1000)
    assert delays == [20, 40, 80, 160, 300, 300, 300]
    assert (x.since, x.reason, x.failures) == (NOW, "http_500", 5)


def test_a_question_without_an_answer_is_asked_again_soon_however_long_the_outage_lasts() -> None:
    x = reopened(probing(opened()), NOW + 10_000)
    for _ in range(40):
        asked_at = x.probe_at
        y = rules.unanswered(probing(x), owner="me", reason="refused", now=asked_at, jitter=0.0)
        assert y is not None
        assert (y.state, y.reason, y.prober, y.probe_at - asked_at) == (BreakerState.OPEN, "refused", "", ASK_AGAIN)
        assert (y.delay, y.since, y.failures, y.failed_at) == (x.delay, NOW, 5, NOW + 10_000)
        x = y
    assert rules.unanswered(x, owner="me", reason="refused", now=x.probe_at, jitter=0.0) is None


def test_a_message_probes_in_the_end_whatever_the_question_says_and_ever_more_seldom() -> None:
    x, tried = opened(), []
    for minute in range(48 * 60):
        now = NOW + minute * 60_000
        if not x.asks_first(now):
            x = reopened(probing(replace(x, probe_at=now)), now)
            tried.append(minute // 60)
    assert tried == [1, 2, 4, 8, 16, 32]


def test_probes_go_on_without_a_question_once_a_message_was_taken() -> None:
    x = rules.handed_on(probing(opened()), owner="me", successes=1, now=NOW + 11_000)
    assert x is not None
    assert opened().asks_first(NOW + 11_000)
    assert not x.asks_first(NOW + 11_000)


def test_probes_that_succeed_close_the_breaker() -> None:
    x = closed(probing(opened()), NOW + 11_000)
    assert (x.state, x.since, x.reason, x.probe_at, x.prober, x.probes) == (
        BreakerState.CLOSED,
        NOW + 11_000,
        "http_503",
        0,
        "",
        0,
    )
    assert x.usable(NOW)


def test_one_that_flaps_goes_on_doubling_and_one_that_was_steady_starts_anew() -> None:
    x = closed(probing(opened()), NOW + 11_000)
    assert opened(x, NOW + 11_000 + STEADY - 1).delay == 2 * FIRST_DELAY
    assert opened(x, NOW + 11_000 + STEADY).delay == FIRST_DELAY
    long = replace(x, delay=MAX_DELAY)
    assert opened(long, NOW + 12_000).delay == MAX_DELAY


def test_one_that_worked_meanwhile_starts_anew_at_once() -> None:
    x = replace(closed(probing(opened()), NOW + 11_000), delay=MAX_DELAY)
    out = rules.opened(x, reason="r", failures=10, alive=True, now=NOW + 12_000, jitter=0.0)
    assert out is not None
    assert out.delay == FIRST_DELAY


def test_probes_that_decide_nothing_go_to_the_next_lease_with_their_score() -> None:
    x = rules.handed_on(probing(opened()), owner="me", successes=1, now=NOW + 11_000)
    assert x is not None
    assert (x.state, x.prober, x.successes, x.probe_at) == (BreakerState.HALF_OPEN, "", 1, NOW + 11_000)
    assert x.usable(NOW + 11_000)
    assert rules.closed(x, owner="", now=NOW) is None
    y = probing(x, "you")
    assert (y.prober, y.successes) == ("you", 1)
    assert (closed(probing(x), NOW + 12_000).successes, reopened(probing(x), NOW + 12_000).successes) == (0, 0)


@pytest.mark.parametrize("x", [NEVER, opened(), closed(probing(opened()), NOW)])
def test_only_the_prober_decides(x: Breaker) -> None:
    assert rules.closed(x, owner="", now=NOW) is None
    assert rules.handed_on(x, owner="", successes=1, now=NOW) is None
    assert rules.reopened(x, owner="", reason="x", now=NOW, jitter=0.0) is None


@given(st.lists(st.tuples(st.sampled_from("opchr"), st.integers(0, 400_000), st.sampled_from(["a", "b"]))))
def test_a_breaker_never_rests_for_ever(moves: list[tuple[str, int, str]]) -> None:
    """Whatever happens, it is closed or will be probed within its longest delay, and versions count the writes."""
    x, now = NEVER, NOW
    for move, wait, owner in moves:
        now += wait
        new = {
            "o": lambda: rules.opened(x, reason="r", failures=5, now=now, jitter=1.0),  # noqa: B023 - called at once
            "p": lambda: rules.probing(x, owner=owner, now=now),  # noqa: B023
            "c": lambda: rules.closed(x, owner=owner, now=now),  # noqa: B023
            "h": lambda: rules.handed_on(x, owner=owner, successes=1, now=now),  # noqa: B023
            "r": lambda: rules.reopened(x, owner=owner, reason="r", now=now, jitter=1.0),  # noqa: B023
        }[move]()
        if new is not None:
            assert new.version == x.version + 1
            x = new
        assert x.usable(now + round(1.2 * MAX_DELAY))
        assert bool(x.prober) == bool(x.probes)
        assert x.state is BreakerState.HALF_OPEN or not (x.prober or x.successes)


# What calls say

TAKEN = Accepted("id")
BAD = Rejected("invalid_recipient", permanent=True)
DOWN = Rejected("http_503", permanent=False)
REFUSED = Rejected("unauthorized", permanent=False, provider_down=True)
ITS_OWN = NotTogether("batch_refused")


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([TAKEN], (Verdict.ALIVE, "")),
        ([BAD], (Verdict.ALIVE, "")),
        ([ITS_OWN, BAD], (Verdict.ALIVE, "")),
        ([DOWN, TAKEN], (Verdict.ALIVE, "")),
        ([DOWN, DOWN], (Verdict.FAILED, "http_503")),
        ([Unknown("read_timeout")], (Verdict.FAILED, "read_timeout")),
        ([ITS_OWN, DOWN], (Verdict.FAILED, "http_503")),
        ([DOWN, REFUSED, DOWN], (Verdict.FATAL, "unauthorized")),
        ([Throttled(3), NotStarted(), ITS_OWN], (Verdict.NOTHING, "")),
        ([], (Verdict.NOTHING, "")),
    ],
)
def test_what_a_call_says_of_its_provider(outcomes: list[Outcome], expected: tuple[Verdict, str]) -> None:
    assert verdict(outcomes) == expected
