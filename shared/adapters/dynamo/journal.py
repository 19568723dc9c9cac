"""Events on DynamoDB: one item per log, in the order of time.

Nothing here changes or removes an event; its time to live is the only thing that ends it.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.domain.journal import EVENT_DAYS, Event, Log

DAY_S: Final = 86_400
PAGES: Final = 5
"""Queries that one page with a filter may take."""
EXAMINED: Final = 1000
"""Entries that each of them looks at."""


def puts(db: Dynamo, table: str, event: Event) -> list[Item]:
    """Return the actions that keep an event; repeating them is safe."""
    days = {Log.AUDIT: db.audit_days, Log.EVENTS: EVENT_DAYS}
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
                    **keys.event(event.account, log.value, event.at, event.id, event.kind),
                    **fields,
                    "ttl": n(event.at // 1000 + days[log] * DAY_S),
                },
            }
        }
        for log in event.logs
    ]


class DynamoJournal:
    """`ports.Journal` over the table `records`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table

    def write(self, event: Event) -> None:
        """Keep an event."""
        self._db.call("transact_write_items", TransactItems=puts(self._db, self._table, event))

    def since(self, account: str, log: Log, at: int) -> Iterator[Event]:
        """Walk an account's events from a moment on, oldest first."""
        first = keys.event(account, log.value, at, "", "")
        for item in self._db.query(
            self._table,
            KeyConditionExpression="pk = :pk AND sk >= :first",
            ExpressionAttributeValues={":pk": first["pk"], ":first": {"S": first["sk"]["S"].rstrip("#")}},
            ConsistentRead=True,
        ):
            yield _event(account, item)

    def page(self, account: str, *, kind: str = "", after: str = "", limit: int) -> tuple[list[Event], str]:
        """Return entries of an account's audit log, newest first, and the place to go on from."""
        query: dict[str, Any] = {
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": keys.event(account, Log.AUDIT.value, 0, "", "")["pk"]},
            "ScanIndexForward": False,
            "ConsistentRead": True,
        }
        found: list[Item] = []
        for _ in range(PAGES if kind else 1):
            if after:
                query["KeyConditionExpression"] = "pk = :pk AND sk < :after"
                query["ExpressionAttributeValues"][":after"] = s(after)
            page = self._db.call("query", TableName=self._table, Limit=EXAMINED if kind else limit, **query)
            for item in page["Items"]:
                if not kind or text(item, "kind") == kind:
                    found.append(item)
                    if len(found) == limit:
                        more = item is not page["Items"][-1] or "LastEvaluatedKey" in page
                        return [_event(account, x) for x in found], item["sk"]["S"] if more else ""
            after = page["LastEvaluatedKey"]["sk"]["S"] if "LastEvaluatedKey" in page else ""
            if not after:
                break
        return [_event(account, x) for x in found], after


def _event(account: str, item: Item) -> Event:
    return Event(
        account,
        number(item, "at"),
        text(item, "id"),
        text(item, "kind"),
        text(item, "actor"),
        json.loads(text(item, "data")),
    )
