"""How far the sweeper's walks are: one item in the table `ops`, an attribute for each walk."""

from collections.abc import Mapping
from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.codec import s

_PREFIX: Final = "walk."


class DynamoBookmarks:
    """`ports.Bookmarks`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table

    def load(self) -> dict[str, str]:
        item = self._db.get(self._table, keys.sweep()) or {}
        return {name.removeprefix(_PREFIX): x["S"] for name, x in item.items() if name.startswith(_PREFIX)}

    def save(self, notes: Mapping[str, str]) -> None:
        names = {f"#{i}": f"{_PREFIX}{name}" for i, name in enumerate(notes)}
        self._db.call(
            "update_item",
            TableName=self._table,
            Key=keys.sweep(),
            UpdateExpression="SET " + ", ".join(f"{name} = :{name[1:]}" for name in names),
            ExpressionAttributeNames=names,
            ExpressionAttributeValues={f":{i}": s(text) for i, text in enumerate(notes.values())},
        )
