"""Events on DynamoDB: one item per log, in the order of time.

Nothing here changes or removes an event: only its time to live does.
"""

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.adapters.dynamo.places import Places
from shared.contracts import HELD_BACK, RESUMED
from shared.domain.audit import EVENT_DAYS, HOUR_MS, HOURLY, Act, Event, Log, accepted
from shared.ports import Clock

DAY_S: Final = 86_400
WAKE: Final = "wake"
"""A log in `records` only for its stream. Functions have no access to the partitions of the audit log there."""
WAKE_DAYS: Final = 2
"""Days that such an entry is kept: longer than a stream keeps records."""
PAGES: Final = 5
"""Queries that one page with a filter may take."""
EXAMINED: Final = 1000
"""Entries that each of these queries reads."""
MAX_NOTED: Final = 10_000
"""Most entries (account, act and name) whose noted hour a process remembers."""


def puts(db: Dynamo, table: str, event: Event | None) -> list[Item]:
    """Return the actions that store an event; none for None. A repeat is safe, and no other entry is replaced."""
    if event is None:
        return []
    audits = db.homes.audits(table)
    kept = {Log.AUDIT: (audits, db.audit_days), Log.EVENTS: ((table,), EVENT_DAYS)}
    places = [(log.value, name, kept[log][1]) for log in event.logs for name in kept[log][0]]
    if event.kind in (*RESUMED, *HELD_BACK) and table not in audits:
        places.append((WAKE, table, WAKE_DAYS))
    new = _new(event)
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
                "TableName": name,
                "Item": {
                    **keys.event(event.account, log, event.at, event.id, event.kind, event.mark),
                    **fields,
                    "ttl": n(event.at // 1000 + days * DAY_S),
                },
                **new,
            }
        }
        for log, name, days in places
    ]


def _new(event: Event) -> Item:
    """Return the condition that nothing is replaced: there is no such entry, or it is the same one."""
    if event.kind in HOURLY:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "attribute_not_exists(pk) OR (#data = :data AND actor = :actor)",
        "ExpressionAttributeNames": {"#data": "data"},
        "ExpressionAttributeValues": {":data": s(event.pack()), ":actor": s(event.actor)},
    }


class DynamoJournal:
    """`ports.Journal`: events in the table `records`, the audit log in its own."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table
        self._places = Places(dynamo, table)

    def write(self, event: Event) -> None:
        self._db.call("transact_write_items", TransactItems=puts(self._db, self._table, event))

    def since(self, account: str, log: Log, at: int) -> Iterator[Event]:
        first = keys.event(account, log.value, at, "", "")
        query = {
            "KeyConditionExpression": "pk = :pk AND sk >= :first",
            "ExpressionAttributeValues": {":pk": first["pk"], ":first": {"S": first["sk"]["S"].rstrip("#")}},
            "ConsistentRead": True,
        }
        last = ""
        walks = [self._db.query(table, **query) for table in self._tables(log)]
        for item in heapq.merge(*walks, key=_place):
            if _place(item) != last:  # else the same entry, from the old place
                yield _event(account, item)
            last = _place(item)

    def page(
        self, account: str, *, kind: str = "", actor: str = "", after: str = "", limit: int
    ) -> tuple[list[Event], str]:
        query: dict[str, Any] = {
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": keys.event(account, Log.AUDIT.value, 0, "", "")["pk"]},
            "ScanIndexForward": False,
            "ConsistentRead": True,
        }
        narrowed = any((kind, actor))
        found: list[Item] = []
        for _ in range(PAGES if narrowed else 1):
            if after:
                query["KeyConditionExpression"] = "pk = :pk AND sk < :after"
                query["ExpressionAttributeValues"][":after"] = s(after)
            items, after = self._examined({**query, "Limit": EXAMINED if narrowed else limit})
            wanted = _having(items, kind=kind, actor=actor)[: limit - len(found)]
            found += wanted
            if len(found) == limit:
                more = wanted[-1] is not items[-1] or after
                after = _place(wanted[-1]) if more else ""
                break
            if not after:
                break
        return [_event(account, x) for x in found], after

    def _examined(self, query: Mapping[str, Any]) -> tuple[list[Item], str]:
        """Return the newest entries that a query finds, and the place to continue from, empty at the end.

        Each of several tables is queried. Entries older than the end of one table's page are left out: that table may
        have more entries between them.
        """
        found: dict[str, Item] = {}
        end = ""
        for table in reversed(self._tables(Log.AUDIT)):
            page = self._db.call("query", TableName=table, **query)
            found |= {_place(x): x for x in page["Items"]}
            if "LastEvaluatedKey" in page:
                end = max(end, page["LastEvaluatedKey"]["sk"]["S"])
        return [found[place] for place in sorted(found, reverse=True) if place >= end], end

    def _tables(self, log: Log) -> Sequence[str]:
        """Return where a log is, its own table first."""
        audit = self._db.homes.audit
        if log is not Log.AUDIT or not audit:
            return (self._table,)
        return (audit,) if self._places.moved() else (audit, self._table)


def _place(item: Item) -> str:
    place: str = item["sk"]["S"]
    return place


def _event(account: str, item: Item) -> Event:
    return Event(
        account,
        number(item, "at"),
        text(item, "id"),
        text(item, "kind"),
        text(item, "actor"),
        json.loads(text(item, "data")),
    )


def _having(items: Sequence[Item], **wanted: str) -> list[Item]:
    """Return the entries with the wanted attributes; an empty value matches every entry."""
    return [item for item in items if all(value in ("", text(item, name)) for name, value in wanted.items())]


class DynamoAcceptances:
    """`ports.Acceptances`: an entry is put if there is none, and a process remembers the hours that it has seen noted.

    So a function that stays warm makes one call more for each hour, key and kind of request. Safe for threads.
    """

    def __init__(self, dynamo: Dynamo, table: str, clock: Clock) -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock
        self._noted: dict[tuple[str, Act, str, str], int] = {}  # → hours since 1970

    def note(self, account: str, act: Act, name: str, actor: str, why: str = "") -> None:
        now, place = int(self._clock.now() * 1000), (account, act, name, actor)
        if self._noted.get(place) == now // HOUR_MS:
            return
        event = accepted(account, now, name, act, actor, why)
        for action in puts(self._db, self._table, event):
            self._db.attempt("put_item", **action["Put"])
        if len(self._noted) >= MAX_NOTED:
            self._noted.clear()
        self._noted[place] = now // HOUR_MS
