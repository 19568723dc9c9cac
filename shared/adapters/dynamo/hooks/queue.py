"""Deliveries on DynamoDB: those that wait by when they are due, those that have ended by when they were created."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo.client import Dynamo, Item, between
from shared.adapters.dynamo.codec import binary, n, number, s, text
from shared.adapters.dynamo.hooks import keys
from shared.adapters.dynamo.hooks.works import DynamoWorks
from shared.adapters.dynamo.keys import Key
from shared.domain.hooks.delivery import (
    EXPIRES_MS,
    KEPT_MS,
    DeliveryState,
    HookDelivery,
    parse_name,
    unpack_delivery,
)
from shared.domain.hooks.work import HookWork
from shared.domain.times import Millis

_LAST: Final = 999_999_999_999_999
"""The latest moment that a key holds."""
_BEHIND: Final = "~"
"""Sorts behind every id."""


class DynamoHookQueue:
    """`ports.HookQueue` over the table `records`."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records
        self._works = DynamoWorks(dynamo, records=records)

    def add(self, endpoint: str, deliveries: Sequence[HookDelivery], *, wake: Millis) -> HookWork:
        self._db.batch_put([(self._table, _item(x)) for x in deliveries])
        return self._works.note(endpoint, wake=wake)

    def pending(self, endpoint: str, *, after: str = "", limit: int) -> tuple[Sequence[HookDelivery], str]:
        query: dict[str, Any] = {
            "KeyConditionExpression": "pk = :pk AND sk > :after",
            "ExpressionAttributeValues": {":pk": s(keys.pending_pk(endpoint)), ":after": s(after or " ")},
            "ConsistentRead": True,
        }
        return self._page(query, limit)

    def ended(
        self,
        endpoint: str,
        *,
        state: DeliveryState | None = None,
        since: Millis = 0,
        until: Millis | None = None,
        after: str = "",
        limit: int,
    ) -> tuple[Sequence[HookDelivery], str]:
        pk = keys.ended_pk(endpoint)
        query = between(pk, f"{since:015d}", f"{_LAST if until is None else until:015d}#{_BEHIND}")
        query["ScanIndexForward"] = False
        if after:
            query["ExclusiveStartKey"] = {"pk": s(pk), "sk": s(after)}
        found, end = self._page(query, limit)
        return [x for x in found if state in (None, x.state)], end

    def get(self, endpoint: str, name: str) -> HookDelivery | None:
        """Return a delivery by its `name`; None if there is none.

        One read finds a delivery that was never tried: it is due since it was created. For others, all waiting
        deliveries are read, and then the log.
        """
        parsed = parse_name(name)
        if parsed is None:
            return None
        created_at, delivery = parsed
        new = self._db.get(self._table, keys.pending(endpoint, created_at, delivery))
        if new is not None and number(new, "created_at") == created_at:
            return delivery_of(new)
        waiting = self._db.query(
            self._table,
            KeyConditionExpression="pk = :pk",
            FilterExpression="#id = :id AND created_at = :created_at",
            ExpressionAttributeNames={"#id": "id"},
            ExpressionAttributeValues={
                ":pk": s(keys.pending_pk(endpoint)),
                ":id": s(delivery),
                ":created_at": n(created_at),
            },
            ConsistentRead=True,
        )
        item = next(iter(waiting), None) or self._db.get(self._table, keys.ended(endpoint, created_at, delivery))
        return delivery_of(item) if item else None

    def settle(self, moves: Sequence[tuple[HookDelivery, HookDelivery]]) -> None:
        puts: list[Item] = []
        together: list[tuple[str, Item]] = []
        deletes: list[tuple[str, Item]] = []
        for old, new in moves:
            put, delete = _item(new), {"DeleteRequest": {"Key": _place(old)}}
            if new.state is DeliveryState.DELIVERED:
                together += [(self._table, {"PutRequest": {"Item": put}}), (self._table, delete)]
                continue
            puts.append(put)
            if _place(old) != _place(new):
                deletes.append((self._table, delete))
        self._db.batch_put([(self._table, x) for x in puts])
        self._db.batch_write([*together, *deletes])

    def _page(self, query: Mapping[str, Any], limit: int) -> tuple[list[HookDelivery], str]:
        page = self._db.call("query", TableName=self._table, Limit=limit, **query)
        found: list[HookDelivery] = [delivery_of(x) for x in page["Items"]]
        end: str = page["LastEvaluatedKey"]["sk"]["S"] if "LastEvaluatedKey" in page else ""
        return found, end


def _place(x: HookDelivery) -> Key:
    if x.state is DeliveryState.PENDING:
        return keys.pending(x.endpoint, x.due, x.id)
    return keys.ended(x.endpoint, x.created_at, x.id)


def _item(x: HookDelivery) -> Item:
    """Return a delivery's item: a batch of a hundred events takes one write unit."""
    kept = x.waits_since + EXPIRES_MS + KEPT_MS if x.state is DeliveryState.PENDING else x.due + KEPT_MS
    out: Item = {
        **_place(x),
        "id": s(x.id),
        "created_at": n(x.created_at),
        "due": n(x.due),
        "body": packed_body(x),
        "ttl": n(kept // 1000),
    }
    if x.since:
        out["since"] = n(x.since)
    if x.state is not DeliveryState.PENDING:
        out["state"] = s(x.state.value)
    return out


def packed_body(x: HookDelivery) -> Item:
    """Return the attribute that holds a delivery's body."""
    return {"B": zlib.compress(x.pack().encode(), 6)}


def delivery_of(item: Mapping[str, Any]) -> HookDelivery:
    """Read a delivery."""
    return HookDelivery(
        id=text(item, "id"),
        endpoint=item["pk"]["S"].partition("#")[2],
        created_at=number(item, "created_at"),
        due=number(item, "due"),
        since=number(item, "since"),
        state=DeliveryState(text(item, "state", DeliveryState.PENDING.value)),
        **unpack_delivery(zlib.decompress(binary(item, "body")).decode()),
    )
