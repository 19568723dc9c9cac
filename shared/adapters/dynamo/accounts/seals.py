"""`ports.Seals` on DynamoDB: seals beside the audit logs, in the same table.

| pattern | key |
|---|---|
| the seals of a log, oldest first | `A#account#SEALS` / `00000012` |
| until when are all logs sealed? (table `ops`) | `SYS / SEALS` |

Of all functions only the sweeper may write to partitions of seals. No function may change or delete one.
"""

import zlib
from collections.abc import Iterator
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import binary, n, number, s, text
from shared.adapters.dynamo.places import Places
from shared.domain.audit import EVERYONE, Log
from shared.domain.auditing.seals import AuditSeal, LoggedEntry
from shared.domain.namespaces import namespaces_of
from shared.domain.times import Millis

_SAID: Final = ("at", "id", "kind", "actor", "data")
"""Attributes of an entry."""


class DynamoSeals:
    """`ports.Seals`. `records`: where logs are if there is no table of audit logs."""

    def __init__(self, dynamo: Dynamo, *, records: str, ops: str) -> None:
        self._db = dynamo
        self._records = records
        self._ops = ops
        self._table = dynamo.homes.audit or records
        self._places = Places(dynamo, records)

    def ready(self) -> bool:
        return self._places.moved()

    def logs(self) -> Iterator[str]:
        yield EVERYONE
        for item in self._db.partition(self._places.home, keys.accounts("")["pk"]["S"]):
            yield from namespaces_of(item["sk"]["S"])

    def last(self, log: str) -> AuditSeal | None:
        return next(self._walk(log, ScanIndexForward=False, Limit=1), None)

    def of(self, log: str) -> Iterator[AuditSeal]:
        return self._walk(log)

    def _walk(self, log: str, **how: Any) -> Iterator[AuditSeal]:
        pk = _key(log, 0)["pk"]["S"]
        return (_seal(log, x) for x in self._db.partition(self._table, pk, **how))

    def add(self, seal: AuditSeal) -> bool:
        item: Item = {
            **_key(seal.log, seal.number),
            "start": n(seal.start),
            "until": n(seal.end),
            "before": s(seal.before),
            "days": n(seal.days),
            "entries": {"B": zlib.compress(seal.entries)},
            "digest": s(seal.digest),
        }
        condition = "attribute_not_exists(pk)"
        if self._db.attempt("put_item", TableName=self._table, Item=item, ConditionExpression=condition):
            return True
        stored = self._db.get(self._table, _key(seal.log, seal.number))
        return stored is not None and text(stored, "digest") == seal.digest  # our own write, whose answer was lost

    def entries(self, log: str, start: Millis, end: Millis) -> Iterator[LoggedEntry]:
        pk = keys.event(log, Log.AUDIT.value, 0, "", "")["pk"]["S"]
        query = {
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :start AND :end",
            "ExpressionAttributeValues": {":pk": s(pk), ":start": s(f"{start:015d}"), ":end": s(f"{end:015d}")},
            "ConsistentRead": True,
        }
        for item in self._db.query(self._table, **query):
            yield LoggedEntry(item["sk"]["S"], {name: item[name] for name in _SAID if name in item})

    def done(self) -> Millis:
        return number(self._db.get(self._ops, keys.key("SYS", "SEALS")) or {}, "until")

    def note(self, end: Millis) -> None:
        self._db.call("put_item", TableName=self._ops, Item={**keys.key("SYS", "SEALS"), "until": n(end)})


def _key(log: str, number: int) -> keys.Key:
    return keys.key(f"{keys.account_pk(log)}#SEALS", f"{number:08d}")


def _seal(log: str, item: Item) -> AuditSeal:
    return AuditSeal(
        log=log,
        number=int(item["sk"]["S"]),
        start=number(item, "start"),
        end=number(item, "until"),
        before=text(item, "before"),
        days=number(item, "days"),
        entries=zlib.decompress(binary(item, "entries")),
    )
