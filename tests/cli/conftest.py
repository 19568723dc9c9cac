import base64
import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
import typer.testing
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from moto import mock_aws
from typer.testing import CliRunner

from cli.main import app
from shared.contracts import INDEX_MINE, INDEX_OPEN, secret_name
from tests.cli.fakes import API_KEY, Done, FakeApi, FakeClock, Run, around
from tests.cli.operators import OperatorsFunction
from tests.cli.tree import root

TABLE = "dev-records"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and an environment without settings of any deployment."""
    for name in list(os.environ):
        if name.startswith(("POSTHASTE_", "AWS_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def run(clock: FakeClock) -> Run:
    def call(*arguments: str, input: str | bytes | None = None, terminal: bool = False) -> Done:  # noqa: A002
        found = CliRunner().invoke(app, arguments, input=input, obj=around(clock, terminal=terminal))
        return Done(found.exit_code, found.stdout, found.stderr)

    return call


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    fake = FakeApi()
    monkeypatch.setenv("POSTHASTE_URL", fake.url)
    monkeypatch.setenv("POSTHASTE_API_KEY", API_KEY)
    yield fake
    fake.close()


def table(stage: str) -> dict[str, Any]:
    """The part of table `records` that operators' commands use, as CreateTable takes it."""
    keys = [("pk", "HASH"), ("sk", "RANGE")]
    indices = {index: [(f"{index}_{name}", kind) for name, kind in keys] for index in (INDEX_OPEN, INDEX_MINE)}
    names = [name for index in (keys, *indices.values()) for name, _ in index]
    return {
        "TableName": f"{stage}-records",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
        "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in keys],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index,
                "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in schema],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
            for index, schema in indices.items()
        ],
    }


def deploy(stage: str, *, audit_days: int = 0, api: str = "", **connection: Any) -> None:
    """Deploy a stack that has the table, and the output that names it; `audit_days`: 0 for an earlier version's."""
    template = {
        "Resources": {"Records": {"Type": "AWS::DynamoDB::Table", "Properties": table(stage)}},
        "Outputs": {
            "RecordsTable": {"Value": {"Ref": "Records"}},
            **({"AuditDays": {"Value": str(audit_days)}} if audit_days else {}),
            **({"ApiUrl": {"Value": api}} if api else {}),
        },
    }
    stacks = boto3.client("cloudformation", region_name="us-east-1", **connection)
    stacks.create_stack(StackName=f"posthaste-{stage}", TemplateBody=json.dumps(template))


@pytest.fixture(scope="session", autouse=True)
def make_commands_once() -> Iterator[None]:
    """The tree of all commands is the same for each call of one: the tests make it once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", lambda _app: root())
        yield


@pytest.fixture(scope="session")
def serving() -> Iterator[OperatorsFunction]:
    function = OperatorsFunction()
    yield function
    function.close()


@pytest.fixture
def operators(serving: OperatorsFunction, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> OperatorsFunction:
    """The operators' function of the stage, which the environment names."""
    serving.begin(clock)
    monkeypatch.setenv("POSTHASTE_OPERATE_URL", serving.url)
    return serving


@pytest.fixture
def aws(operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stage dev on moto: its table, named by the environment, an empty secret, and the operators' function."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):  # a function has both
        monkeypatch.setenv(name, "us-east-1")
    monkeypatch.setenv("POSTHASTE_RECORDS_TABLE", TABLE)
    with mock_aws():
        boto3.client("dynamodb", region_name="us-east-1").create_table(**table("dev"))
        boto3.client("secretsmanager", region_name="us-east-1").create_secret(Name=secret_name("dev", "sendgrid-main"))
        yield


@cache
def public_key() -> str:
    """Return a key as SendGrid shows it, by which its webhooks are verified."""
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    return base64.b64encode(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()


def stored_secret(
    credential: str = "sendgrid-main", name: Callable[[str, str], str] = secret_name, **connection: Any
) -> str | None:
    client = boto3.client("secretsmanager", region_name="us-east-1", **connection)
    try:
        return str(client.get_secret_value(SecretId=name("dev", credential))["SecretString"])
    except client.exceptions.ResourceNotFoundException:
        return None


def everything_stored() -> str:
    client = boto3.client("dynamodb", region_name="us-east-1")
    return str(client.scan(TableName=TABLE)["Items"])
