"""Mail through SES, and its events by SNS and the feedback queue: nothing of it passes a public endpoint."""

from collections import Counter

import pytest

from simulator.client import ControlClient
from tests.deployed.api import Api

pytestmark = pytest.mark.deployed


@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_a_batch_goes_out_by_ses_and_its_events_come_by_the_topic(api: Api, control: ControlClient, tag: str) -> None:
    people = [f"{name}+{tag}@example.com" for name in ("ann", "bounce", "away", *map(str, range(20)))]
    control.webhooks("ses", "ses-main", behaviours={"bounce": "bounce", "away": "away"})
    body = {
        "from": "News <news@example.com>",
        "to": people,
        "subject": "Hello {{you}}",
        "body": "<p>{{{Hello}}}</p>",
        "route": ["ses-main"],
    }
    answer = api.call("POST", "/batches", body)
    assert answer.status == 202, answer.body
    job = answer.body["job_id"]
    counts = api.finished(job)["counts"]
    log = [row for row in control.log("ses", "ses-main") if row["ref"].startswith(f"{job}-")]
    assert max(Counter(row["recipient"] for row in log).values()) == 1
    assert {row["subject"] for row in log} == {"Hello {{you}}"}
    bulk = [call for call in control.calls("ses", "ses-main") if call["accepted"] > 1]
    assert bulk, "several recipients went in one call"
    assert counts["failed"] == 1
    assert counts["delivered"] == len(log) - 1
    lines = api.get(f"/batches/{answer.body['batch_id']}/logs?limit=100")["items"]
    (failed,) = [line for line in lines if line["state"] == "failed"]
    assert failed["recipient"] == people[1]
    assert {tuple(line["providers"].items()) for line in lines if line["state"] == "delivered"} == {(("ses", True),)}
