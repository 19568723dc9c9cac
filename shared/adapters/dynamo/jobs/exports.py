"""Exports and their progress, on DynamoDB."""

from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.versioned import Versioned
from shared.domain.exports import Export

_NUMBERS: Final = ("begun_at", "chunks", "ttl", "until", "job", "chunk", "done", "rows", "finished_at", "version")
_FIELDS: Final = Fields(
    Export,
    apart=("id",),
    always=("jobs", "versions", "columns", "parts", "upload", "owner", *_NUMBERS),
    names={"state": "phase"},
)
"""No attribute is called `state`: only jobs have one (the stream's filter)."""


class DynamoExports:
    """`ports.Exports` over the table `records`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._items = Versioned(dynamo, table, _item, _export)

    def get(self, export: str) -> Export | None:
        return self._items.get(keys.export(export))

    def save(self, old: Export | None, new: Export) -> bool:
        return self._items.write(old, new)


def _item(x: Export) -> Item:
    return {**keys.export(x.id), **_FIELDS.item(x)}


def _export(item: Item) -> Export:
    return Export(id=item["pk"]["S"][2:], **_FIELDS.read(item))
