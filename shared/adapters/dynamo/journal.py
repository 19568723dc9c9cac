"""Events on DynamoDB: one item per log, in the order of time."""

import json
from collections.abc import Iterator, Sequence

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.domain.journal import DAYS, Event, Log

DAY_S = 86_400


def puts(table: str, event: Event, logs: Sequence[Log] = tuple(Log)) -> list[Item]:
    """Return the actions that keep an event; repeating them is safe."""
    fields: Item = {
        "at": n(event.at),
        "id": s(event.id),
        "kind": s(event.kind),
        "actor": s(event.actor),
        "data": s(event.pack()),
    }
    return [
        {
            "Put": {
                "TableName": table,
                "Item": {
                    **keys.event(event.account, log.value, event.at, event.id),
                    **fields,
                    "ttl": n(event.at // 1000 + DAYS[log] * DAY_S),
                },
            }
        }
        for log in logs
    ]


class DynamoJournal:
    """`ports.Journal` over the table `records`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table

    def write(self, event: Event, *logs: Log) -> None:
        """Keep an event."""
        self._db.call("transact_write_items", TransactItems=puts(self._table, event, logs))

    def since(self, account: str, log: Log, at: int) -> Iterator[Event]:
        """Walk an account's events from a moment on, oldest first."""
        first = keys.event(account, log.value, at, "")
        for item in self._db.query(
            self._table,
            KeyConditionExpression="pk = :pk AND sk >= :first",
            ExpressionAttributeValues={":pk": first["pk"], ":first": first["sk"]},
            ConsistentRead=True,
        ):
            yield Event(
                account,
                number(item, "at"),
                text(item, "id"),
                text(item, "kind"),
                text(item, "actor"),
                json.loads(text(item, "data")),
            )
