"""Circuit breakers in the table `ops`, one item per credential, written only when a state changes."""

from collections.abc import Sequence

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo
from shared.domain.lanes.breaker import Breaker


class DynamoBreakers:
    """`ports.Breakers`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table

    def read(self, credentials: Sequence[str]) -> dict[str, Breaker]:
        wanted = [keys.breaker(c) for c in dict.fromkeys(credentials)]
        items = {item["pk"]["S"]: item for item in self._db.batch_get(self._table, wanted, consistent=False)}
        return {c: codec.breaker(c, items.get(keys.breaker(c)["pk"]["S"])) for c in credentials}

    def swap(self, old: Breaker, new: Breaker) -> Breaker:
        try:
            self._db.call(
                "put_item",
                TableName=self._table,
                Item=codec.breaker_item(new),
                ConditionExpression="version = :version" if old.version else "attribute_not_exists(pk)",
                **({"ExpressionAttributeValues": {":version": codec.n(old.version)}} if old.version else {}),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ConditionFailed as lost:
            return codec.breaker(new.credential, lost.item)
        return new
