"""The function that makes first accounts, as the console calls it."""

import io
import json
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.stub import Stubber

from functions.dispatch import join, services
from shared.adapters.joining import BUTTONS_CONFIG, CONFIG, ButtonsFunction, JoinFunction
from shared.domain.people import FirstAccount, Newcomer
from shared.ports import Retriable
from shared.ports.people import Pressed

ARN = "arn:aws:lambda:us-east-1:123456789012:function:join"
WHO = Newcomer("0" * 26, "Ann", "user:ann", "a" * 64)
MADE = FirstAccount("acc_0123456789ab", "a" * 16, 1000)


@pytest.fixture
def stubbed() -> tuple[JoinFunction, Stubber]:
    client = boto3.client(
        "lambda", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x", config=Config(**CONFIG)
    )
    return JoinFunction(client, ARN), Stubber(client)


def test_it_is_called_with_the_person_and_the_hash_alone(stubbed: tuple[JoinFunction, Stubber]) -> None:
    function, stub = stubbed
    sent = {"FunctionName": ARN, "Payload": json.dumps(asdict(WHO)).encode()}
    stub.add_response("invoke", {"Payload": io.BytesIO(json.dumps(asdict(MADE)).encode())}, sent)
    with stub:
        assert function.make(WHO) == MADE


def test_a_failure_may_be_repeated(stubbed: tuple[JoinFunction, Stubber], monkeypatch: pytest.MonkeyPatch) -> None:
    function, stub = stubbed
    stub.add_response("invoke", {"FunctionError": "Unhandled", "Payload": io.BytesIO(b'{"errorMessage": "x"}')})
    stub.add_client_error("invoke", "TooManyRequestsException")
    stub.add_client_error("invoke", "AccessDeniedException")
    with stub:
        for _ in range(2):
            with pytest.raises(Retriable):
                function.make(WHO)
        with pytest.raises(ClientError):
            function.make(WHO)

    def slow(**_: Any) -> Any:
        raise ReadTimeoutError(endpoint_url="x")

    monkeypatch.setattr(function._client, "invoke", slow)
    with pytest.raises(Retriable):
        function.make(WHO)


def test_a_button_is_pressed_once_whatever_comes_of_it() -> None:
    """A repeat by the client could make a second account."""
    client = boto3.client(
        "lambda",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(**BUTTONS_CONFIG),
    )
    function, stub = ButtonsFunction(client, ARN), Stubber(client)
    event = {"session": "s", "method": "POST", "path": "/keys/create", "body": {"account": "a"}}
    answer = {"Payload": io.BytesIO(json.dumps({"status": 200, "body": {"key": ""}}).encode())}
    stub.add_response("invoke", answer, {"FunctionName": ARN, "Payload": json.dumps(event).encode()})
    stub.add_client_error("invoke", "ServiceException")
    with stub:
        assert function.press("s", "POST", "/keys/create", {"account": "a"}) == Pressed(200, {"key": ""})
        with pytest.raises(Retriable):
            function.press("s", "POST", "/keys/create", {"account": "a"})
        stub.assert_no_pending_responses()


def test_the_function_makes_what_its_event_describes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Newcomer] = []

    class First:
        def make(self, newcomer: Newcomer) -> FirstAccount:
            asked.append(newcomer)
            return MADE

    class Context:
        aws_request_id = "request-1"

    monkeypatch.setattr(services, "deployment", lambda: SimpleNamespace(first_accounts=First()))
    assert join.handler(asdict(WHO), Context()) == asdict(MADE)
    with pytest.raises(ValueError, match="newcomer"):
        join.handler({**asdict(WHO), "digest": "x"}, Context())
    assert asked == [WHO]
