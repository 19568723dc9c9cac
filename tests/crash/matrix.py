"""Runs the matrix: finds the points, kills at each, recovers, and asks the simulator's log what really happened."""

import json
import socket
import subprocess
import sys
import tempfile
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import boto3

from shared import contracts
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.recipients.suppressions import Suppressions
from shared.contracts import Credential, Settings
from simulator import ControlClient, SimulatorProcess
from tests.crash import mail_script, script
from tests.crash.mail_verdict import MailVerdict
from tests.crash.script import CREDENTIAL, SENDER, Place, Shape
from tests.crash.taps import KILLED
from tests.fakes.forks import run as run_forked
from tests.fakes.tables import create_tables

ROOT: Final = Path(__file__).resolve().parents[2]
WORKERS: Final = 2
LIMIT: Final = 60.0
"""Seconds that one process may take."""
SECRETS: Final[Mapping[str, Mapping[str, str]]] = {
    "sendgrid": {"api_key": "SG.simulator"},
    "mailgun": {"api_key": "key-simulator", "domain": "mg.posthaste.example"},
}
"""Provider → what the simulator accepts."""


class MatrixError(AssertionError):
    """A promise did not hold at a point."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What came of one point: its name, and the messages' states before and after the provider's late words."""

    point: str
    outcome: str


@contextmanager
def moto_server() -> Iterator[str]:
    """Run moto as a server of its own and yield its address; whoever connects before it is ready waits."""
    with tempfile.TemporaryFile() as output:
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
            port, inherited = listener.getsockname()[1], listener.fileno()
            command = [sys.executable, "-m", "tests.crash.aws", str(inherited)]
            process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, pass_fds=(inherited,))
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


class Cloud:
    """moto and the simulator, and a deployment of its own for each run: runs must not meet."""

    def __init__(self, aws: str, simulator: str) -> None:
        self.simulator = simulator
        self._aws = {
            "AWS_ENDPOINT_URL": aws,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        session = boto3.Session("testing", "testing", region_name="us-east-1")
        self._dynamo = session.client("dynamodb", endpoint_url=aws)
        self._sqs = session.client("sqs", endpoint_url=aws)
        self._secrets = session.client("secretsmanager", endpoint_url=aws)
        self._s3 = session.client("s3", endpoint_url=aws)

    def deploy(self, shape: Shape) -> Place:
        """Make tables, a lane, a secret and an account with its sender, and return where they are."""
        stage = uuid.uuid4().hex
        tables = create_tables(self._dynamo)
        url = self._sqs.create_queue(QueueName=contracts.lane_queue_name(stage, CREDENTIAL))["QueueUrl"]
        self._secrets.create_secret(
            Name=contracts.secret_name(stage, CREDENTIAL), SecretString=json.dumps(SECRETS[shape.provider])
        )
        settings = Settings(stage, (Credential(CREDENTIAL, shape.provider, "email", 500),), {"email": (CREDENTIAL,)})
        env = {
            **self._aws,
            contracts.ENV_SETTINGS: settings.dumps(),
            contracts.ENV_RECORDS_TABLE: tables.records,
            contracts.ENV_OPS_TABLE: tables.ops,
            contracts.ENV_LANE: CREDENTIAL,
            contracts.ENV_LANE_URL_PREFIX: url.removesuffix(CREDENTIAL),
            contracts.ENV_INGEST_QUEUE_URL: url,  # no list is ever taken here
            contracts.ENV_LEASE_MARGIN: "5",
            contracts.ENV_BUCKET: stage,
        }
        accounts = Accounts(self._dynamo, tables.records, SystemClock())
        account = accounts.create_account("Crash", [SENDER])
        if shape.mail:
            self._s3.create_bucket(Bucket=stage)
            Suppressions(self._dynamo, tables.records, SystemClock()).put(account, mail_script.UNWANTED, "asked")
        return Place(env, self.simulator, shape, account, key=stage)


class Matrix:
    """The matrix of one shape."""

    def __init__(self, cloud: Cloud, shape: Shape, folder: Path) -> None:
        self._cloud = cloud
        self._shape = shape
        self._folder = folder
        self._script: Any = mail_script if shape.mail else script

    def points(self) -> list[str]:
        """Return the names of all points, from a run that is not killed."""
        place, report = self._place()
        status = run_forked(self._script.first, place, 0, report, limit=LIMIT)
        if status != 0:
            raise self._fault("none", f"the undisturbed run ended with {status}")
        names: list[str] = json.loads(report.read_text())
        self._judge("none", place, allowed=0)
        return names

    def kill(self, number: int, name: str) -> Cell:
        """Kill at one point, recover, and judge."""
        place, report = self._place()
        status = run_forked(self._script.first, place, number, report, limit=LIMIT)
        if status not in (KILLED, 0):
            raise self._fault(f"{number} ({name})", f"the process ended with {status}")
        return Cell(name, self._judge(f"{number} ({name})", place, allowed=self._shape.window))

    def _judge(self, where: str, place: Place, *, allowed: int) -> str:
        report = self._folder / f"{uuid.uuid4().hex}.json"
        status = run_forked(self._script.after, place, report, limit=LIMIT)
        if status != 0:
            raise self._fault(where, f"recovery ended with {status}")
        result = json.loads(report.read_text())
        if self._shape.mail:
            return self._judge_mail(where, result, allowed)
        job, said, proven = result["job"], result["said"], result["proven"]
        accepted = Counter(
            row["recipient"] for row in ControlClient(self._cloud.simulator).log() if row["ref"].startswith(job["id"])
        )
        doubled = [r for r, n in accepted.items() if n > 1]
        if doubled:
            raise self._fault(where, f"accepted twice: {doubled}")
        if job["state"] != "LOGGED" or sum(job["counts"].values()) != job["total"]:
            raise self._fault(where, f"{job}")
        if result["holder"]:
            raise self._fault(where, f"{result['holder']} keeps the credential")
        if len(said) != self._shape.recipients:
            raise self._fault(where, f"{len(said)} messages of {self._shape.recipients}")
        self._check(where, said, proven, accepted)
        return self._outcome(where, sum(s == "unknown" for s in said.values()), allowed)

    def _judge_mail(self, where: str, result: Mapping[str, Any], allowed: int) -> str:
        control = ControlClient(self._cloud.simulator)
        jobs = tuple(mail["job"] for mail in result["mails"])
        rows = [row for row in control.log() if row["ref"].startswith(jobs)]
        verdict = MailVerdict(result, rows, lambda seq: str(control.json("GET", f"/inbox/{seq}.json")["text"]))
        for fault in verdict.faults():
            raise self._fault(where, fault)
        return self._outcome(where, verdict.unknown(), allowed)

    def _outcome(self, where: str, unknown: int, allowed: int) -> str:
        if unknown > allowed:
            raise self._fault(where, f"{unknown} unknown, more than a window")
        return f"{unknown} unknown" if unknown else "all known"

    def _check(
        self, where: str, said: Mapping[str, str], proven: Mapping[str, str], accepted: Mapping[str, int]
    ) -> None:
        for recipient, state in said.items():
            if state not in ("sent", "delivered", "unknown"):
                raise self._fault(where, f"{recipient} is {state}")
            if state != "unknown" and recipient not in accepted:
                raise self._fault(where, f"{recipient} is {state}, but no provider has it")
            if recipient in accepted and proven[recipient] != "delivered":
                raise self._fault(where, f"{recipient} was delivered and is {proven[recipient]}")

    def _fault(self, where: str, what: str) -> MatrixError:
        return MatrixError(f"scenario {self._shape.name}, point {where}: {what}")

    def _place(self) -> tuple[Place, Path]:
        place = self._cloud.deploy(self._shape)
        return place, self._folder / f"{place.key}.json"


def run(
    shapes: Sequence[Shape],
    *,
    ends: bool = False,
    points: Sequence[int] | None = None,
    named: Collection[str] | None = None,
) -> dict[str, list[Cell]]:
    """Run the matrix for each shape.

    Args:
        shapes: the scenarios.
        ends: only the first and the last point of each name.
        points: only these points of each, counted from 1; None for all.
        named: only the points of these names; None for all.

    Raises:
        MatrixError: a promise did not hold.
    """
    out: dict[str, list[Cell]] = {}
    with tempfile.TemporaryDirectory() as folder, moto_server() as aws, SimulatorProcess() as simulator:
        cloud = Cloud(aws, simulator.url)
        for shape in shapes:
            matrix = Matrix(cloud, shape, Path(folder))
            names = matrix.points()
            numbers = [n for n in range(1, len(names) + 1) if points is None or n in points]
            numbers = [n for n in numbers if named is None or names[n - 1] in named]
            if ends:
                numbers = _ends(names, numbers)
            with ThreadPoolExecutor(WORKERS) as pool:
                cells = [pool.submit(matrix.kill, n, names[n - 1]) for n in numbers]
                out[shape.name] = [c.result() for c in cells]
    return out


def _ends(names: Sequence[str], numbers: Sequence[int]) -> list[int]:
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for number in numbers:
        alike[names[number - 1]].append(number)
    return sorted({found[i] for found in alike.values() for i in (0, -1)})


def table(results: dict[str, list[Cell]]) -> str:
    """Return points by outcomes as text."""
    lines = []
    for shape, cells in results.items():
        outcomes = Counter((c.point, c.outcome) for c in cells)
        sums = Counter(c.outcome for c in cells)
        lines.append(f"{shape}: {len(cells)} points ({', '.join(f'{n} {what}' for what, n in sorted(sums.items()))})")
        lines += [f"  {n:4} x {point:32} {outcome}" for (point, outcome), n in sorted(outcomes.items())]
    return "\n".join(lines)
