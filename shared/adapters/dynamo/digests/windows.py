"""Windows and parts on DynamoDB: plain conditional writes, of which a busy window takes a thousand in a second."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo import audit
from shared.adapters.dynamo import keys as every
from shared.adapters.dynamo.client import Cancelled, ConditionFailed, InRecords, Item
from shared.adapters.dynamo.codec import binary, n, number, s, text
from shared.adapters.dynamo.digests import keys
from shared.adapters.dynamo.digests.window_codec import part_value, window, window_item
from shared.domain.audit import Event
from shared.domain.digests.events import MAX_BYTES
from shared.domain.digests.window import (
    LOOK_BACK_MS,
    MAX_PARTS,
    DigestWindow,
    EventPart,
    Join,
    WindowState,
    is_window_id,
    shard_of,
    window_id,
)
from shared.domain.times import Millis

_ADD: Final = (
    "#parts = list_append(#parts, :parts), #events = #events + :events, #size = #size + :size, "
    "#version = #version + :one"
)
_ADDS: Final = "#state = :open AND #closes_at > :now AND NOT contains(#parts, :part)"
_HAS_ROOM: Final = "#events < :events_below AND #size < :size_below AND size(#parts) < :parts_below"
_FIELDS: Final = ("state", "parts", "events", "size", "version", "closes_at")
_NAMES: Final = {f"#{name}": name for name in _FIELDS}


class DynamoWindows(InRecords):
    """`ports.Windows` over the table `records`."""

    def put_parts(self, parts: Sequence[EventPart]) -> None:
        """Store parts; a single part by a put, which is faster."""
        items = [_part_item(x) for x in parts]
        if len(items) == 1:
            self._db.call("put_item", TableName=self._table, Item=items[0])
        else:
            self._db.batch_put([(self._table, x) for x in items])

    def parts(self, ids: Collection[str]) -> Mapping[str, bytes]:
        items = self._db.batch_get(self._table, [keys.part(x) for x in dict.fromkeys(ids)])
        return {x["pk"]["S"].partition("#")[2]: binary(x, "data") for x in items}

    def get(self, window_id: str) -> DigestWindow | None:
        item = self._db.get(self._table, keys.window(window_id)) if is_window_id(window_id) else None
        return window(item) if item else None

    def last(self, namespace: str, key: str) -> DigestWindow | None:
        page = self._db.call(
            "query",
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
            ExpressionAttributeValues={":pk": s(keys.windows_pk(namespace, key)), ":sk": s(keys.WINDOW_PREFIX)},
            ConsistentRead=True,
            ScanIndexForward=False,
            Limit=1,
        )
        return window(page["Items"][0]) if page["Items"] else None

    def open(self, window_: DigestWindow) -> DigestWindow:
        """Store a new window, and return it, or the one that has its number."""
        try:
            self._db.call("put_item", **_put(self._table, window_item(window_), "attribute_not_exists(pk)"))
        except ConditionFailed as lost:
            if lost.item is not None:
                return window(lost.item)
            raise
        return window_

    def open_urgent(self, window_: DigestWindow, event: str, since: Millis, content: bytes = b"") -> DigestWindow:
        """Store the window of an urgent event, and return it, or the one of the event that it repeats."""
        if not event:
            return self.open(window_)
        item = {
            **keys.urgent_event(window_.id, event),
            "window": s(window_.id),
            "at": n(window_.closed_at),
            "ttl": n((window_.closed_at + 2 * LOOK_BACK_MS) // 1000),
            **({"content": {"B": content}} if content else {}),
        }
        put = _put(self._table, item, "attribute_not_exists(pk) OR #at <= :since")
        put |= {"ExpressionAttributeNames": {"#at": "at"}, "ExpressionAttributeValues": {":since": n(since)}}
        actions = [{"Put": put}, {"Put": _put(self._table, window_item(window_), "attribute_not_exists(pk)")}]
        try:
            self._db.call("transact_write_items", TransactItems=actions)
        except Cancelled as lost:
            there = lost.items[0]
            if there is None:
                raise
            name, said = text(there, "window"), _content(there)
            if content and said and content != said:
                return self.open(window_)
            return window_ if name == window_.id else self.get(name) or window_
        return window_

    def urgent_contents(self, namespace: str, key: str, events: Collection[str], since: Millis) -> Mapping[str, bytes]:
        where = window_id(namespace, key, 1)
        found = self._db.batch_get(self._table, [keys.urgent_event(where, x) for x in dict.fromkeys(events)])
        return {x["sk"]["S"].partition("#")[2]: _content(x) for x in found if number(x, "at") > since}

    def join(self, window_id: str, join: Join) -> tuple[bool, DigestWindow | None]:
        sets, conditions = [_ADD], [_ADDS]
        values: Item = {
            ":parts": {"L": [part_value(join.part)]},
            ":part": part_value(join.part),
            ":events": n(join.events),
            ":size": n(join.size),
            ":one": n(1),
            ":now": n(join.now),
            ":open": s(WindowState.OPEN.value),
        }
        if join.closes_at:
            sets.append("#closes_at = :closes_at")
            conditions.append("#closes_at = :seen")
            values |= {":closes_at": n(join.closes_at), ":seen": n(join.seen)}
        if join.version:
            sets.append("#state = :closed, closed_at = :now, open_sk = :due")
            conditions.append("#version = :version")
            values |= {
                ":closed": s(WindowState.CLOSED.value),
                ":due": s(every.aged(join.now, window_id)),
                ":version": n(join.version),
            }
        else:
            conditions.append(_HAS_ROOM)
            values |= {
                ":events_below": n(join.max_events - join.events),
                ":size_below": n(MAX_BYTES - join.size),
                ":parts_below": n(MAX_PARTS - 1),
            }
        try:
            self._update(window_id, "SET " + ", ".join(sets), " AND ".join(conditions), values)
        except ConditionFailed as lost:
            return False, window(lost.item) if lost.item else None
        return True, None

    def close(
        self, window_id: str, now: Millis, *, early: bool = False, event: Event | None = None
    ) -> DigestWindow | None:
        sets = "SET #state = :to, closed_at = :now, #version = #version + :one"
        condition = "#state = :open"
        values: Item = {":to": s(WindowState.CLOSED.value)}
        if early:
            sets += ", open_sk = :due"
            values[":due"] = s(every.aged(now, window_id))
        else:
            condition += " AND #closes_at <= :now"
        return self._end(window_id, sets, condition, now, values, event)

    def cancel(self, window_id: str, now: Millis, *, event: Event | None = None) -> DigestWindow | None:
        sets = "SET #state = :to, closed_at = :now, #version = #version + :one, open_pk = :slot, open_sk = :due"
        values = {
            ":to": s(WindowState.CANCELLED.value),
            ":slot": s(keys.end_slot(shard_of(window_id))),
            ":due": s(every.aged(now, window_id)),
        }
        return self._end(window_id, sets, "#state = :open", now, values, event)

    def _end(
        self, window_id: str, sets: str, condition: str, now: int, values: Item, event: Event | None
    ) -> DigestWindow | None:
        if not is_window_id(window_id):
            return None
        values = {**values, ":now": n(now), ":one": n(1), ":open": s(WindowState.OPEN.value)}
        if event is not None:
            return self._end_with(window_id, self._updating(window_id, sets, condition, values), event)
        try:
            done = self._update(window_id, sets, condition, values, ReturnValues="ALL_NEW")
        except ConditionFailed as lost:
            return window(lost.item) if lost.item else None
        return window(done["Attributes"])

    def _end_with(self, window_id: str, update: Item, event: Event) -> DigestWindow | None:
        """End a window together with an entry; a transaction does not return what it stored, so it is read."""
        actions = [{"Update": update}, *audit.puts(self._db, self._table, event)]
        try:
            self._db.call("transact_write_items", TransactItems=actions)
        except Cancelled as lost:
            if lost.codes[0] != "ConditionalCheckFailed":
                raise
            return window(lost.items[0]) if lost.items[0] else None
        return self.get(window_id)

    def _update(self, window_id: str, sets: str, condition: str, values: Item, **more: str) -> Mapping[str, Any]:
        update = self._updating(window_id, sets, condition, values)
        answer: Mapping[str, Any] = self._db.call("update_item", **update, **more)
        return answer

    def _updating(self, window_id: str, sets: str, condition: str, values: Item) -> Item:
        return {
            "TableName": self._table,
            "Key": keys.window(window_id),
            "UpdateExpression": sets,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": {k: v for k, v in _NAMES.items() if k in sets or k in condition},
            "ExpressionAttributeValues": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }


def _content(item: Item) -> bytes:
    return bytes(item["content"]["B"]) if "content" in item else b""


def _part_item(x: EventPart) -> Item:
    return {**keys.part(x.id), "data": {"B": x.data}, "account": s(x.account), "ttl": n(x.ttl)}


def _put(table: str, item: Item, condition: str) -> Item:
    return {
        "TableName": table,
        "Item": item,
        "ConditionExpression": condition,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
