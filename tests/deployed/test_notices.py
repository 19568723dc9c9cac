"""Notices on the deployed stack: records in, texts and calls out, callbacks back, updates read."""

import pytest

from examples.demo import notices
from infra.local.cloud import Cloud
from simulator.client import ControlClient

pytestmark = pytest.mark.deployed


def test_fifty_notices_end_once_each_and_nobody_is_texted_twice(cloud: Cloud, control: ControlClient) -> None:
    story = notices.begin(cloud)
    # A payload whose answer was lost is uploaded again; its invalid record would be rejected a second time.
    story.clinic.put([x for x in story.records.values() if story.wanted[x["id"]] == "SUCCESS"][notices.MOVED :])
    found = notices.watch(story)
    assert notices.faults(story, found) == []
    errors = {x["error"] for x in found if x["status"] == "PERM_FAIL"}
    assert errors == {"MESSAGE_EXPIRED", "INVALID_PHONE_NUMBER"}
    failures = [x["error"] for x in found if x["id"] == story.busy and x["status"] == "TEMP_FAIL"]
    assert failures == ["TEMP_DELIVERY_FAIL"] * 2

    one = next(x for x, status in story.wanted.items() if status == "SUCCESS")
    shown = story.clinic.call("GET", f"/messages/{one}")
    assert (shown["status"], shown["waiting"]) == ("SUCCESS", False)
    assert control.log("twilio", "texts")
    assert control.log("twilio", "calls")
