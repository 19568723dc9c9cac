"""Work under a lease: one owner writes, and however many workers die, it ends."""

import pytest

from tests.model.explore import explore
from tests.model.work import RULES, Work


@pytest.mark.parametrize("workers", [1, 2])
def test_work_ends_and_one_worker_at_a_time_writes(workers: int) -> None:
    found = explore(Work(workers=workers))
    assert (found.broken, found.trace) == ("", ())
    assert found.states > 50, "the adversary was idle"


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_of_leased_work_can_be_left_out(rule: str) -> None:
    assert explore(Work(without=frozenset({rule}))).broken
