"""Digests whose functions are killed and whose providers fail: events in, each in one mail of each recipient out."""

import pytest

from simulator.client import ControlClient
from tests.deployed import digest_flood
from tests.deployed.api import Api
from tests.deployed.inside import Inside

pytestmark = pytest.mark.deployed


@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_each_event_of_a_flood_is_in_one_mail_of_each_recipient_or_in_a_message_that_says_why_not(
    inside: Inside, api: Api, control: ControlClient
) -> None:
    flood = digest_flood.run(inside, api, control, events=150, kills=1, seed=7)
    assert flood.wrong == [], flood.text()
    assert min(flood.kills[x] for x in ("api", "digest", "senders")) > 0, flood.text()
    assert min(flood.ends[x] for x in ("in a mail", "unknown", "skipped")) > 0, flood.text()
    assert sum(map(len, flood.mails.values())) < sum(map(len, flood.wanted.values())) / 2, "that is no digest"
