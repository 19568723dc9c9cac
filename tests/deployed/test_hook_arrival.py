"""Webhooks of a quiet cloud arrive in time, although most endpoints of the account are bad."""

import pytest

from infra.local.console import say
from simulator.client import ControlClient
from tests.deployed import hook_arrival
from tests.deployed.api import Api

pytestmark = pytest.mark.deployed
WORDS = 40
WITHIN = 3.0
"""Seconds; the goal is 2. Other clouds run on the same machine meanwhile."""


@pytest.mark.timeout(300)
def test_a_change_arrives_in_time_although_five_of_seven_endpoints_are_bad(api: Api, control: ControlClient) -> None:
    report = hook_arrival.run(api, control, words=WORDS, rate=4)
    say(report.text())
    assert report.wrong == [], report.text()
    assert len(report.waits) == len(hook_arrival.GOOD) * WORDS
    assert report.p95 < WITHIN, report.text()
