"""Webhooks whose functions are killed: each message's last state reaches each endpoint that answers, under one id."""

import pytest

from infra.local.console import say
from tests.deployed import hook_kills
from tests.deployed.api import Api
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed
MESSAGES = 40
KILLS = 2


@pytest.mark.timeout(900)  # a busy machine needs minutes to start what was killed
def test_each_change_reaches_each_endpoint_although_workers_die_and_one_endpoint_hangs(
    inside: Inside, api: Api
) -> None:
    report = hook_kills.run(inside, api, messages=MESSAGES, kills=KILLS, seed=17)
    say(report.text())
    assert report.wrong == [], report.text()
    assert report.kills == KILLS
    assert report.events >= MESSAGES
