"""A function that another starts: the event is kept once, and a fault is one that may be tried again."""

import json
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.stub import Stubber

from shared.adapters.joining import WAKING, WokenFunction
from shared.contracts import DueKind, DueMinute
from shared.ports import Retriable

MINUTE = DueMinute(DueKind.NOTICES, 1_790_000_040)


@pytest.fixture
def client() -> Any:
    session = boto3.Session("testing", "testing", region_name="us-east-1")
    return session.client("lambda", config=Config(**WAKING))


def test_it_is_started_without_waiting(client: Any) -> None:
    with Stubber(client) as stub:
        payload = json.dumps({"minute": "notices-1790000040"}).encode()
        asked = {"FunctionName": "notices", "InvocationType": "Event", "Payload": payload}
        stub.add_response("invoke", {"StatusCode": 202}, asked)
        WokenFunction(client, "notices").wake(MINUTE)
        stub.assert_no_pending_responses()


@pytest.mark.parametrize("code", ["TooManyRequestsException", "ServiceException"])
def test_one_that_is_busy_may_be_woken_again(client: Any, code: str) -> None:
    with Stubber(client) as stub:
        stub.add_client_error("invoke", code)
        with pytest.raises(Retriable):
            WokenFunction(client, "notices").wake(MINUTE)


def test_one_that_is_gone_is_a_fault(client: Any) -> None:
    with Stubber(client) as stub:
        stub.add_client_error("invoke", "ResourceNotFoundException")
        with pytest.raises(ClientError):
            WokenFunction(client, "notices").wake(MINUTE)


class _Unreachable:
    def invoke(self, **_: Any) -> Any:
        raise EndpointConnectionError(endpoint_url="https://example.invalid")


def test_a_lost_connection_may_be_tried_again() -> None:
    client: Any = _Unreachable()
    with pytest.raises(Retriable):
        WokenFunction(client, "notices").wake(MINUTE)
