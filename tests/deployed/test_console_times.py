"""Each page of the console keeps to its time on a local cloud, and no link of it leads nowhere."""

import pytest

from infra.local import sign_in
from infra.local.cloud import Cloud
from tests.console.examples import pages
from tests.deployed.api import Api
from tests.deployed.console_times import BUDGET, LIVE, RARE, addresses_of, measured
from tests.deployed.furnished import Furnisher
from tests.deployed.visitor import Visitor

pytestmark = pytest.mark.browser
SLOW_MACHINE = 2
"""Twice the budget: two slow cores run the browser of the tests before, the emulator and its functions, too."""
LARGEST = 100_000
"""Bytes of a page as sent."""


@pytest.mark.timeout(300)
def test_each_page_keeps_to_its_time_once_warm(cloud: Cloud, api: Api, tag: str) -> None:
    Furnisher(cloud, api, f"times-{tag}").furnish()
    with Visitor(cloud, sign_in.OPERATOR) as visitor:
        addresses = addresses_of(visitor)
        assert set(pages()) - set(addresses) <= RARE, "no link leads to them"
        found = measured(visitor, addresses)
    report = "\n".join(map(str, found))
    assert {LIVE} | set(addresses) == {x.name for x in found}
    assert all(x.median <= BUDGET for x in found), report
    assert found[-1].p95 <= SLOW_MACHINE * BUDGET, report
    assert max(x.size for x in found) <= LARGEST, report
