"""What webhooks add to the cost of a message stays below its goal, and an account without them pays nothing."""

import pytest

from benchmarks.counting import hook_delay, hooks


@pytest.mark.slow
def test_webhooks_with_batches_add_little_to_a_message() -> None:
    units, calls, *others = hooks.measure()
    assert 0 < units.value <= hooks.UNITS
    assert 0 < calls.value <= hooks.CALLS
    assert [x.name for x in others if not 0 < x.value <= x.goal] == []
    assert len(others) == 6


@pytest.mark.slow
def test_an_account_without_endpoints_writes_nothing_for_webhooks() -> None:
    tally, receiver = hooks.spent(hooked=False)
    assert receiver.posts == 0
    assert not [name for name in tally.writes if "TOLD" in name or "WORK" in name]
    assert tally.calls.get("sqs.SendMessage", 0) == 0


@pytest.mark.slow
def test_a_change_reaches_an_endpoint_soon_while_another_one_hangs() -> None:
    rows = hook_delay.measure()
    assert [row.name.rpartition(": ")[2] for row in rows] == [
        "60 at once",
        "400 at once",
        "400 at once, the last of 20 endpoints",
        "400 at once, each a job of its own",
        "beside 40 that hang, of another account",
    ]
    assert all(0 < row.value <= hook_delay.GOAL for row in rows)
