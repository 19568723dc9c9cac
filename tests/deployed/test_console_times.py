"""Each page of the console keeps to its time on a local cloud, and no link of it leads nowhere."""

import pytest

from infra.local import sign_in
from infra.local.cloud import Cloud
from tests.console.examples import pages
from tests.deployed.api import Api
from tests.deployed.console_times import BUDGET, LIVE, furnished, measured
from tests.deployed.visitor import Visitor

pytestmark = pytest.mark.browser
SLOW_MACHINE = 2
"""Twice the budget: two slow cores run the browser of the tests before, the emulator and its functions, too."""
LARGEST = 100_000
"""Bytes of a page as sent."""


@pytest.mark.timeout(600)
def test_each_page_keeps_to_its_time_once_warm(cloud: Cloud, api: Api, tag: str) -> None:
    with Visitor(cloud, sign_in.OPERATOR) as visitor:
        addresses = furnished(cloud, api, visitor, f"times-{tag}")
        assert set(addresses) == {LIVE, *pages()}, "of each page, whatever other tests left"
        found = measured(visitor, addresses)
    report = "\n".join(map(str, found))
    assert all(x.median <= BUDGET for x in found), report
    assert found[-1].p95 <= SLOW_MACHINE * BUDGET, report
    assert max(x.size for x in found) <= LARGEST, report
