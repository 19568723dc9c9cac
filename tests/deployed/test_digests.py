"""Digests on the deployed stack: a flood of events in, a few mails out, each person's events in exactly one of them."""

import pytest

from infra.local import digests, newsletter
from infra.local.cloud import Cloud

pytestmark = pytest.mark.deployed


def test_a_flood_becomes_a_mail_for_each_person_and_key_and_repeats_change_nothing(cloud: Cloud) -> None:
    flood = digests.story(cloud)
    digests.post(flood)
    digests.post(flood)
    digests.close(flood)
    found = digests.watch(flood)
    assert len(found) == len(flood.wanted()) <= digests.MOST_MAILS
    for window in flood.windows:
        shown = newsletter.call(cloud, "GET", f"/digests/{window}")
        assert shown["state"] == "processed"
        assert shown["events"] == 2 * shown["duplicates"]
    listed = newsletter.call(cloud, "GET", "/digests?limit=1000")["items"]
    assert flood.windows <= {x["window_id"] for x in listed}
    jobs = {x["job_id"] for x in newsletter.call(cloud, "GET", "/jobs?limit=1000")["items"]}
    assert {x["job_id"] for x in listed if x["window_id"] in flood.windows} <= jobs
