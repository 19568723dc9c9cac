"""Clients from botocore alone: the same calls, made when they are needed."""

import threading
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from moto import mock_aws

from shared.adapters.aws import Aws
from shared.sigv4 import AwsKeys


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    for name, value in (("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "x"), ("DEFAULT_REGION", "eu-west-1")):
        monkeypatch.setenv(f"AWS_{name}", value)
    return Aws()


@pytest.mark.slow
def test_a_client_calls_aws_in_the_environments_region(aws: Aws) -> None:
    with mock_aws():
        made = Aws()
        queue = made.client("sqs").create_queue(QueueName="q")["QueueUrl"]
        assert "eu-west-1" in queue


def test_a_later_client_is_made_once_and_only_when_used(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    create = aws.client

    def counting(service: str, _options: object) -> object:
        made.append(service)
        return create(service)

    monkeypatch.setattr(aws, "client", counting)
    client = aws.later("sqs")
    assert made == []
    assert client.meta.region_name == "eu-west-1"
    assert client.meta.service_model.service_name == "sqs"
    assert made == ["sqs"]


@pytest.mark.slow
def test_threads_may_make_clients_at_once(aws: Aws) -> None:
    made: list[object] = []
    threads = [threading.Thread(target=lambda: made.append(aws.client("sqs"))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(made) == 4


class Answer(AWSResponse):
    content = b"{}"


def test_a_client_keeps_its_settings_and_sends_its_user_agent(aws: Aws) -> None:
    client = aws.client("sqs", {"connect_timeout": 7})
    said: list[Any] = []

    def answer(request: AWSPreparedRequest, **_: object) -> AWSResponse:
        said.append(request.headers["User-Agent"])
        return Answer(request.url, 200, HTTPHeaders(), None)

    client.meta.events.register("before-send.sqs", answer)
    client.list_queues()
    assert client.meta.config.connect_timeout == 7
    assert [agent.split()[0] for agent in said] == [b"posthaste"]  # Powertools, once imported, adds its own


@pytest.mark.parametrize("service", ["dynamodb", "sqs", "secretsmanager"])
@pytest.mark.parametrize(
    "variables",
    [
        {},
        *({"AWS_DEFAULT_REGION": x} for x in ("us-east-1", "ap-southeast-3", "cn-north-1", "us-gov-west-1", "mx-x-1")),
        *({"AWS_DEFAULT_REGION": x} for x in ("us-iso-east-1", "eusc-de-east-1", "il-central-1")),
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566"},
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:9324"},
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
        {"AWS_USE_FIPS_ENDPOINT": "true", "AWS_DEFAULT_REGION": "us-east-1"},
        {"AWS_USE_DUALSTACK_ENDPOINT": "true"},
    ],
    ids=lambda variables: ",".join(variables.values()) or "plain",
)
def test_an_endpoint_is_that_of_a_client(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], service: str
) -> None:
    for name, value in {"AWS_DEFAULT_REGION": "eu-west-1", **variables}.items():
        monkeypatch.setenv(name, value)
    meta = Aws().client(service).meta
    assert Aws().endpoint(service) == (meta.endpoint_url, meta.region_name)


FILE = """
[default]
region = sa-east-1
services = near
aws_access_key_id = FILED
aws_secret_access_key = f
[services near]
sqs =
  endpoint_url = http://127.0.0.1:9324
[profile other]
region = us-west-2
"""


@pytest.mark.parametrize("service", ["dynamodb", "sqs"])
@pytest.mark.parametrize("where", ["home", "variable"])
@pytest.mark.parametrize("profile", ["", "other"])
def test_an_endpoint_of_a_file_is_that_of_a_client(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str, profile: str, service: str
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / ".aws" / "config"
    file.parent.mkdir()
    file.write_text(FILE, encoding="utf-8")
    if where == "variable":
        file = file.rename(tmp_path / "elsewhere")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    if profile:
        monkeypatch.setenv("AWS_PROFILE", profile)
    meta = Aws().client(service).meta
    assert Aws().endpoint(service) == (meta.endpoint_url, meta.region_name)
    assert Aws().region == meta.region_name == ("us-west-2" if profile else "sa-east-1")


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"AWS_SESSION_TOKEN": "t"},
        {"AWS_SECURITY_TOKEN": "older", "AWS_SESSION_TOKEN": "t"},
        {"AWS_CREDENTIAL_EXPIRATION": "2099-01-01T00:00:00Z", "AWS_SESSION_TOKEN": "t"},
    ],
)
def test_keys_are_those_of_botocore(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s", **variables}.items():
        monkeypatch.setenv(name, value)
    found = Aws().session.get_credentials()
    assert found is not None
    assert Aws().keys() == AwsKeys(found.access_key, found.secret_key, found.token or "")


def test_keys_are_looked_for_where_botocore_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Aws().keys() is None
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(FILE, encoding="utf-8")
    assert Aws().keys() == AwsKeys("FILED", "f")


def test_a_usual_endpoint_takes_no_client(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws, "client", None)
    assert aws.endpoint("dynamodb") == ("https://dynamodb.eu-west-1.amazonaws.com", "eu-west-1")
