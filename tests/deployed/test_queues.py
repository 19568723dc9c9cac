"""Dead letters on the local cloud: seen, redriven by the command, and nothing is sent for it."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from infra.local import deploy
from infra.local.paths import ENV_LOCAL
from infra.local.processes import wait_for
from shared.adapters.dynamo.audit import DynamoJournal
from shared.adapters.dynamo.client import Dynamo
from shared.contracts import ENV_OPS_TABLE, ENV_RECORDS_TABLE, pointer, prefix
from shared.domain.audit import EVERYONE, Log
from shared.domain.jobs.job import EXPRESS
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.inside import Inside
from tests.deployed.oracle import Oracle

pytestmark = pytest.mark.deployed

LANE = "rate-10"
SECONDS = 60


Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def posthaste(inside: Inside) -> Run:
    """The command of an operator of this cloud: exit code and JSON, of a list one a line."""

    def run(*words: str) -> tuple[int, Any]:
        found = CliRunner().invoke(app, [*words, "--json"], env={ENV_LOCAL: str(inside.cloud.paths.home)})
        assert found.stdout, found.stderr
        lines = [json.loads(line) for line in found.stdout.splitlines()]
        return found.exit_code, lines[0] if len(lines) == 1 else lines

    return run


def dead_stream_batch(inside: Inside, job: str) -> str:
    """The report that Lambda would write of the batch of the `ops` stream with a job's latest records."""
    streams = deploy.client("dynamodbstreams", inside.port)
    table = inside.deployment.environment[ENV_OPS_TABLE]
    arn = deploy.client("dynamodb", inside.port).describe_table(TableName=table)["Table"]["LatestStreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    start = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
    numbers: list[str] = []
    while start:
        page = streams.get_records(ShardIterator=start, Limit=1000)
        records = [r["dynamodb"] for r in page["Records"]]
        numbers += [r["SequenceNumber"] for r in records if r["Keys"]["pk"]["S"] == f"J#{job}"]
        start = page.get("NextShardIterator") if records else None
    batch = {"streamArn": arn, "shardId": shard, "batchSize": len(numbers)}
    batch |= {"startSequenceNumber": numbers[0], "endSequenceNumber": numbers[-1]}
    return json.dumps({"requestContext": {"condition": "RetryAttemptsExhausted"}, "DDBStreamBatchInfo": batch})


@pytest.mark.promise(8)
def test_an_operator_sees_what_is_dead_and_redrives_it(
    inside: Inside, api: Api, control: ControlClient, posthaste: Run, tag: str
) -> None:
    begun, oracle = int(time.time() * 1000), Oracle(control, LANE)
    people = [f"{n}.{tag}@example.com" for n in range(EXPRESS + 1)]  # a small job leaves no record of its own in `ops`
    job = api.post(people, LANE)
    found = api.finished(job, leaves=("delivered",))
    dead = f"{inside.queue(LANE)}-dlq"
    reports = inside.sqs.get_queue_url(QueueName=f"{prefix('dev')}-log-dlq")["QueueUrl"]
    for url, body in ((dead, pointer(job, 0)), (dead, "nonsense"), (reports, dead_stream_batch(inside, job))):
        inside.sqs.send_message(QueueUrl=url, MessageBody=body)

    _, listed = posthaste("queue", "list")
    lying = {x["queue"]: x["dead"] for x in listed}
    assert (lying[f"lane-{LANE}"], lying["log"] > 0) == (2, True)
    _, shown = posthaste("redrive", LANE, "--dry-run")
    assert {x["what"]: x["state"].partition(";")[0] for x in shown["items"]} == {
        f"job {job} chunk 0": "job LOGGED",
        None: "cannot be read",
    }
    code, done = posthaste("redrive", LANE, "--yes")
    assert (code, done["moved"], [x["why"] for x in done["left"]]) == (1, 1, ["not a message of this queue"])
    code, done = posthaste("redrive", LANE, "--discard", "--yes")
    assert (code, done["moved"], done["discarded"]) == (0, 0, 1)
    assert posthaste("redrive", "log", "--yes")[1]["moved"] == lying["log"]

    assert wait_for(lambda: inside.waiting(inside.queue(LANE)) == 0, SECONDS, pause=0.1)
    assert inside.waiting(dead) == inside.waiting(reports) == 0
    assert api.get(f"/jobs/{job}")["counts"] == found["counts"]
    assert oracle.times(job) == dict.fromkeys(people, 1)
    dynamo = Dynamo(deploy.client("dynamodb", inside.port))
    journal = DynamoJournal(dynamo, inside.deployment.environment[ENV_RECORDS_TABLE])
    kinds = [x.kind for x in journal.since(EVERYONE, Log.AUDIT, begun) if x.id == f"lane-{LANE}"]
    assert kinds == ["queue.redrive_begun", "queue.redrive_ended"] * 2
