"""A few small worlds whole, and every rule left out: something breaks. `make model` searches the larger ones."""

import pytest

from tests.model.configurations import DEAR, SABOTAGED, SMALL, WORLDS, sabotaged
from tests.model.explore import explore


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.promise(4)
@pytest.mark.promise(5)
@pytest.mark.parametrize("name", SMALL)
def test_nothing_breaks_and_everything_can_still_end(name: str) -> None:
    found = explore(WORLDS[name])
    assert (found.broken, found.trace) == ("", ())
    assert found.states > 1000, "the adversary was idle"


@pytest.mark.parametrize("rule", sorted(set(SABOTAGED) - DEAR))
def test_no_rule_can_be_left_out(rule: str) -> None:
    assert explore(sabotaged(rule)).broken
