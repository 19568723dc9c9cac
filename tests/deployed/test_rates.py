"""What the rate drill counts: only what no delay of the machine explains. Needs no cloud."""

from typing import Any

import pytest

from tests.deployed.rates import certainly_within


def call(at: float, slack: float = 0.0, accepted: int = 1) -> dict[str, Any]:
    return {"at": at, "slack": slack, "accepted": accepted}


@pytest.mark.parametrize(
    ("calls", "most"),
    [
        ([], 0),
        ([call(0), call(0.5, accepted=3), call(0.999)], 5),
        ([call(0), call(1), call(1.5)], 2),  # half open: a second later is another second
        ([call(10, accepted=7), call(10.1, slack=0.2), call(10.2)], 9),  # whatever their order was
        ([call(10, slack=0.5), call(10.6)], 1),  # the first may have been a second before
        ([call(10, slack=0.5), call(10.4)], 2),
    ],
)
def test_only_what_certainly_came_within_a_second_counts(calls: list[dict[str, Any]], most: int) -> None:
    assert certainly_within(calls, 1.0) == most
