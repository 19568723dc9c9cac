"""The engine's promises on the local cloud, by the simulator's own log: crashes, rates, stop and resume, redrive.

Leases take half a minute to run out, so the kills and the rates go on in the background, on lanes of their own, while
the other tests run; the last tests wait for them. The long forms: `make kill`.
"""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

import pytest

from infra.local import deploy
from infra.local.processes import wait_for
from shared.adapters.dynamo import keys
from shared.contracts import ENV_RECORDS_TABLE, pointer
from shared.domain.jobs.job import EXPRESS
from simulator.client import ControlClient
from tests.deployed import kills, rates
from tests.deployed.api import Api
from tests.deployed.drill import Running
from tests.deployed.inside import Inside
from tests.deployed.oracle import Oracle

pytestmark = pytest.mark.deployed

KILLS: Final = 2
KILL_LANE: Final = "sendgrid-main"
RATE_LANES: Final = ("rate-10", "rate-150")
RATE_SECONDS: Final = 20
SLOW: Final = "rate-1"
SECONDS: Final = 120
"""What must happen soon has happened by then, also on a busy machine."""


@pytest.fixture(scope="module", autouse=True)
def drills(request: pytest.FixtureRequest, running: Running) -> Iterator[dict[str, Future[Any]]]:
    """Begin what takes long, if a test of this run asks for it."""
    names = {item.name for item in request.session.items}
    with ThreadPoolExecutor(3) as pool:
        begun: dict[str, Future[Any]] = {}
        if "test_no_rate_is_exceeded" in names:
            for lane in RATE_LANES:
                begun[lane] = pool.submit(rates.judged, running, lane, seconds=RATE_SECONDS)
        if "test_a_killed_sender_neither_repeats_nor_loses_a_message" in names:
            begun["kills"] = pool.submit(kills.drill, running, {KILL_LANE: kills.SIZES}, KILLS, seed=1)
        yield begun


def silent(tag: str, count: int) -> list[str]:
    """Return addresses of which no feedback comes: what is said of them in the end is the engine's own word."""
    return [f"{kills.SILENT}+{tag}.{i}@example.com" for i in range(count)]


class Lane:
    """A lane's queues, and what its pointers do to a job."""

    def __init__(self, inside: Inside, credential: str) -> None:
        self._inside = inside
        self._sqs = inside.sqs
        self.url = inside.queue(credential)

    def let_die(self) -> list[str]:
        """Receive every pointer as often as a failing sender would; return what is dead then, off that queue."""
        found = self._sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["RedrivePolicy"])["Attributes"]
        for _ in range(json.loads(found["RedrivePolicy"])["maxReceiveCount"]):
            assert self._sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10, VisibilityTimeout=0)["Messages"]
        assert "Messages" not in self._sqs.receive_message(QueueUrl=self.url)
        dead = self._sqs.receive_message(QueueUrl=f"{self.url}-dlq", MaxNumberOfMessages=10)["Messages"]
        for message in dead:
            self._sqs.delete_message(QueueUrl=f"{self.url}-dlq", ReceiptHandle=message["ReceiptHandle"])
        return [message["Body"] for message in dead]

    def redrive(self, body: str, copies: int = 3) -> None:
        """Put a dead pointer back, several times over."""
        for _ in range(copies):
            self._sqs.send_message(QueueUrl=self.url, MessageBody=body)

    def drain(self) -> None:
        """Wait until every pointer has been dealt with."""
        assert wait_for(lambda: self._inside.waiting(self.url) == 0, SECONDS, pause=0.1)


@pytest.mark.promise(8)
def test_dead_pointers_redriven_at_any_state_send_nothing_twice(
    inside: Inside, api: Api, control: ControlClient, tag: str
) -> None:
    lane, oracle, to = Lane(inside, SLOW), Oracle(control, SLOW), silent(tag, EXPRESS + 1)
    seen: list[str] = []

    def stored(job: str) -> Any:
        return inside.records.job(job), inside.ledgers.read_all(job)

    def redrive(job: str, state: str) -> None:
        assert api.get(f"/jobs/{job}")["state"] == state
        lane.redrive(dead)
        assert api.get(f"/jobs/{job}")["state"] == state
        seen.append(state)

    inside.consume(SLOW, on=False)
    try:
        job = api.post(to, SLOW)
        (dead,) = lane.let_die()
        assert dead == pointer(job, 0)
        redrive(job, "ENQUEUED")
    finally:
        inside.consume(SLOW, on=True)
    assert wait_for(lambda: len(oracle.of(job)) > 0, SECONDS)
    redrive(job, "SENDING")
    assert api.finished(job, leaves=("sent",))["counts"]["sent"] == len(to)
    lane.drain()
    done = stored(job)
    redrive(job, "LOGGED")
    lane.drain()
    assert stored(job) == done
    _set_state(inside, job, "SENT")
    done = stored(job)
    redrive(job, "SENT")
    lane.drain()
    assert stored(job) == done
    _set_state(inside, job, "LOGGED")
    assert oracle.times(job) == dict.fromkeys(to, 1)
    assert seen == ["ENQUEUED", "SENDING", "LOGGED", "SENT"]


@pytest.mark.promise(8)
@pytest.mark.promise(4)
def test_pointers_of_a_stopped_job_send_nothing_and_resuming_sends_the_rest_once(
    inside: Inside, api: Api, control: ControlClient, tag: str
) -> None:
    lane, oracle, to = Lane(inside, SLOW), Oracle(control, SLOW), silent(tag, 5)
    control.faults("sendgrid", SLOW, latency_ms=3000)  # a lease that is busy keeps the job STOPPED
    try:
        job = api.post(to, SLOW)
        assert wait_for(lambda: len(oracle.of(job)) > 0, SECONDS, pause=0.01)
        assert api.call("POST", f"/jobs/{job}/stop").status == 200
        before = len(oracle.of(job))
        lane.redrive(pointer(job, 0))
        assert api.get(f"/jobs/{job}")["state"] == "STOPPED"
    finally:
        control.faults("sendgrid", SLOW)
    found = api.finished(job, leaves=("queued", "sent"))
    lane.drain()
    stopped = len(oracle.of(job))
    assert stopped <= before + 1  # a window of this lane is one message
    assert found["counts"]["queued"] == len(to) - stopped > 0
    lane.redrive(pointer(job, 0))
    lane.drain()
    assert len(oracle.of(job)) == stopped
    assert api.get(f"/jobs/{job}")["state"] == "LOGGED"
    assert api.call("POST", f"/jobs/{job}/resume").status == 200
    lane.redrive(pointer(job, 0))
    assert api.finished(job, leaves=("sent",))["counts"]["sent"] == len(to)
    lane.drain()
    assert oracle.times(job) == dict.fromkeys(to, 1)


@pytest.mark.promise(2)
def test_no_rate_is_exceeded(drills: dict[str, Future[Any]]) -> None:
    for lane in RATE_LANES:
        run: rates.Run = drills[lane].result()
        assert run.accepted == run.messages, run.row()
        assert run.workers > 1, run.row()
        assert run.certain <= run.rate + 1, run.row()


@pytest.mark.promise(1)
@pytest.mark.promise(3)
def test_a_killed_sender_neither_repeats_nor_loses_a_message(drills: dict[str, Future[Any]]) -> None:
    shots, report = drills["kills"].result()
    assert report.wrong == [], kills.table(shots)
    assert all(shot.killed for shot in shots), kills.table(shots)
    assert any(map(kills.hit, shots)), kills.table(shots)
    assert report.figures["reads of counts meanwhile"] > 50


def _set_state(inside: Inside, job: str, state: str) -> None:
    """Put a finished job into a state as if its finaliser had got no further; nobody looks for it."""
    deploy.client("dynamodb", inside.port).update_item(
        TableName=inside.deployment.environment[ENV_RECORDS_TABLE],
        Key=keys.job(job),
        UpdateExpression="SET #s = :s, version = version + :one",
        ExpressionAttributeNames={"#s": "state"},
        ExpressionAttributeValues={":s": {"S": state}, ":one": {"N": "1"}},
    )
