"""Programs on DynamoDB: one item each, all of a namespace in one partition."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.adapters.dynamo import audit, idempotent_writes
from shared.adapters.dynamo.client import Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import binary, n, number, s
from shared.adapters.dynamo.notices import keys
from shared.domain.audit import Event
from shared.domain.ids import new_id
from shared.domain.notices.programs import Program, unpack
from shared.ports import Idempotency, Mismatch, Replay, Stored


class DynamoPrograms:
    """`ports.Programs` over the table `records`."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records

    def save(
        self, old: Program | None, new: Program, key: Idempotency | None, *, event: Event
    ) -> Stored | Replay | Mismatch | None:
        """Store a new program or the next version of one; None if `old` is no longer what is stored."""
        made = idempotent_writes.earlier(self._db, self._table, key, new.saved_at)
        if made is not None:
            return made
        put: Item = {
            "TableName": self._table,
            "Item": _item(new),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **_unchanged(old),
        }
        actions: list[Item] = [{"Put": put}, *audit.puts(self._db, self._table, event)]
        try:
            owner = new_id(new.saved_at)
            return idempotent_writes.store(self._db, self._table, actions, key, owner=owner, now=new.saved_at)
        except Cancelled as lost:
            if lost.codes[0] != "ConditionalCheckFailed":
                raise
            item = lost.items[0]
            return Stored() if item is not None and _program(item) == new else None  # ours, whose answer was lost

    def delete(self, program: Program, *, event: Event) -> bool:
        """Remove a program if it is as read; one that has gone counts as removed."""
        action: Item = {
            "TableName": self._table,
            "Key": keys.program(program.namespace, program.name),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **_unchanged(program),
        }
        try:
            actions = [{"Delete": action}, *audit.puts(self._db, self._table, event)]
            self._db.call("transact_write_items", TransactItems=actions)
        except Cancelled as lost:
            if lost.codes[0] != "ConditionalCheckFailed":
                raise
            return lost.items[0] is None
        return True

    def get(self, namespace: str, name: str) -> Program | None:
        """Return a program, consistent."""
        item = self._db.get(self._table, keys.program(namespace, name))
        return _program(item) if item else None

    def all(self, namespace: str) -> Sequence[Program]:
        """Return the programs of a namespace by name, consistent."""
        return [_program(x) for x in self._db.partition(self._table, keys.programs_pk(namespace))]


def _unchanged(old: Program | None) -> Item:
    if old is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {"ConditionExpression": "version = :version", "ExpressionAttributeValues": {":version": n(old.version)}}


def _item(x: Program) -> Item:
    return {
        **keys.program(x.namespace, x.name),
        "data": {"B": x.pack()},
        "created_at": n(x.created_at),
        "saved_at": n(x.saved_at),
        "version": n(x.version),
        "name": s(x.name),
    }


def _program(item: Mapping[str, Any]) -> Program:
    steps, metadata = unpack(binary(item, "data"))
    return Program(
        namespace=item["pk"]["S"][len(keys.programs_pk("")) :],
        name=item["name"]["S"],
        steps=steps,
        created_at=number(item, "created_at"),
        saved_at=number(item, "saved_at"),
        metadata=metadata,
        version=number(item, "version"),
    )
