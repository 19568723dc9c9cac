"""Programs on DynamoDB: one item each, all of a namespace in one partition."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import binary
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.notices import keys
from shared.adapters.dynamo.versioned import Versioned
from shared.domain.audit import Event
from shared.domain.notices.programs import Program, unpack
from shared.ports import Idempotency, Mismatch, Replay, Stored

_FIELDS: Final = Fields(Program, apart=("namespace", "steps", "metadata"))


class DynamoPrograms:
    """`ports.Programs` over the table `records`."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records
        self._items = Versioned(dynamo, records, _item, _program)

    def save(
        self, old: Program | None, new: Program, key: Idempotency | None, *, event: Event
    ) -> Stored | Replay | Mismatch | None:
        return self._items.save(old, new, key, now=new.saved_at, event=event)

    def delete(self, program: Program, *, event: Event) -> bool:
        return self._items.delete(keys.program(program.namespace, program.name), program, event=event)

    def get(self, namespace: str, name: str) -> Program | None:
        return self._items.get(keys.program(namespace, name))

    def all(self, namespace: str) -> Sequence[Program]:
        return [_program(x) for x in self._db.partition(self._table, keys.programs_pk(namespace))]


def _item(x: Program) -> Item:
    return {**keys.program(x.namespace, x.name), "data": {"B": x.pack()}, **_FIELDS.item(x)}


def _program(item: Mapping[str, Any]) -> Program:
    steps, metadata = unpack(binary(item, "data"))
    namespace = item["pk"]["S"][len(keys.programs_pk("")) :]
    return Program(namespace=namespace, steps=steps, metadata=metadata, **_FIELDS.read(item))
