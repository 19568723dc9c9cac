"""A budget grows on a slow machine, and never shrinks."""

import pytest

from tests import budgets


@pytest.mark.parametrize(("took", "budget"), [(0.5, 0.3), (1.0, 0.3), (2.0, 0.6)])
def test_a_budget_is_in_seconds_of_the_reference(monkeypatch: pytest.MonkeyPatch, took: float, budget: float) -> None:
    monkeypatch.setattr(budgets, "work", lambda: took * budgets.REFERENCE)
    assert budgets.seconds(0.3) == pytest.approx(budget)


def test_the_work_takes_a_while_that_can_be_measured() -> None:
    assert budgets.work() > 0.005


def test_the_work_is_done_only_where_a_budget_seems_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    works = iter([2 * budgets.REFERENCE] * 2)
    monkeypatch.setattr(budgets, "work", lambda: next(works))
    assert budgets.kept(0.3, 0.3)
    assert budgets.kept(0.5, 0.3)
    assert not budgets.kept(0.7, 0.3)
    assert next(works, None) is None
