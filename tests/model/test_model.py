"""A few small worlds whole, and every rule left out: something breaks. `make model` searches the larger ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.model.breaker import ALONE
from tests.model.configurations import DEAR, LONG, QUICK, RULES, SMALL, TASKS, sabotaged
from tests.model.digests import configurations as digests
from tests.model.explore import explore, search
from tests.model.hooks import configurations as hooks
from tests.model.notices.configurations import LEFT_OUT, NOTICES
from tests.model.quotas import configurations as quotas
from tests.tiers import some_slow


@pytest.mark.promise(1)
@pytest.mark.promise(3)
@pytest.mark.promise(4)
@pytest.mark.promise(5)
@pytest.mark.parametrize("name", some_slow(SMALL, set(SMALL) - set(QUICK)))
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


@pytest.mark.parametrize("rule", some_slow(sorted(set(RULES) - DEAR), LONG))
def test_no_rule_can_be_left_out(rule: str) -> None:
    _, found, _ = search((rule, sabotaged(rule)))
    assert found.broken


def test_the_first_tier_searches_a_world_of_each_kind_and_omits_twenty_rules() -> None:
    assert set(QUICK) <= set(SMALL)
    assert len(QUICK) >= 6
    assert set(RULES) - DEAR > LONG
    assert len(set(RULES) - DEAR - LONG) >= 20


def test_the_protocol_states_the_numbers_of_configurations_and_rules() -> None:
    page = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")
    apart = len(NOTICES) + len(digests.DIGESTS) + len(hooks.HOOKS) + len(quotas.QUOTAS)
    assert (
        f"{len(TASKS)} configurations: {len(TASKS) - apart} of sending, "
        f"{len(NOTICES)} of notices, {len(digests.DIGESTS)} of digests, {len(hooks.HOOKS)} of hooks "
        f"and {len(quotas.QUOTAS)} of quotas."
    ) in page
    theirs = len(LEFT_OUT) + len(digests.LEFT_OUT) + len(hooks.LEFT_OUT) + len(quotas.LEFT_OUT)
    assert (
        f"{len(RULES)} rules, one at a time: {len(RULES) - theirs} of sending, "
        f"{len(LEFT_OUT)} of notices, {len(digests.LEFT_OUT)} of digests, {len(hooks.LEFT_OUT)} of hooks "
        f"and {len(quotas.LEFT_OUT)} of quotas."
    ) in page
    assert f"{len(SMALL)} small configurations and {len(RULES) - len(DEAR)} of the omissions" in page
