"""Two clouds side by side as cells, with the router before them: an account moves from one to the other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from cli.main import app
from functions.router.directory import Directory
from functions.router.handler import respond
from functions.router.services import RouterServices
from infra.local import cloud as local_cloud
from infra.local import deploy, emulator
from infra.local.cloud import Cloud
from infra.local.paths import Paths
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo import keys
from shared.adapters.dynamo.cells.moves import QUIET_MS, MovingAccounts
from shared.adapters.dynamo.homes import Homes
from shared.adapters.http.transport import HttpClient
from shared.contracts import (
    ENV_AUDIT_TABLE,
    ENV_IDENTITIES_TABLE,
    ENV_RECORDS_TABLE,
    addresses_secret_name,
    prefix,
)
from simulator.client import ControlClient
from tests.api.conftest import event
from tests.deployed.api import Api
from tests.deployed.inside import Inside, port_of
from tests.fakes.cells import FakeCellRoutes

pytestmark = [pytest.mark.deployed, pytest.mark.promise(1)]

FIRST: Final = "news@example.com"
LATER: Final = "hello@example.com"
"""Processes remember for half a minute who may send from the first address, and not yet from this one."""


class Earlier(SystemClock):
    """A clock that is behind, by which a process would have begun the move a while ago."""

    def now(self) -> float:
        return super().now() - QUIET_MS / 1000


class DeployedCell:
    """A cloud, and the commands of an operator who may erase there."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud, self.port = cloud, port_of(cloud)
        self.inside = Inside.of(cloud, deploy.stacks(cloud.paths, self.port), self.port)
        self.user = f"mover-{self.port}"
        iam = self.client("iam")
        stack = self.client("cloudformation").describe_stacks(StackName=prefix("dev"))["Stacks"][0]
        outputs = {x["OutputKey"]: x["OutputValue"] for x in stack["Outputs"]}
        iam.create_user(UserName=self.user)
        for policy in ("Eraser", "KeyAdmin", "Operator"):
            iam.attach_user_policy(UserName=self.user, PolicyArn=outputs[f"{policy}Policy"])
        key = iam.create_access_key(UserName=self.user)["AccessKey"]
        self.environment = {
            "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
            "AWS_REGION": emulator.REGION,
            "POSTHASTE_OPERATE_URL": cloud.api,
        }

    def client(self, service: str) -> Any:
        return deploy.client(service, self.port)

    def run(self, *words: str) -> Any:
        """Run a command; return its JSON."""
        unset = dict.fromkeys(("AWS_ENDPOINT_URL", "AWS_PROFILE", "POSTHASTE_LOCAL"))
        done = CliRunner().invoke(app, [*words, "--aws", "--json"], env={**unset, **self.environment})
        assert done.exit_code == 0, (words, done.stderr)
        return json.loads(done.stdout)

    @property
    def table(self) -> str:
        return str(self.inside.deployment.environment[ENV_RECORDS_TABLE])

    def mails_to(self, address: str) -> int:
        """Return how many mails the simulator has for an address."""
        lines = ControlClient(self.cloud.env["SIMULATOR_URL"]).log()
        return sum(line["recipient"] == address for line in lines)


@pytest.fixture(scope="module")
def old(cloud: Cloud) -> DeployedCell:
    return DeployedCell(cloud)


@pytest.fixture(scope="module")
def new(old: DeployedCell) -> Iterator[DeployedCell]:
    """A second cloud, whose hashes of addresses have the first one's key: nothing has been sent there."""
    home = old.cloud.paths.home
    with local_cloud.lent(Paths(home.with_name(f"{home.name}-cell"))) as running:
        cell = DeployedCell(running)
        secret = addresses_secret_name("dev")
        value = old.client("secretsmanager").get_secret_value(SecretId=secret)["SecretString"]
        cell.client("secretsmanager").put_secret_value(SecretId=secret, SecretString=value)
        state = old.inside.dynamo.get(old.table, keys.names())
        cell.inside.dynamo.call("put_item", TableName=cell.table, Item=state)
        yield cell


class Front:
    """The router, as its function, before two cells; and the key of an account."""

    def __init__(self, old: DeployedCell, new: DeployedCell, key: str) -> None:
        clock = SystemClock()
        self.http = HttpClient(clock, max_body=6 << 20)
        cells = {"old": old.cloud.api, "new": new.cloud.api}
        self.services = RouterServices(cells, FakeCellRoutes(), self.http, clock)
        self.directory: Directory = self.services.directory()
        self.key = key

    def post(self, to: str, name: str, sender: str = LATER) -> tuple[int, dict[str, Any]]:
        """Post a batch with an idempotency key; return status and body."""
        body = {"from": sender, "to": [to], "subject": "Hello", "text": "Hello!"}
        headers = {"Authorization": f"Bearer {self.key}", "Idempotency-Key": name}
        raw = event("POST", "/batches", body=body, headers=headers)
        got = respond(raw, "r", self.services, self.directory)
        return got["statusCode"], json.loads(got["body"])


def test_an_account_moves_to_another_cloud_and_no_message_is_sent_twice(
    old: DeployedCell, new: DeployedCell, tag: str, tmp_path: Path
) -> None:
    account = old.run("account", "create", f"Mover {tag}", "--sender", "example.com")["account_id"]
    key = old.run("key", "create", account)["key"]
    front, file = Front(old, new, key), str(tmp_path / "account.jsonl")
    ann, ben, refused = (f"{name}+{tag}@example.org" for name in ("ann", "ben", "refused"))
    before, after = Api(old.cloud.api, key), Api(new.cloud.api, key)

    status, first = front.post(ann, "order-1", FIRST)
    assert status == 202, first
    before.finished(first["job_id"])
    assert before.call("PUT", f"/suppressions/{refused}", {"reason": "asked"}).status in {200, 201}

    variables = old.inside.deployment.environment
    homes = Homes(variables[ENV_IDENTITIES_TABLE], variables[ENV_AUDIT_TABLE], both=True)
    moving = MovingAccounts(old.client("dynamodb"), old.table, Earlier(), homes=homes)
    assert moving.begin_move(account, new.cloud.api)  # a minute ago: the test need not wait
    assert front.post(ben, "order-2")[1]["code"] == "account_moving"
    old.run("account", "depart", account, file, "--to", new.cloud.api, "--yes")
    new.run("account", "arrive", file)
    assert front.post(ben, "order-2")[1]["code"] == "account_moving"
    old.run("account", "depart", account, file, "--left", "--yes")
    new.run("account", "arrive", file, "--open")

    status, second = front.post(ben, "order-2")
    assert status == 202, second
    after.finished(second["job_id"])
    assert before.call("POST", "/batches", {}).status in {403, 421}
    assert front.post(refused, "order-3")[1]["code"] == "no_valid_recipient"
    assert front.post(ann, "order-1", FIRST) == (202, first)
    assert (old.mails_to(ann), new.mails_to(ann)) == (1, 0)
    assert (old.mails_to(ben), new.mails_to(ben)) == (0, 1)
    front.http.close()
