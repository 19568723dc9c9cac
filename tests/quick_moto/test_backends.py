"""What `quick_moto.backends` changes of moto: a transaction that fails still leaves everything as it was."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from moto.dynamodb.models import table as tables

import quick_moto
from tests.fakes.tables import create_tables


def test_a_transaction_that_fails_changes_nothing(moto_dynamo: Any) -> None:
    table = create_tables(moto_dynamo).ops
    for name in ("changed", "removed", "checked", "replaced"):
        moto_dynamo.put_item(TableName=table, Item={**_key(name), "n": {"N": "1"}, "l": {"L": [{"S": "x"}]}})
    before = moto_dynamo.scan(TableName=table)["Items"]
    one = {"ExpressionAttributeValues": {":one": {"N": "1"}}}
    operations = [
        {"Update": {**_of(table, "changed"), "UpdateExpression": "SET n = n + :one, l[0] = :one", **one}},
        {"Update": {**_of(table, "new"), "UpdateExpression": "SET n = :one", **one}},
        {"Delete": _of(table, "removed")},
        {"Put": {"TableName": table, "Item": _key("replaced")}},
        {"ConditionCheck": {**_of(table, "checked"), "ConditionExpression": "attribute_not_exists(pk)"}},
    ]
    with pytest.raises(moto_dynamo.exceptions.TransactionCanceledException):
        moto_dynamo.transact_write_items(TransactItems=operations)
    assert sorted(moto_dynamo.scan(TableName=table)["Items"], key=str) == sorted(before, key=str)
    moto_dynamo.transact_write_items(TransactItems=operations[:-1])
    found = {x["sk"]["S"]: x for x in moto_dynamo.scan(TableName=table)["Items"]}
    assert set(found) == {"changed", "new", "checked", "replaced"}
    assert (found["changed"]["n"], found["replaced"]) == ({"N": "2"}, _key("replaced"))


def test_of_writes_at_once_one_finds_that_its_condition_holds(
    moto_dynamo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a thread that has looked at its condition waits for the other one to look before it writes."""
    table = create_tables(moto_dynamo).ops
    both = threading.Barrier(2)
    read: Any = vars(tables)["get_filter_expression"]

    def slow(*args: Any) -> Any:
        condition = read(*args)
        look = condition.expr

        def looked(item: Any) -> bool:
            holds: bool = look(item)
            with suppress(threading.BrokenBarrierError):
                both.wait(0.2)
            return holds

        condition.expr = looked
        return condition

    monkeypatch.setattr(tables, "get_filter_expression", slow)

    def write(_n: int) -> bool:
        try:
            moto_dynamo.put_item(TableName=table, Item=_key("x"), ConditionExpression="attribute_not_exists(pk)")
        except moto_dynamo.exceptions.ConditionalCheckFailedException:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(write, range(2))) == [False, True]


def _key(name: str) -> dict[str, Any]:
    return {"pk": {"S": "one"}, "sk": {"S": name}}


def _of(table: str, name: str) -> dict[str, Any]:
    return {"TableName": table, "Key": _key(name)}


def test_another_version_of_moto_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quick_moto.version", lambda _name: "6.0.0")
    with pytest.raises(RuntimeError, match=r"for moto==5\.2\.5, and this is 6\.0\.0: name the new version"):
        quick_moto.install()


def test_a_table_that_is_created_at_once_is_described_as_one_that_is_asked_for(moto_dynamo: Any) -> None:
    wanted: Any = {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": x, "AttributeType": "S"} for x in ("pk", "sk", "open_pk")],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "open",
                "KeySchema": [{"AttributeName": "open_pk", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    }
    moto_dynamo.create_table(TableName="asked", **wanted)
    quick_moto.create_table(moto_dynamo, TableName="at-once", **wanted)
    asked, made = (moto_dynamo.describe_table(TableName=x)["Table"] for x in ("asked", "at-once"))
    differing = {name for name in asked.keys() | made.keys() if asked.get(name) != made.get(name)}
    assert differing == {"TableName", "TableArn", "TableId", "CreationDateTime"} & differing
