"""Writes that a client may repeat under an idempotency key: one transaction with the record of the key.

The record's time decides whether a key still counts, since DynamoDB's TTL deletes late.
"""

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import n, s
from shared.domain.times import Millis
from shared.ports import Idempotency, Mismatch, Replay, Stored

LONG: Final = 2048
"""Characters of an answer from which it is kept compressed: one that repeats a template would not fit an item."""


def earlier(db: Dynamo, table: str, key: Idempotency | None, now: int) -> Replay | Mismatch | None:
    """Return the answer of an earlier request with this key. None: there is no key, or was no request.

    Args:
        key: the idempotency record; its answer and its expiry are ignored. None without a key.
        now: Unix milliseconds; an earlier request that has expired by then does not count.
    """
    return _judged(db.get(table, _place(key)), key, now) if key is not None else None


def store(
    db: Dynamo, table: str, actions: Sequence[Item], key: Idempotency | None, *, owner: str, now: Millis
) -> Stored | Replay | Mismatch:
    """Write in one transaction, with the record of the key.

    Args:
        key: the client's, if it gave one.
        owner: a random id of the thing that is made. It identifies a write whose answer was lost.

    Raises:
        Cancelled: a condition of `actions` does not hold; its codes and items are in their order.
    """
    record = [] if key is None else [{"Put": _put(table, key, owner, now)}]
    try:
        db.call("transact_write_items", TransactItems=[*actions, *record])
    except Cancelled as lost:
        if key is not None and lost.codes[-1] == "ConditionalCheckFailed":
            item = lost.items[-1] or db.get(table, _place(key))
            if item is not None and item["job"]["S"] == owner:
                return Stored()  # our own write, whose answer was lost
            made = _judged(item, key, now)
            if made is not None:
                return made
        raise
    return Stored()


def create(
    db: Dynamo, table: str, actions: Sequence[Item], key: Idempotency | None, *, owner: str, now: Millis
) -> Stored | Replay | Mismatch:
    """Write as `store` does; the first action puts a new item.

    If the item exists, this process wrote it and the answer was lost: its id is random. A put that needs no other write
    is made without a transaction, which costs twice as much.

    Args:
        actions: actions of one transaction; the first is the put.
        key: the idempotency record; None without a key.
    """
    if key is None and len(actions) == 1:
        db.attempt("put_item", **actions[0]["Put"])
        return Stored()
    try:
        return store(db, table, actions, key, owner=owner, now=now)
    except Cancelled as lost:
        if lost.codes[0] == "ConditionalCheckFailed":
            return Stored()
        raise


def _judged(item: Item | None, key: Idempotency, now: int) -> Replay | Mismatch | None:
    if item is None or codec.number(item, "expires") < now:
        return None
    if item["fingerprint"]["S"] != key.fingerprint:
        return Mismatch()
    return Replay(_answer(item))


def _answer(item: Mapping[str, Any]) -> str:
    return item["answer"]["S"] if "S" in item["answer"] else zlib.decompress(codec.binary(item, "answer")).decode()


def _kept(text: str) -> Item:
    return s(text) if len(text) < LONG else {"B": zlib.compress(text.encode(), 6)}


def _put(table: str, key: Idempotency, owner: str, now: int) -> Item:
    return {
        "TableName": table,
        "Item": {
            **_place(key),
            "job": s(owner),
            "fingerprint": s(key.fingerprint),
            "answer": _kept(key.answer),
            "expires": n(key.expires),
            "ttl": n(key.expires // 1000 + 1),
        },
        "ConditionExpression": "attribute_not_exists(pk) OR expires < :now",
        "ExpressionAttributeValues": {":now": n(now)},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _place(key: Idempotency) -> keys.Key:
    return keys.idempotency(key.account, hashlib.sha256(key.key.encode()).hexdigest())
