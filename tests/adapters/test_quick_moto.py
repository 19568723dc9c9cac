"""What `tests/fakes/quick_moto.py` changes of moto: a transaction that fails still leaves everything as it was."""

from typing import Any

import pytest

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


def _key(name: str) -> dict[str, Any]:
    return {"pk": {"S": "one"}, "sk": {"S": name}}


def _of(table: str, name: str) -> dict[str, Any]:
    return {"TableName": table, "Key": _key(name)}
