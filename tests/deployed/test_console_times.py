"""Each page of the console keeps to its time on a local cloud, and no link of it leads nowhere."""

import pytest

from infra.local import sign_in
from tests import budgets
from tests.console.examples import pages
from tests.deployed.api import Api
from tests.deployed.console_times import BUDGET, LIVE, furnished, measured
from tests.deployed.inside import Inside
from tests.deployed.visitor import Visitor

pytestmark = pytest.mark.browser
VISITS = 5
"""Of each page: processor time varies little."""
WARMING = "warm-up"
"""This cloud has no credential with one: `test_console_actions` opens it."""
LARGEST = 100_000
"""Bytes of a page as sent."""


@pytest.mark.timeout(600)
def test_each_page_keeps_to_its_time_of_a_processor_once_warm(inside: Inside, api: Api, tag: str) -> None:
    with (
        Visitor(inside.cloud, sign_in.OPERATOR) as visitor,
        furnished(inside, api, visitor, f"times-{tag}") as addresses,
    ):
        assert set(addresses) == {LIVE, *pages()} - {WARMING}, "of each page, whatever other tests left"
        found = measured(visitor, addresses, inside, VISITS)
    report = "\n".join(map(str, found))
    assert all(budgets.kept(x.processor, BUDGET) for x in found), report
    assert sum(x.processor for x in found) > 0, "something is measured"
    assert max(x.size for x in found) <= LARGEST, report
