"""What DynamoDB's errors become, and what is tried again."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore import exceptions as sdk
from botocore.exceptions import ClientError

from shared.adapters.dynamo.client import BATCH_READ, BATCH_WRITE, TRIES, Cancelled, ConditionFailed, Dynamo
from shared.ports import Retriable

ROOT = Path(__file__).parents[2]
ITEM = {"pk": {"S": "a"}}
KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}


class Client:
    """A low-level client that answers from a script, then with an empty success."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(**kwargs: Any) -> Any:
            self.calls.append((method, kwargs))
            said = self.script.pop(0) if self.script else {}
            if isinstance(said, Exception):
                raise said
            return said

        return call


def error(code: str, **more: Any) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "m"}, **more}, "Operation")  # type: ignore[typeddict-item]


def cancelled(*codes: str, item: Any = None) -> ClientError:
    reasons = [{"Code": c, **({"Item": item} if item and c == "ConditionalCheckFailed" else {})} for c in codes]
    return error("TransactionCanceledException", CancellationReasons=reasons)


def caller(*script: Any) -> tuple[Dynamo, Client, list[float]]:
    client = Client(*script)
    slept: list[float] = []
    return Dynamo(client, sleep=slept.append), client, slept


CONNECTION = sdk.EndpointConnectionError(endpoint_url="http://nowhere")
BUSY = [
    error("TransactionConflictException"),
    error("TransactionInProgressException"),
    error("ProvisionedThroughputExceededException"),
    error("RequestLimitExceeded"),
    error("ThrottlingException"),
    error("InternalServerError"),
    error("ServiceUnavailable"),
    cancelled("None", "TransactionConflict"),
    cancelled("ThrottlingError", "None"),
    cancelled("ProvisionedThroughputExceeded"),
    CONNECTION,
    sdk.ReadTimeoutError(endpoint_url="http://nowhere"),
    sdk.ConnectionClosedError(endpoint_url="http://nowhere"),
]


@pytest.mark.parametrize("fault", BUSY, ids=str)
def test_what_passes_is_tried_again_with_growing_pauses(fault: Exception) -> None:
    dynamo, client, slept = caller(*[fault] * (TRIES - 1), {"ok": 1})
    assert dynamo.call("put_item", TableName="t") == {"ok": 1}
    assert client.calls == [("put_item", {"TableName": "t"})] * TRIES
    assert len(slept) == TRIES - 1
    assert all(0 <= s <= 0.025 * 2**n for n, s in enumerate(slept))


@pytest.mark.parametrize("fault", BUSY, ids=str)
def test_what_does_not_pass_is_retriable(fault: Exception) -> None:
    dynamo, client, _ = caller(*[fault] * TRIES)
    with pytest.raises(Retriable):
        dynamo.call("put_item", TableName="t")
    assert len(client.calls) == TRIES


@pytest.mark.parametrize("item", [ITEM, None])
def test_a_lost_race_returns_the_winner(item: Any) -> None:
    dynamo, client, _ = caller(error("ConditionalCheckFailedException", **({"Item": item} if item else {})))
    with pytest.raises(ConditionFailed) as lost:
        dynamo.call("update_item", TableName="t")
    assert lost.value.item == item
    assert len(client.calls) == 1


def test_a_cancelled_transaction_says_why_and_by_whom() -> None:
    dynamo, client, _ = caller(cancelled("None", "ConditionalCheckFailed", item=ITEM))
    with pytest.raises(Cancelled) as lost:
        dynamo.call("transact_write_items", TransactItems=[])
    assert (lost.value.codes, lost.value.items) == (["None", "ConditionalCheckFailed"], [None, ITEM])
    assert len(client.calls) == 1


def test_a_lost_condition_counts_before_a_conflict() -> None:
    dynamo, client, _ = caller(cancelled("TransactionConflict", "ConditionalCheckFailed"))
    with pytest.raises(Cancelled):
        dynamo.call("transact_write_items", TransactItems=[])
    assert len(client.calls) == 1


def test_a_fault_of_ours_is_neither_hidden_nor_repeated() -> None:
    dynamo, client, _ = caller(error("ValidationException"))
    with pytest.raises(ClientError, match="ValidationException"):
        dynamo.call("put_item", TableName="t")
    assert len(client.calls) == 1


def test_reads_are_consistent_unless_asked_otherwise() -> None:
    dynamo, client, _ = caller({"Item": ITEM}, {})
    assert dynamo.get("t", KEY) == ITEM
    assert dynamo.get("t", KEY, consistent=False) is None
    assert [kwargs["ConsistentRead"] for _, kwargs in client.calls] == [True, False]


def test_a_query_walks_all_pages() -> None:
    dynamo, client, _ = caller({"Items": [{"n": 1}, {"n": 2}], "LastEvaluatedKey": KEY}, {"Items": [{"n": 3}]})
    assert list(dynamo.partition("t", "a", "b")) == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert client.calls[1][1]["ExclusiveStartKey"] == KEY
    assert all(kwargs["ConsistentRead"] for _, kwargs in client.calls)


def test_what_a_batch_read_leaves_is_asked_again() -> None:
    keys = [{"pk": {"S": str(i)}} for i in range(BATCH_READ + 1)]
    left = {"t": {"Keys": keys[:1], "ConsistentRead": True}}
    dynamo, client, slept = caller(
        {"Responses": {"t": [{"n": 1}]}, "UnprocessedKeys": left},
        {"Responses": {"t": [{"n": 2}]}},
        {"Responses": {"t": [{"n": 3}]}},
    )
    assert dynamo.batch_get("t", keys) == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert [len(kwargs["RequestItems"]["t"]["Keys"]) for _, kwargs in client.calls] == [BATCH_READ, 1, 1]
    assert len(slept) == 1


def test_what_a_batch_write_leaves_is_written_again() -> None:
    puts = [("t" if i % 2 else "u", {"n": {"N": str(i)}}) for i in range(BATCH_WRITE + 1)]
    left = {"u": [{"PutRequest": {"Item": puts[0][1]}}]}
    dynamo, client, slept = caller({"UnprocessedItems": left}, {}, {})
    dynamo.batch_put(puts)
    sizes = [sum(len(v) for v in kwargs["RequestItems"].values()) for _, kwargs in client.calls]
    assert sizes == [BATCH_WRITE, 1, 1]
    assert client.calls[1][1]["RequestItems"] == left
    assert len(slept) == 1


@pytest.mark.parametrize("method", ["batch_get", "batch_put"])
def test_a_batch_that_is_never_done_is_retriable(method: str) -> None:
    left = {"t": {"Keys": [KEY]}}
    dynamo, client, _ = caller(*[{"Responses": {}, "UnprocessedKeys": left, "UnprocessedItems": left}] * (TRIES + 1))
    with pytest.raises(Retriable):
        dynamo.batch_get("t", [KEY]) if method == "batch_get" else dynamo.batch_put([("t", ITEM)])
    assert len(client.calls) == TRIES


@pytest.mark.slow
def test_what_writes_audit_entries_knows_where_they_are_kept() -> None:
    """A store that makes a caller of its own must hand it the tables: functions may not write the old place."""
    found = 0
    for file in sorted(file for folder in ("shared", "functions", "cli") for file in (ROOT / folder).rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Dynamo":
                names = {k.arg for k in call.keywords}
                assert ("audit_days" in names) == ("homes" in names), f"{file}:{call.lineno}"
                writes = "journal.puts(" in file.read_text("utf-8")
                assert "homes" in names or not writes, f"{file}:{call.lineno}"
                found += "homes" in names
    assert found > 3
