"""Places for files that are open, on DynamoDB: one item for those of a namespace's lists, one for those of its mails.

The item is written when a place is given, if it has not changed meanwhile. The arrival of a file costs no write:
`take` checks which places are filled only when all seem taken.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number
from shared.ports import MAX_PLACES, Clock, PlaceKind, Retriable

TRIES: Final = 10
"""Places that others take at the same time."""


class DynamoOpenPlaces:
    """`ports.OpenPlaces` over the table `records`.

    Args:
        records: the name of the table.
    """

    def __init__(self, dynamo: Dynamo, *, records: str, clock: Clock) -> None:
        self._db = dynamo
        self._table = records
        self._clock = clock

    def take(
        self, namespace: str, kind: PlaceKind, name: str, until: int, filled: Callable[[Sequence[str]], Collection[str]]
    ) -> bool:
        key = keys.key(keys.account_pk(namespace), f"PLACES#{kind}")
        for _ in range(TRIES):
            item = self._db.get(self._table, key)
            held = self._held(item, filled)
            if len(held) >= MAX_PLACES:
                return False
            if self._put(key, item, held | {name: until}):
                return True
        raise Retriable("open places: busy")

    def _held(self, item: Item | None, filled: Callable[[Sequence[str]], Collection[str]]) -> dict[str, int]:
        """Return the places that are open, and their ends."""
        now = int(self._clock.now() * 1000)
        known = {x: int(at["N"]) for x, at in item["places"]["M"].items()} if item else {}
        held = {x: at for x, at in known.items() if at > now}
        if len(held) < MAX_PLACES:
            return held
        gone = filled(list(held))
        return {x: at for x, at in held.items() if x not in gone}

    def _put(self, key: keys.Key, old: Item | None, held: Mapping[str, int]) -> bool:
        """Write the places if they have not changed since they were read."""
        version = number(old, "version") if old else 0
        new = {
            **key,
            "places": {"M": {x: n(at) for x, at in held.items()}},
            "version": n(version + 1),
            "ttl": n(max(held.values()) // 1000),
        }
        try:
            self._db.call(
                "put_item",
                TableName=self._table,
                Item=new,
                ConditionExpression="version = :version" if old else "attribute_not_exists(pk)",
                **({"ExpressionAttributeValues": {":version": n(version)}} if old else {}),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ConditionFailed as lost:
            return lost.item == new  # our own write, whose answer was lost
        return True
