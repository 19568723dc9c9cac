"""Single messages wait neither for calls that hang nor for another account's bulk."""

import pytest

from tests.engine.singles import PER_SECOND, RATE, Singles

P95 = 1.0
"""Seconds from acceptance to the provider's call."""


@pytest.mark.slow
@pytest.mark.parametrize("per_second", [100.0, 50.0])
def test_single_messages_do_not_wait_for_those_whose_calls_hang(per_second: float) -> None:
    seen = Singles(per_second).prove(30)
    assert seen.unsent == 0
    assert len(seen.waits) == 30 * per_second
    assert seen.p95 <= P95
    assert seen.worst <= RATE


@pytest.mark.slow
def test_they_would_if_a_worker_did_not_listen_while_it_waits() -> None:
    assert Singles(50.0, listens=False).prove(30).p95 > P95


@pytest.mark.slow
def test_single_messages_and_bulk_of_another_account_keep_their_shares() -> None:
    seen = Singles(bulk=True).prove(40)
    singles = sum(wait <= 40 for wait in seen.waits) / 40
    assert seen.unsent == 0
    assert RATE - PER_SECOND <= seen.bulk <= 0.65 * RATE, "at least what single messages leave"
    assert singles >= 0.5 * RATE
    assert seen.worst <= RATE
