"""Kill switches on the local cloud: a batch paused in mid-sending, slowed, and resumed, by the simulator's own log."""

import time
from typing import Final

import pytest

from infra.local import accounts, deploy
from infra.local.processes import wait_for
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo.credentials.switchboard import Switchboard
from shared.contracts import ENV_OPS_TABLE, ENV_RECORDS_TABLE
from shared.domain.audit import SYSTEM
from shared.domain.lanes.switches import Switch
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.inside import Inside
from tests.deployed.oracle import Oracle
from tests.deployed.rates import certainly_within

pytestmark = pytest.mark.deployed

LANE: Final = "rate-150"
SLOWER: Final = 100
SECONDS: Final = 60
"""What must happen soon has happened by then, also on a busy machine."""


@pytest.mark.promise(2)
@pytest.mark.promise(4)
def test_a_batch_is_paused_in_mid_sending_slowed_and_resumed(
    inside: Inside, api: Api, control: ControlClient, tag: str
) -> None:
    environment, window = inside.deployment.environment, inside.window(LANE)
    board = Switchboard(
        deploy.client("dynamodb", inside.port),
        records=environment[ENV_RECORDS_TABLE],
        ops=environment[ENV_OPS_TABLE],
        clock=SystemClock(),
    )
    oracle, to = Oracle(control, LANE), [f"silent+{tag}.{i}@example.com" for i in range(2 * window + SLOWER)]
    job = api.post(to, LANE)
    try:
        assert wait_for(lambda: len(oracle.of(job)) > 0, SECONDS, pause=0.01)
        assert board.pause(Switch(credential=LANE), by=SYSTEM, reason="drill")
        before = len(oracle.of(job))
        board.set_rate(LANE, SLOWER, ceiling=inside.lane(LANE).rate, by=SYSTEM, reason="drill")
        assert wait_for(lambda: not _busy(inside, job), SECONDS, pause=0.1)
        paused = len(oracle.of(job))
        assert 0 < paused <= before + window, "more than the window in flight"
        found = api.get(f"/jobs/{job}")
        assert (found["waiting_for"], found["rate"], found["counts"]["queued"]) == ("paused", None, len(to) - paused)
        assert paused < len(to)
    finally:
        resumed = accounts.posthaste(inside.deployment, inside.port, "resume", "--credential", LANE)
    try:
        assert resumed == {"credential_id": LANE, "paused": False, "changed": True}
        begun = time.time()
        found = api.finished(job, leaves=("sent",))
    finally:
        board.set_rate(LANE, 0, ceiling=inside.lane(LANE).rate, by=SYSTEM, reason="drill")
    assert found["counts"]["sent"] == len(to)
    assert oracle.times(job) == dict.fromkeys(to, 1)
    assert certainly_within(control.calls(credential=LANE, since=begun), 1.0) <= SLOWER + 1


def _busy(inside: Inside, job: str) -> bool:
    return bool(inside.ledgers.find_inflight(job)) or inside.waiting(inside.queue(LANE)) > 0
