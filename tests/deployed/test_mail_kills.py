"""Mails whose relay, API and sender are killed: each that was answered with 250 is at a provider once, or unknown."""

import pytest

from infra.local.console import say
from simulator.client import ControlClient
from tests.deployed import mail_kills
from tests.deployed.api import Api
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed
MAILS = 40
KILLS = 2


@pytest.mark.timeout(600)  # a busy machine needs minutes to start what was killed
@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_each_mail_that_was_taken_arrives_once_or_is_unknown(inside: Inside, api: Api, control: ControlClient) -> None:
    report = mail_kills.run(inside, api, control, mails=MAILS, kills=KILLS, seed=16)
    say(report.text())
    assert report.wrong == [], report.text()
    assert report.taken == MAILS
    assert report.kills == {"relay": KILLS, "API": KILLS, "sender": KILLS}, report.text()
