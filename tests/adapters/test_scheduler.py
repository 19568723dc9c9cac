"""Faults of EventBridge Scheduler: each is one that the caller may leave to the sweeper."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.stub import Stubber

from shared.adapters.scheduler import CONFIG, EventBridgeScheduler
from shared.ports import Retriable


@pytest.fixture
def client() -> Any:
    session = boto3.Session("testing", "testing", region_name="us-east-1")
    return session.client("scheduler", config=Config(**CONFIG))


@pytest.fixture
def stub(client: Any) -> Iterator[Stubber]:
    with Stubber(client) as stub:
        yield stub
        stub.assert_no_pending_responses()


def scheduler(client: Any) -> EventBridgeScheduler:
    return EventBridgeScheduler(client, group="g", queue="arn:q", role="arn:aws:iam::123456789012:role/r")


@pytest.mark.parametrize("code", ["ThrottlingException", "ServiceQuotaExceededException", "AccessDeniedException"])
def test_whatever_keeps_a_schedule_from_being_set_may_be_left_to_the_sweeper(
    client: Any, stub: Stubber, code: str
) -> None:
    stub.add_client_error("create_schedule", code)
    with pytest.raises(Retriable, match=code):
        scheduler(client).set("job", 1_790_000_000)
    stub.add_client_error("create_schedule", code)
    with pytest.raises(Retriable, match=code):
        scheduler(client).set_once("digests-1", 1_790_000_000, "{}")
    stub.add_client_error("delete_schedule", code)
    with pytest.raises(Retriable, match=code):
        scheduler(client).cancel("job")


def test_a_schedule_that_goes_while_it_is_replaced_is_retriable(client: Any, stub: Stubber) -> None:
    stub.add_client_error("create_schedule", "ConflictException")
    stub.add_client_error("update_schedule", "ResourceNotFoundException")
    with pytest.raises(Retriable):
        scheduler(client).set("job", 1_790_000_000)


class _Unreachable:
    def __getattr__(self, name: str) -> Any:
        def call(**_: Any) -> Any:
            if name == "create_schedule" and not self.made:
                self.made = True
                raise ClientError({"Error": {"Code": "ConflictException", "Message": ""}}, "CreateSchedule")
            raise EndpointConnectionError(endpoint_url="https://example.invalid")

        return call

    made = True


def test_a_lost_connection_is_retriable() -> None:
    client: Any = _Unreachable()
    with pytest.raises(Retriable):
        scheduler(client).set("job", 1)
    with pytest.raises(Retriable):
        scheduler(client).cancel("job")
    client.made = False
    with pytest.raises(Retriable):
        scheduler(client).set("job", 1)


def test_repeats_are_bounded_and_of_one_call(client: Any) -> None:
    tokens = []

    def answer(request: Any, **_: Any) -> Any:
        tokens.append(request.body)
        raise EndpointConnectionError(endpoint_url="https://example.invalid")

    client.meta.events.register("before-send.scheduler", answer)
    with pytest.raises(Retriable):
        scheduler(client).set("job", 1_790_000_000)
    assert len(tokens) == 3
    assert len(set(tokens)) == 1
    assert b"ClientToken" in tokens[0]
