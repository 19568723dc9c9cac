"""`python -m benchmarks.deployed`: the sender as it is deployed, in a process of its own.

Runs the function's handler with two pointers an event, and the real stores, pacer, secrets, logs and metrics. The
provider and the transport are also real. Moto's server replaces AWS and the simulator replaces the provider. They are
other processes, so that their processor time is not counted. One recipient a call, windows of 200, a rate that does not
bind. Prints one JSON line. `python -m benchmarks.sender` measures the same engine over stores in memory.
"""

import argparse
import gc
import json
import os
import resource
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from statistics import mean
from typing import Any, Final

import boto3

import functions  # noqa: F401 - the garbage collector is set as in a function
from benchmarks.rig.answers import ENVIRONMENT
from benchmarks.rig.machine import REFERENCE_S, calibrate
from benchmarks.rig.world import Context
from benchmarks.sender import KEY, LATENCY_MS, LEASES, NAME, RATE, WINDOW, request
from shared import contracts
from shared.contracts import Credential, Settings, pointer
from shared.domain.jobs.job import Job
from shared.domain.jobs.states import Cell
from shared.engine.intake.accept import AcceptedJob, Acceptor
from simulator.run import SimulatorProcess
from tests.fakes.tables import create_tables

START_SECONDS: Final = 30


@contextmanager
def aws() -> Iterator[None]:
    """Run moto's server while it lasts; clients made meanwhile call it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
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
    queue = boto3.client("sqs").create_queue(QueueName=contracts.lane_queue_name("bench", NAME))["QueueUrl"]
    boto3.client("secretsmanager").create_secret(
        Name=contracts.secret_name("bench", NAME), SecretString=json.dumps({"api_key": KEY})
    )
    os.environ |= {
        contracts.ENV_SETTINGS: settings.dumps(),
        contracts.ENV_RECORDS_TABLE: tables.records,
        contracts.ENV_OPS_TABLE: tables.ops,
        contracts.ENV_LANE_URL_PREFIX: queue.removesuffix(NAME),
        contracts.ENV_LANE: NAME,
        contracts.ENV_LEASE_MARGIN: "5",
    }
    return settings


def accept(settings: Settings, count: int) -> Job:
    """Store a batch."""
    from functions.dispatch import services  # noqa: PLC0415 - after the environment is set

    d = services.deployment()
    acceptor = Acceptor(
        records=d.records, lanes=d.lanes, breaker_cache=d.breaker_cache, settings=settings, clock=d.clock
    )
    accepted = acceptor.accept(request(count))
    if not isinstance(accepted, AcceptedJob):
        raise TypeError("not accepted")
    return accepted.job


def send(job: Job) -> None:
    """Have a batch sent, two chunks an invocation."""
    from functions.dispatch.send import handler  # noqa: PLC0415 - after the environment is set

    for first in range(0, job.chunks, LEASES):
        chunks = range(first, min(first + LEASES, job.chunks))
        event: dict[str, Any] = {
            "Records": [{"messageId": uuid.uuid4().hex, "body": pointer(job.id, chunk)} for chunk in chunks]
        }
        if handler(event, Context())["batchItemFailures"]:
            raise RuntimeError("a pointer failed")


def check(job: Job) -> None:
    """Raise unless everything was sent."""
    from functions.dispatch import services  # noqa: PLC0415 - after the environment is set

    sent = sum(len(x.having(Cell.SENT)) for x in services.deployment().ledgers.read_all(job.id))
    if sent != job.total:
        raise RuntimeError(f"{job.total} messages, {sent} sent")


def run(messages: int) -> dict[str, float]:
    """Send a batch; returns µs of processor time a message, MB of memory, and what the machine was worth meanwhile."""
    with SimulatorProcess("--api-key", f"sendgrid={KEY}") as simulator, aws(), Path(os.devnull).open("w") as nowhere:
        simulator.control.faults("sendgrid", NAME, latency_ms=LATENCY_MS)
        settings = deploy(simulator.base_url("sendgrid", NAME))
        with redirect_stdout(nowhere):
            send(accept(settings, LEASES * WINDOW))  # connections
            job = accept(settings, messages)
            loops = [calibrate(1)]
            before = resource.getrusage(resource.RUSAGE_SELF)
            began = time.perf_counter()
            send(job)
            took = time.perf_counter() - began
            after = resource.getrusage(resource.RUSAGE_SELF)
            loops.append(calibrate(1))
        check(job)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "per_second": messages / took,
        "cpu_us": cpu / messages * 1e6,
        "slowness": mean(loops) / REFERENCE_S,
        "rss_mb": after.ru_maxrss / 1024,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    options = parser.parse_args()
    os.environ |= ENVIRONMENT
    gc.freeze()
    print(json.dumps(run(options.messages)))


if __name__ == "__main__":
    main()
