"""The table of the console's people, in memory."""

from typing import Any


def create_people(client: Any, name: str) -> None:
    """Make the table. `client`: a low-level client of DynamoDB; `name`: the table's."""
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": a, "AttributeType": "S"} for a in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
