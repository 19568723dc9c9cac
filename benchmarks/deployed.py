"""`python -m benchmarks.deployed`: the sender as it is deployed, in a process of its own.

Runs the function's handler with two pointers an event, and the real stores, pacer, secrets, logs and metrics. With
`--single` each message is a job of its own, and an event has a group of them. The
provider and the transport are also real. Moto's server replaces AWS and the simulator replaces the provider. They are
other processes, so that their processor time is not counted. One recipient a call, windows of 200, a rate that does not
bind. Prints one JSON line. `python -m benchmarks.sender` measures the same engine over stores in memory.
"""

import gc
import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, Final

import boto3

import functions  # noqa: F401 - the garbage collector is set as in a function
from benchmarks.rig.lane import KEY, accepted, request
from benchmarks.rig.runner import Spent, script
from benchmarks.rig.world import Context
from benchmarks.sender import LATENCY_MS, LEASES, NAME, RATE, WINDOW
from shared import contracts
from shared.contracts import Credential, Settings, pointer
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import Cell
from shared.engine.intake.accept import Acceptor
from simulator.run import SimulatorProcess
from tests.fakes.tables import create_tables

START_SECONDS: Final = 30


@contextmanager
def aws() -> Iterator[None]:
    """Run moto's server while it lasts; clients made meanwhile call it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    serve = [sys.executable, "-m", "benchmarks.aws.server", str(port)]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > deadline or server.poll() is not None:
                    raise
                time.sleep(0.05)
        os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
        yield
    finally:
        server.terminate()
        server.wait()


def deploy(base_url: str) -> Settings:
    """Make what the sender's function finds when it starts, and set its environment."""
    credential = Credential(NAME, "sendgrid", "email", RATE, base_url, workers=1, per_call=1)
    settings = Settings("bench", (credential,), {"email": (NAME,)})
    tables = create_tables(boto3.client("dynamodb"))
    sqs = boto3.client("sqs")
    queue = sqs.create_queue(QueueName=contracts.lane_queue_name("bench", NAME))["QueueUrl"]
    sqs.create_queue(QueueName=contracts.express_queue_name("bench", NAME))
    boto3.client("secretsmanager").create_secret(
        Name=contracts.secret_name("bench", NAME), SecretString=json.dumps({"api_key": KEY})
    )
    os.environ |= {
        contracts.ENV_SETTINGS: settings.dumps(),
        contracts.ENV_RECORDS_TABLE: tables.records,
        contracts.ENV_OPS_TABLE: tables.ops,
        contracts.ENV_LANE_URL_PREFIX: queue.removesuffix(NAME),
        contracts.ON_LAMBDA: "bench",
        contracts.ENV_LANE: NAME,
        contracts.ENV_LEASE_MARGIN: "5",
    }
    return settings


def accept(settings: Settings, sizes: Sequence[int]) -> list[Job]:
    """Store batches."""
    from functions.dispatch import services  # noqa: PLC0415 - after the environment is set

    d = services.deployment()
    acceptor = Acceptor(
        records=d.records, lanes=d.lanes, breaker_cache=d.breaker_cache, settings=settings, clock=d.clock
    )
    return [accepted(acceptor, request(count, (NAME,))) for count in sizes]


def send(jobs: Sequence[Job], together: int, queue: str) -> None:
    """Have batches sent, so many pointers an invocation."""
    from functions.dispatch.send import handler  # noqa: PLC0415 - after the environment is set

    pointers = [pointer(job.id, chunk) for job in jobs for chunk in range(job.chunks)]
    arn = f"arn:aws:sqs:us-east-1:123456789012:{queue}"
    for first in range(0, len(pointers), together):
        event: dict[str, Any] = {
            "Records": [
                {"messageId": uuid.uuid4().hex, "body": body, "eventSourceARN": arn}
                for body in pointers[first : first + together]
            ]
        }
        if handler(event, Context())["batchItemFailures"]:
            raise RuntimeError("a pointer failed")


def check(jobs: Sequence[Job]) -> None:
    """Raise unless everything was sent."""
    from functions.dispatch import services  # noqa: PLC0415 - after the environment is set

    ledgers = services.deployment().ledgers
    sent = sum(len(x.having(Cell.SENT)) for job in jobs for x in ledgers.read_all(job.id))
    total = sum(job.total for job in jobs)
    if sent != total:
        raise RuntimeError(f"{total} messages, {sent} sent")


def run(*, messages: int, single: bool) -> dict[str, float]:
    """Send a batch; return µs of processor time a message, MB of memory, and what the machine was worth meanwhile.

    Args:
        single: whether each message is a batch of its own.
    """
    gc.freeze()
    with SimulatorProcess("--api-key", f"sendgrid={KEY}") as simulator, aws(), Path(os.devnull).open("w") as nowhere:
        simulator.control.faults("sendgrid", NAME, latency_ms=LATENCY_MS)
        settings = deploy(simulator.base_url("sendgrid", NAME))
        group = settings.credential(NAME).group
        name = contracts.express_queue_name if single else contracts.lane_queue_name
        warm, sizes, together = (
            ([1] * group, [1] * messages, group) if single else ([LEASES * WINDOW], [messages], LEASES)
        )
        with redirect_stdout(nowhere):
            send(accept(settings, warm), together, name("bench", NAME))  # connections
            jobs = accept(settings, sizes)
            for url in boto3.client("sqs").list_queues()["QueueUrls"]:
                boto3.client("sqs").purge_queue(QueueUrl=url)  # the pointers are at hand
            with Spent() as spent:
                send(jobs, together, name("bench", NAME))
        check(jobs)
    return spent.of(messages)


if __name__ == "__main__":
    script("deployed", __doc__, run, messages=10_000, single=False)
