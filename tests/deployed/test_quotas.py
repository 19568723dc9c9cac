"""A credential of 60 messages an hour beside one without a quota, on the local cloud, by the simulator's own log."""

import time
from collections import Counter
from typing import Final

import pytest

from infra.local.processes import wait_for
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.oracle import Oracle

pytestmark = pytest.mark.deployed

LIMITED, OPEN = "hourly", "rate-150"
QUOTA: Final = 60
MESSAGES: Final = 200
"""Of a batch; half of them begin at each credential."""
SECONDS: Final = 60
"""A message that has no room is seen to wait by then, also on a busy machine."""


def hour() -> int:
    """Return the clock hour. Quotas per hour end with those of the clock."""
    return int(time.time() // 3600)


@pytest.mark.promise(2)
@pytest.mark.promise(3)
def test_what_an_hour_has_no_room_for_goes_by_the_next_credential_or_waits(
    inside: object, api: Api, control: ControlClient, tag: str
) -> None:
    begun, limited, others = hour(), Oracle(control, LIMITED), Oracle(control, OPEN)
    to = [f"silent+{tag}.{i}@example.com" for i in range(MESSAGES)]
    body = {"from": "news@example.com", "to": to, "subject": "Hello", "text": "Hello", "route": [LIMITED, OPEN]}
    answer = api.call("POST", "/batches", body)
    assert answer.status == 202, answer
    job = answer.body["job_id"]
    found = api.finished(job, leaves=("sent",))
    assert found["counts"]["sent"] == MESSAGES
    assert limited.times(job) + others.times(job) == dict.fromkeys(to, 1)
    assert {line["attempts"][0]["credential_id"] for line in api.lines(job)} == {LIMITED, OPEN}
    assert len(limited.of(job)) >= QUOTA, "all of the quota is used"

    alone = api.post([f"silent+{tag}.alone@example.com"], LIMITED)
    waits = wait_for(lambda: api.get(f"/jobs/{alone}")["waiting_for"] == "quota", SECONDS, pause=0.5)
    assert waits or hour() > begun, "a new hour has room"
    if waits:
        until = api.get(f"/jobs/{alone}")["until"]
        assert until is not None
        assert not limited.of(alone)
    assert api.call("POST", f"/jobs/{alone}/stop", {}).status == 200
    by_hour = Counter(int(row["at"] // 3600) for row in [*limited.of(job), *limited.of(alone)])
    assert max(by_hour.values()) <= QUOTA
