"""Pictures on DynamoDB: an item of each, by its content, and one that counts them."""

from collections.abc import Mapping
from typing import Any, Final

from shared.adapters.dynamo import audit, keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s
from shared.adapters.dynamo.fields import Fields
from shared.domain.audit import Event
from shared.domain.pictures.picture import Picture, Shelf

_FIELDS: Final = Fields(Picture, apart=("namespace", "id"))


class DynamoPictures:
    """`ports.Pictures` over the table `records`."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records

    def all(self, namespace: str) -> list[Picture]:
        rows = self._db.partition(self._table, keys.pictures_pk(namespace), ConsistentRead=False)
        return sorted((_picture(namespace, x) for x in rows), key=lambda x: (x.created_at, x.id), reverse=True)

    def get(self, namespace: str, picture: str) -> Picture | None:
        item = self._db.get(self._table, keys.picture(namespace, picture))
        return _picture(namespace, item) if item is not None else None

    def shelf(self, namespace: str) -> Shelf:
        item = self._db.get(self._table, keys.shelf(namespace)) or {}
        return Shelf(number(item, "pictures"), number(item, "size"))

    def add(self, picture: Picture, most: Shelf, *, event: Event) -> bool:
        item = {**keys.picture(picture.namespace, picture.id), **_FIELDS.item(picture)}
        put = {"TableName": self._table, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}
        room = {
            "ConditionExpression": "attribute_not_exists(pk) OR (pictures < :most AND #size <= :room)",
            "ExpressionAttributeValues": {":most": n(most.count), ":room": n(most.size - picture.size)},
        }
        return self._db.together(
            [{"Put": put}, self._counted(picture, 1, room), *audit.puts(self._db, self._table, event)]
        )

    def mark(self, picture: Picture, *, event: Event) -> bool:
        update = {
            "TableName": self._table,
            "Key": keys.picture(picture.namespace, picture.id),
            "UpdateExpression": "SET gone = :gone",
            "ConditionExpression": "#file = :file AND attribute_not_exists(gone)",
            "ExpressionAttributeNames": {"#file": "file"},
            "ExpressionAttributeValues": {":file": s(picture.file), ":gone": {"BOOL": True}},
        }
        return self._db.together([{"Update": update}, *audit.puts(self._db, self._table, event)])

    def remove(self, picture: Picture) -> bool:
        delete = {
            "TableName": self._table,
            "Key": keys.picture(picture.namespace, picture.id),
            "ConditionExpression": "#file = :file AND gone = :gone",
            "ExpressionAttributeNames": {"#file": "file"},
            "ExpressionAttributeValues": {":file": s(picture.file), ":gone": {"BOOL": True}},
        }
        return self._db.together([{"Delete": delete}, self._counted(picture, -1, {})])

    def _counted(self, picture: Picture, by: int, condition: Mapping[str, Any]) -> Item:
        """Return what adds a picture to the count, or takes it out."""
        values: Item = {":one": n(by), ":bytes": n(by * picture.size)}
        update = {
            "TableName": self._table,
            "Key": keys.shelf(picture.namespace),
            "UpdateExpression": "ADD pictures :one, #size :bytes",
            "ExpressionAttributeNames": {"#size": "size"},
            **condition,
        }
        update["ExpressionAttributeValues"] = {**values, **condition.get("ExpressionAttributeValues", {})}
        return {"Update": update}


def _picture(namespace: str, item: Mapping[str, Any]) -> Picture:
    return Picture(namespace=namespace, id=item["sk"]["S"], **_FIELDS.read(item))
