"""Where operators' commands go: the environment, the local cloud's file, the stack's outputs; and what goes wrong."""

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.server import ThreadedMotoServer

from cli.deployment import aws_errors, deployment
from cli.errors import Failed, NotAuthorised, NotFound
from shared.contracts import Credential, Settings, secret_name
from shared.providers.registry import secret_fields
from tests.cli.conftest import TABLE, deploy, stored_secret
from tests.cli.fakes import FakeClock, Run
from tests.cli.operators import OperatorsFunction


@pytest.fixture
def stacks(aws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only stage prod has a stack; its table is found by it."""
    monkeypatch.delenv("POSTHASTE_RECORDS_TABLE")
    deploy("prod")


@pytest.mark.usefixtures("stacks")
def test_the_stack_of_the_stage_names_the_table() -> None:
    assert deployment("prod", aws=False).table() == "prod-records"
    with pytest.raises(NotFound, match="no stack posthaste-dev in AWS us-east-1"):
        deployment("dev", aws=False).table()


@pytest.mark.parametrize(("stage", "declared", "days"), [("old", 0, 400), ("bank", 3650, 3650)])
@pytest.mark.usefixtures("aws")
def test_what_operators_do_is_kept_for_as_long_as_the_stack_says(
    monkeypatch: pytest.MonkeyPatch, stage: str, declared: int, days: int
) -> None:
    monkeypatch.delenv("POSTHASTE_RECORDS_TABLE")
    deploy(stage, audit_days=declared)
    assert deployment(stage, aws=False).audit_days() == days


@pytest.mark.usefixtures("aws")
def test_a_functions_own_settings_name_the_stage(
    run: Run, operators: OperatorsFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = operators.settings = Settings("blue", (Credential("sg", "sendgrid", "email", 1),), {})
    monkeypatch.setenv("POSTHASTE_SETTINGS", settings.dumps())
    boto3.client("secretsmanager", region_name="us-east-1").create_secret(Name=secret_name("blue", "sg"))
    assert run("credential", "set", "sg", "--force", "--json", input='{"api_key": "k"}').json["stage"] == "blue"
    monkeypatch.setenv("POSTHASTE_SETTINGS", "nonsense")
    assert run("account", "list").code == 2


def test_missing_region_profile_and_credentials_are_distinguished(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("account", "list").code == 2
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("POSTHASTE_RECORDS_TABLE", TABLE)
    done = run("account", "list")
    assert (done.code, done.err.count("\n")) == (4, 1)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert run("account", "list").code == 4


def test_an_endpoint_that_does_not_answer_is_exit_code_5(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    done = run("account", "list")
    assert (done.code, done.err.count("\n")) == (5, 1)
    assert "http://127.0.0.1:1" in done.err
    assert run("account", "list", "--aws").code == 2


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("AccessDeniedException", NotAuthorised),
        ("UnrecognizedClientException", NotAuthorised),
        ("ExpiredToken", NotAuthorised),
        ("ResourceNotFoundException", NotFound),
        ("InternalFailure", Failed),
    ],
)
def test_refusals_of_aws_become_one_line(code: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="Query"), aws_errors("AWS eu-west-1"):
        raise ClientError({"Error": {"Code": code, "Message": "no"}}, "Query")


@pytest.fixture(scope="module")
def emulator() -> Iterator[str]:
    """An AWS endpoint over HTTP, as the local cloud has one."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def local(emulator: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A local cloud that is up, seen from a folder inside the checkout; returns how to connect to it."""
    connection = {"endpoint_url": emulator, "aws_access_key_id": "test", "aws_secret_access_key": "test"}
    names = {"AWS_ENDPOINT_URL": emulator, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    (folder / ".local").mkdir()
    lines = "".join(f"{name}={value}\n" for name, value in {**names, "AWS_REGION": "us-east-1"}.items())
    (folder / ".local" / "env").write_text(lines)
    inside = folder / "some" / "where"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    return connection


@pytest.mark.slow
def test_the_local_cloud_is_found_from_its_file_and_taken_as_a_whole(
    local: dict[str, Any], monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    deploy("dev", **local)
    monkeypatch.setenv("AWS_PROFILE", "production")  # plays no part: it does not even exist
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    found = deployment("", aws=False)
    made = found.accounts(clock).create_account("Ann")
    monkeypatch.delenv("AWS_PROFILE")
    monkeypatch.delenv("HTTP_PROXY")
    stored = boto3.client("dynamodb", region_name="us-east-1", **local).scan(TableName=TABLE)["Items"]
    assert {item["pk"]["S"] for item in stored} == {f"A#{made}", f"A#{made}#AUDIT", "ACCOUNTS"}
    assert "the local cloud" in found.full_name
    with pytest.raises(NotFound, match="--aws"):
        deployment("prod", aws=False).table()


@pytest.mark.parametrize(("named", "where"), [("", "the local cloud"), ("/", "http://127.0.0.1")])
def test_an_environment_that_names_the_local_cloud_means_it(
    local: dict[str, Any], monkeypatch: pytest.MonkeyPatch, named: str, where: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", local["endpoint_url"] + named)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    found = deployment("dev", aws=False)
    assert found.local == (not named)
    assert found.where.startswith(where)


@pytest.mark.usefixtures("local")
def test_aws_passes_the_local_cloud_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        deploy("prod")
        assert deployment("prod", aws=True).table() == "prod-records"


@pytest.mark.slow
@pytest.mark.usefixtures("aws", "folder")
def test_a_prompt_shows_nothing_of_the_secret(operators: OperatorsFunction) -> None:
    """The real command on a real terminal: what the terminal echoes is read back."""
    operators.settings = Settings("dev", (Credential("sendgrid-main", "sendgrid", "email", 1),), {})
    ours, theirs = pty.openpty()
    command = ("credential", "set", "sendgrid-main", "--force")
    words = [sys.executable, "-c", "from cli.main import main; main()", *command]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, start_new_session=True) as child:
        assert child.stderr is not None
        prompt = b""
        for field, value in zip(secret_fields("sendgrid"), (b"SG.hush", b""), strict=True):
            while not prompt.endswith(f"{field.about}: ".encode()):  # the last blank is written once the echo is off
                prompt += child.stderr.read(1) or pytest.fail("no prompt")
            os.write(ours, value + b"\n")
        rest = child.stderr.read()
        assert child.wait(30) == 0
    os.close(theirs)
    shown = io.BytesIO()
    while True:
        try:
            piece = os.read(ours, 1024)
        except OSError:  # the end of a terminal, on Linux
            break
        if not piece:
            break
        shown.write(piece)
    os.close(ours)
    assert b"stored" in shown.getvalue()
    assert b"hush" not in shown.getvalue() + prompt + rest
    assert json.loads(stored_secret() or "") == {"api_key": "SG.hush"}


@pytest.mark.usefixtures("aws")
def test_a_client_asks_as_often_as_it_is_told() -> None:
    found = deployment("blue", aws=False)
    usual, more = found.client("lambda").meta.config, found.client("lambda", attempts=10).meta.config
    assert (usual.read_timeout, more.read_timeout, more.connect_timeout) == (20, 20, usual.connect_timeout)
    assert (usual.retries["total_max_attempts"], more.retries["total_max_attempts"]) == (3, 10)
