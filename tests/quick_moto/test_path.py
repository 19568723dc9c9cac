"""Calls that go the short way are answered as they are over HTTP: each is compared with moto's and botocore's own."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import botocore.endpoint
import pytest
from botocore import parsers
from botocore.client import BaseClient
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from botocore.session import Session
from hypothesis import given
from moto import settings
from moto.core import parse
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.exceptions import ServiceException
from moto.core.utils import get_service_model
from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler

from quick_moto import path as quick_path
from quick_moto import tables as quick_tables
from tests.fakes.tables import Tables, create_tables, mock_aws
from tests.fakes.tables_script import CALLS, ITEMS
from tests.quick_moto.test_calls import values

KEYS: dict[str, Any] = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": "us-east-1"}


@contextmanager
def long_way() -> Iterator[pytest.MonkeyPatch]:
    """Calls go by HTTP, and tables work as moto made them."""
    originals = quick_tables.ORIGINALS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseClient, "_make_request", quick_path.REQUEST)
        patch.setattr(parse.BaseJSONParser, "_parse_structure", quick_path.SENT)
        patch.setattr(parsers.BaseJSONParser, "_handle_structure", quick_path.READ)
        patch.setattr(Table, "query", originals["query"])
        patch.setattr(Item, "__init__", originals["item"])
        patch.setattr(DynamoType, "__init__", originals["value"])
        patch.setattr(DynamoType, "__deepcopy__", originals["copy"])
        patch.setattr(DynamoType, "__eq__", originals["equals"])
        patch.setattr(DynamoType, "cast_value", property(originals["cast"]))
        patch.setattr(ConditionExpressionParser, "parse", originals["parse"])
        patch.setattr(quick_tables.EXPRESSIONS.UpdateExpressionParser, "make", originals["make"])
        patch.delattr(quick_tables.NODES.Node, "__deepcopy__")
        yield patch


def told(call: Callable[[], Any]) -> Any:
    """Return an answer or an error, without what differs from call to call."""
    try:
        answer = call()
    except ClientError as error:
        answer = {"class": type(error).__name__, "text": str(error), **error.response}
    except (BotoCoreError, KeyError, ValueError) as error:  # the last two: what moto cannot read
        return {"class": type(error).__name__, "text": str(error)}
    metadata = answer["ResponseMetadata"]
    headers = metadata["HTTPHeaders"]
    assert metadata["RequestId"] == headers.pop("x-amzn-requestid")
    assert len(metadata.pop("RequestId")) == 52
    assert headers.pop("date").endswith("GMT")
    if "Table" in answer:
        headers.pop("x-amz-crc32")
        assert answer["Table"].pop("CreationDateTime")
    return answer


def played() -> list[Any]:
    """Return the answers to all calls of the script, and what the tables hold in the end."""
    with mock_aws():
        client = boto3.client("dynamodb", **KEYS)
        tables = create_tables(client, Tables("-short"))
        for item in ITEMS:
            client.put_item(TableName=tables.records, Item=item)
        answers = [told(lambda call=call: getattr(client, call[0])(**call[1])) for call in CALLS]  # type: ignore[misc]
        held = [client.scan(TableName=each)["Items"] for each in (tables.records, tables.ops)]
    return [*answers, held]


@pytest.fixture(scope="module")
def both() -> tuple[list[Any], list[Any]]:
    with long_way():
        long = played()
    return played(), long


@pytest.mark.parametrize("number", range(len(CALLS)), ids=[f"{number}-{each[0]}" for number, each in enumerate(CALLS)])
def test_a_call_is_answered_as_over_http(both: tuple[list[Any], list[Any]], number: int) -> None:
    short, long = both
    assert short[number] == long[number]


def test_the_tables_hold_what_they_hold_over_http(both: tuple[list[Any], list[Any]]) -> None:
    short, long = both
    assert short[-1] == long[-1]
    assert all(short[-1])


def test_the_script_has_each_kind_of_answer(both: tuple[list[Any], list[Any]]) -> None:
    classes = {str(each.get("class")) for each in both[1][:-1]}
    assert classes >= {
        "None",
        "ConditionalCheckFailedException",
        "TransactionCanceledException",
        "ResourceNotFoundException",
        "ParamValidationError",
        "ClientError",
        "KeyError",
    }
    shown = json.dumps(both[1], default=str)
    assert all(f'"{part}"' in shown for part in ("CancellationReasons", "Item", "ConsumedCapacity", "LastEvaluatedKey"))


@pytest.fixture
def over_http(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of what moto answers over HTTP."""
    seen: list[str] = []
    process = BotocoreStubber.process_request

    def noted(stubber: Any, request: Any) -> Any:
        seen.append(request.url)
        return process(stubber, request)

    monkeypatch.setattr(BotocoreStubber, "process_request", noted)
    return seen


def test_calls_of_tables_go_the_short_way_and_those_of_other_services_do_not(over_http: list[str]) -> None:
    with mock_aws():
        boto3.client("dynamodb", **KEYS).list_tables()
        assert over_http == []
        boto3.client("sqs", **KEYS).list_queues()
        assert over_http == ["https://sqs.us-east-1.amazonaws.com/"]


def test_a_call_that_a_test_changes_on_its_way_goes_it(over_http: list[str]) -> None:
    with mock_aws():
        client = boto3.client("dynamodb", **KEYS)
        client.list_tables()
        sent: list[str] = []
        client.meta.events.register("before-send.dynamodb.ListTables", lambda request, **_: sent.append(request.url))
        client.list_tables()
        client.meta.events.register_first(
            "before-call.dynamodb.ListTables", lambda params, **_: sent.append(params["url"])
        )
        client.list_tables()
    assert over_http == ["https://dynamodb.us-east-1.amazonaws.com/"] * 2
    assert sent == over_http[:1] * 3


class OfRole(Credentials):
    """Keys that may change between two calls."""


@pytest.mark.parametrize("setting", ["role", "rights", "emulator"])
def test_where_keys_rights_or_addresses_are_looked_at_a_call_goes_by_http(
    over_http: list[str], monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    with mock_aws():
        client: Any = boto3.client("dynamodb", **KEYS)
        if setting == "role":
            client._request_signer._credentials = OfRole("testing", "testing", "token")
        elif setting == "rights":
            monkeypatch.setattr(settings, "INITIAL_NO_AUTH_ACTION_COUNT", 10**9)
        else:
            client = boto3.client("dynamodb", endpoint_url="https://dynamodb.eu-west-1.amazonaws.com", **KEYS)
        client.list_tables()
    assert len(over_http) == 1


def test_without_keys_no_call_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    with mock_aws():
        session = Session()
        client: Any = session.create_client("dynamodb", "us-east-1")
        client._request_signer._credentials = None
        with pytest.raises(NoCredentialsError):
            client.list_tables()


def test_outside_of_moto_a_call_leaves_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[str] = []
    monkeypatch.setattr(botocore.endpoint.Endpoint, "_send", lambda _, request: left.append(request.url))
    client = boto3.client("dynamodb", config=Config(retries={"max_attempts": 0}), **KEYS)
    with pytest.raises(AttributeError):
        client.list_tables()
    assert left == ["https://dynamodb.us-east-1.amazonaws.com/"]


class TooFast(ServiceException):
    code = "ProvisionedThroughputExceededException"


@pytest.mark.slow
@pytest.mark.parametrize("failures", [1, 3, 99])
def test_what_botocore_repeats_is_repeated_as_often(monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    original, calls = DynamoHandler.list_tables, []

    def list_tables(handler: DynamoHandler) -> Any:
        calls.append(1)
        if len(calls) <= failures:
            raise TooFast("slow down")
        return original(handler)

    monkeypatch.setattr(DynamoHandler, "list_tables", list_tables)
    found = []
    for way in (long_way, pytest.MonkeyPatch.context):
        calls.clear()
        with mock_aws(), way():
            found.append((told(boto3.client("dynamodb", **KEYS).list_tables), len(calls)))
    assert found[0] == found[1]
    assert found[0][0]["ResponseMetadata"]["RetryAttempts"] == found[0][1] - 1 > 0


@given(values)
def test_values_are_read_as_moto_and_botocore_read_them(value: dict[str, Any]) -> None:
    sent = json.loads(json.dumps(value, default=lambda held: "aGVsbG8=" if isinstance(held, bytes) else held))
    item = {"Item": {"name": sent}, "TableName": "records"}
    body = json.dumps(item).encode()
    model = get_service_model("dynamodb")
    parser: Any = parse.JSONParser(model.operation_model("PutItem"), map_type=dict)
    reader = parsers.create_parser("json")
    answer = {"body": body, "headers": {}, "status_code": 200}
    shape = model.operation_model("GetItem").output_shape
    found = []
    for way in (pytest.MonkeyPatch.context, long_way):
        with way():
            found.append((parser.parse({"body": body, "headers": {}}), reader.parse(answer, shape)))
    assert found[0] == found[1]
    assert found[0][0]["Item"].keys() == {"name"}
