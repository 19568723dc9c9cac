import os
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

RECORDS = "records"
OPS = "ops"


class FakeClock:
    """Time that moves only when told to."""

    def __init__(self, now: float = 1_790_000_000.0) -> None:
        self.time = now

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += max(0.0, seconds)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def dynamo() -> Iterator[Any]:
    """A low-level client with the two tables, on moto."""
    os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "testing"
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        make_tables(client)
        yield client


def make_tables(client: Any) -> None:
    strings = ("pk", "sk", "open_pk", "open_sk", "mine_pk", "mine_sk")
    primary = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    client.create_table(
        TableName=RECORDS,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": a, "AttributeType": "S"} for a in strings],
        KeySchema=primary,
        GlobalSecondaryIndexes=[
            {
                "IndexName": name,
                "KeySchema": [
                    {"AttributeName": f"{name}_pk", "KeyType": "HASH"},
                    {"AttributeName": f"{name}_sk", "KeyType": "RANGE"},
                ],
                "Projection": projection,
            }
            for name, projection in (
                ("open", {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["not_before", "campaign", "job"]}),
                ("mine", {"ProjectionType": "KEYS_ONLY"}),
            )
        ],
    )
    client.create_table(
        TableName=OPS,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": a, "AttributeType": "S"} for a in ("pk", "sk")],
        KeySchema=primary,
    )
