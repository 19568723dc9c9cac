"""The benchmarks' quick DynamoDB against moto: what it stores and refuses is the same."""

from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from benchmarks.aws.tables import Refused, Tables

KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
ITEM: dict[str, Any] = {
    **KEY,
    "count": {"N": "3"},
    "name": {"S": "a"},
    "map": {"M": {"in": {"N": "1"}}},
    "set": {"SS": ["x", "y"]},
    "list": {"L": [{"S": "a"}]},
}
VALUES = {
    ":one": {"N": "1"},
    ":a": {"S": "a"},
    ":b": {"S": "b"},
    ":ten": {"N": "10"},
    ":x": {"SS": ["x", "z"]},
    ":more": {"L": [{"S": "b"}]},
}
CONDITIONS = [
    "attribute_not_exists(pk)",
    "attribute_exists(pk) AND #name = :a",
    "#name IN (:b, :a) AND NOT #count > :ten",
    "(attribute_not_exists(spare) OR spare <= :one) AND #count >= :one",
    "#count BETWEEN :one AND :ten AND #map.#in = :one",
    "#count BETWEEN :ten AND :ten OR begins_with(#name, :b)",
    "spare = :one",
    "#name <> :a",
    "contains(#list, :a)",
    "contains(#list, :b)",
]
UPDATES = [
    "SET #count = #count + :one, #map.#in = #map.#in - :one REMOVE #name",
    "SET spare = if_not_exists(spare, :ten) + :one, #name = :b",
    "ADD #count :ten, spare :one, #set :x",
    "DELETE #set :x SET #map.spare = :a",
    "SET #list = list_append(#list, :more), #count = #count + :one",
]


def used(text: str, **more: Any) -> Mapping[str, Any]:
    """Return the parameters of a request that has a condition or an update, with the names and values in it."""
    names = {name: name[1:] for name in ("#name", "#count", "#map", "#in", "#set", "#list") if name in text}
    values = {k: v for k, v in VALUES.items() if k in text}
    named = ({"ExpressionAttributeNames": names} if names else {}) | (
        {"ExpressionAttributeValues": values} if values else {}
    )
    return {"TableName": "t", "Key": KEY, "ReturnValues": "ALL_NEW", **named, **more}


@pytest.fixture
def moto() -> Any:
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        client.create_table(
            TableName="t",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": x, "AttributeType": "S"} for x in ("pk", "sk")],
            BillingMode="PAY_PER_REQUEST",
        )
        client.put_item(TableName="t", Item=ITEM)
        yield client


@pytest.mark.parametrize("text", CONDITIONS + UPDATES)
def test_an_update_is_that_of_moto(moto: Any, text: str) -> None:
    condition, update = ("", text) if text in UPDATES else (text, "SET done = :one")
    request = used(condition + update, UpdateExpression=update)
    if condition:
        request = {**request, "ConditionExpression": condition}
    quick = Tables()
    quick.write({"TableName": "t", "Item": ITEM})
    mine = quick.answer("UpdateItem", request)
    try:
        said = moto.update_item(**request)["Attributes"]
    except ClientError as error:
        assert isinstance(mine, Refused)
        assert (error.response["Error"]["Code"], mine.item) == ("ConditionalCheckFailedException", ITEM)  # noqa: PT017
    else:
        assert isinstance(mine, dict)
        assert {k: _sorted(v) for k, v in mine["Attributes"].items()} == {k: _sorted(v) for k, v in said.items()}


def _sorted(value: Any) -> Any:
    return {"SS": sorted(value["SS"])} if "SS" in value else value
