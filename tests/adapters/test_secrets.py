import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws

from shared.adapters.secrets import KEPT, KEPT_EMPTY, Secrets
from shared.contracts import secret_name
from shared.ports import MalformedSecret, Retriable


class SetClock:
    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def manager() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client(
            "secretsmanager", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        )


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


def create(manager: Any, value: str | None) -> None:
    more = {} if value is None else {"SecretString": value}
    manager.create_secret(Name=secret_name("dev", "main"), **more)


def test_a_secret_is_remembered_for_five_minutes(manager: Any, clock: SetClock) -> None:
    create(manager, '{"api_key": "a"}')
    secrets = Secrets(manager, "dev", clock)
    assert secrets.get("main") == {"api_key": "a"}
    manager.put_secret_value(SecretId=secret_name("dev", "main"), SecretString='{"api_key": "b"}')
    clock.time += KEPT - 1
    assert secrets.get("main") == {"api_key": "a"}
    clock.time += 2
    assert secrets.get("main") == {"api_key": "b"}


@pytest.mark.parametrize("value", [None, " ", "\n"])
def test_an_empty_secret_is_empty_and_soon_read_again(manager: Any, clock: SetClock, value: str | None) -> None:
    create(manager, value)
    secrets = Secrets(manager, "dev", clock)
    assert secrets.get("main") == {}
    manager.put_secret_value(SecretId=secret_name("dev", "main"), SecretString='{"api_key": "b"}')
    assert secrets.get("main") == {}
    clock.time += KEPT_EMPTY + 1
    assert secrets.get("main") == {"api_key": "b"}


def test_a_missing_secret_is_empty(manager: Any, clock: SetClock) -> None:
    assert Secrets(manager, "dev", clock).get("main") == {}


@pytest.mark.parametrize("value", ["SG.plain-key", "[]", '"x"', '{"api_key": 1}', '{"a": {"b": "c"}}', "{"])
def test_a_malformed_secret_is_reported_without_its_value(manager: Any, clock: SetClock, value: str) -> None:
    create(manager, value)
    with pytest.raises(MalformedSecret, match="the secret of main is not") as caught:
        Secrets(manager, "dev", clock).get("main")
    assert value not in str(caught.value)


class Failing:
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def get_secret_value(self, SecretId: str) -> Any:  # noqa: N803 - boto3's name
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


THROTTLED = ClientError({"Error": {"Code": "ThrottlingException"}}, "GetSecretValue")


@pytest.mark.parametrize("error", [THROTTLED, EndpointConnectionError(endpoint_url="https://x")])
def test_trouble_is_bridged_by_memory(clock: SetClock, error: Exception) -> None:
    answer = {"SecretString": json.dumps({"api_key": "a"})}
    secrets = Secrets(Failing(error, answer, error), "dev", clock)  # type: ignore[arg-type]
    with pytest.raises(Retriable):
        secrets.get("main")
    assert secrets.get("main") == {"api_key": "a"}
    clock.time += 10 * KEPT
    assert secrets.get("main") == {"api_key": "a"}


def test_a_missing_right_is_a_fault(clock: SetClock) -> None:
    denied = ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetSecretValue")
    with pytest.raises(ClientError):
        Secrets(Failing(denied), "dev", clock).get("main")  # type: ignore[arg-type]
