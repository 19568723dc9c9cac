"""A few small worlds whole, and every rule left out: something breaks. `make model` searches the larger ones."""

from dataclasses import replace

import pytest

from tests.model.breaker import ALONE
from tests.model.configurations import DEAR, RULES, SMALL, TASKS, sabotaged
from tests.model.explore import explore, search


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.promise(4)
@pytest.mark.promise(5)
@pytest.mark.parametrize("name", SMALL)
def test_nothing_breaks_and_everything_can_still_end(name: str) -> None:
    _, found, _ = search((name, TASKS[name]))
    assert (found.broken, found.trace) == ("", ())
    assert found.states > 1000, "the adversary was idle"


@pytest.mark.parametrize("credentials", [1, 2])
@pytest.mark.parametrize("messages", [1, 2])
def test_a_breaker_that_counts_by_lease_never_closes_where_chunks_have_one_message(
    credentials: int, messages: int
) -> None:
    alone = replace(ALONE, credentials=credentials, messages=messages)
    by_lease = replace(alone, without=frozenset({"successes_are_the_breakers"}))
    assert explore(alone).broken == ""
    assert explore(by_lease).broken == ("stuck: no fair way to the end" if messages == 1 else "")


@pytest.mark.parametrize("rule", sorted(set(RULES) - DEAR))
def test_no_rule_can_be_left_out(rule: str) -> None:
    _, found, _ = search((rule, sabotaged(rule)))
    assert found.broken
