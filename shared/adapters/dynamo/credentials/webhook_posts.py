"""Posts of webhooks whose signature does not cover the body: which body each signature came with first.

Source: docs/adr/0071.
"""

from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.codec import n, s
from shared.ports import Clock, Seal

SLACK: Final = 600
"""Seconds that a signature is remembered after it has expired: clocks differ."""


class Posts:
    """Remembers signatures until they are too old to be accepted.

    Args:
        client: a low-level boto3 DynamoDB client.
    """

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        self._db = Dynamo(client, sleep=clock.sleep)
        self._table = table

    def first(self, seal: Seal) -> bool:
        """Tell whether a signature comes for the first time, or with the same body as then. One conditional write."""
        return self._db.attempt(
            "put_item",
            TableName=self._table,
            Item={**keys.post(seal.signed), "said": s(seal.said), "ttl": n(seal.until + SLACK)},
            ConditionExpression="attribute_not_exists(pk) OR said = :said",
            ExpressionAttributeValues={":said": s(seal.said)},
        )
