"""Cold starts: what importing a function and building its clients costs above bare boto3, and the memory it takes.

Each figure is the median over fifteen rounds. In each round it is the difference between a fresh process and the bare
one of the same round, so a busy machine disturbs both. Time is processor time of the process: user and system. Bare
boto3 is `import boto3` and one DynamoDB client. A function is measured with all that its first event needs in memory:
its handler, its AWS clients and its use case. A sender also has its provider and transport. No event is handled and
nothing is connected to.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.rig import rows
from benchmarks.rig.cases import CASES
from benchmarks.rig.rows import Row, named
from shared import contracts
from shared.contracts import Credential, Settings
from shared.contracts.console import ConsoleSettings

ROUNDS: Final = 15
GOALS: Final = {"send": 30, "log": 0, "track": 0, "webhooks": 0, "api": 150}
MEMORY_MB: Final = 256
ROOT: Final = Path(__file__).resolve().parent.parent


def available() -> list[str]:
    """Return the functions that this checkout has, bare boto3 first."""
    there = ["bare"]
    for name in list(CASES)[1:]:
        module = contracts.HANDLERS[name.partition(" ")[0]].rpartition(".")[0]
        if (ROOT / (module.replace(".", "/") + ".py")).exists():
            there.append(name)
    return there


def environment() -> dict[str, str]:
    """Return what a function is started with, and nothing of this process's own."""
    credentials = (
        Credential("sendgrid-main", "sendgrid", "email", 150.0),
        Credential("texts-main", "twilio", "sms", 20.0),
        Credential("calls-main", "twilio", "voice", 10.0),
    )
    settings = Settings("bench", credentials, {"email": ("sendgrid-main",)})
    return {
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": str(ROOT),
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "POWERTOOLS_SERVICE_NAME": "bench",
        contracts.ON_LAMBDA: "bench",
        contracts.ENV_SETTINGS: settings.dumps(),
        contracts.ENV_RECORDS_TABLE: "records",
        contracts.ENV_OPS_TABLE: "ops",
        contracts.ENV_BUCKET: "bench",
        contracts.ENV_CONSOLE: ConsoleSettings("github", "bench", ("somebody",)).dumps(),
        contracts.ENV_PEOPLE_TABLE: "people",
        contracts.ENV_FEEDBACK_QUEUE_URL: "https://sqs.us-east-1.amazonaws.com/123456789012/feedback",
        contracts.ENV_DUE_QUEUE_URL: "https://sqs.us-east-1.amazonaws.com/123456789012/due",
        contracts.ENV_SCHEDULER_ROLE_ARN: "arn:aws:iam::123456789012:role/scheduler",
        contracts.ENV_EXPORT_QUEUE_URL: "https://sqs.us-east-1.amazonaws.com/123456789012/export",
        contracts.ENV_INGEST_QUEUE_URL: "https://sqs.us-east-1.amazonaws.com/123456789012/ingest",
        contracts.ENV_LANE_URL_PREFIX: "https://sqs.us-east-1.amazonaws.com/123456789012/lane-",
        contracts.ENV_LANE: "sendgrid-main",
        contracts.ENV_LEASE_MARGIN: "5",
    }


def once(name: str) -> tuple[float, float]:
    """Start one process; returns its processor time in ms and its greatest memory in MB."""
    command = [sys.executable, "-m", "benchmarks.start", name]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return float(found["cpu_ms"]), float(found["rss_mb"])


def measure(rounds: int = ROUNDS) -> tuple[list[Row], float]:
    """Return the rows, and bare boto3's own milliseconds."""
    names = available()
    taken: dict[str, list[float]] = {name: [] for name in names}
    memory = dict.fromkeys(names, 0.0)
    once("bare")  # fills the caches of the file system, and writes the bytecode
    for _ in range(rounds):
        for name in names:
            cpu, rss = once(name)
            taken[name].append(cpu)
            memory[name] = max(memory[name], rss)

    def more(name: str) -> float:
        return median(a - b for a, b in zip(taken[name], taken["bare"], strict=True))

    out = [Row(named(rows.STARTS, n), more(n), GOALS[n], "ms") for n in names if n in GOALS]
    out += [Row(named(rows.MEMORY, n), memory[n], MEMORY_MB, "MB") for n in names[1:]]
    return out, median(taken["bare"])
