"""Stored templates on DynamoDB: an item of the latest version, and one of each version."""

from collections.abc import Mapping
from typing import Any, Final

from shared.adapters.dynamo import indices, keys
from shared.adapters.dynamo.client import BATCH_WRITE, Dynamo, Item, between
from shared.adapters.dynamo.codec import binary, s
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.listing import entries
from shared.adapters.dynamo.versioned import Versioned
from shared.domain.audit import Event
from shared.domain.campaigns.campaign import Message, StoredTemplate
from shared.domain.campaigns.variants import NONE, Variants
from shared.ports import Idempotency, Mismatch, Replay, Stored

KIND: Final = "template"
"""Kind in the index `mine`."""
_FIELDS: Final = Fields(StoredTemplate, apart=("id", "message", "variants"), always=("name",))
_LISTED: Final = (*_FIELDS.names, "variants")
"""Attributes that a list of templates needs: all but the message."""


class DynamoTemplates:
    """`ports.Templates` over the table `records`."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records
        self._items = Versioned(dynamo, records, _item, _template)

    def create(
        self, template: StoredTemplate, key: Idempotency | None, *, event: Event | None = None
    ) -> Stored | Replay | Mismatch:
        made = self._save(None, template, key, event)
        return Stored() if made is None else made  # an id is random: only we can have written it

    def put(
        self, old: StoredTemplate, new: StoredTemplate, key: Idempotency | None, *, event: Event | None = None
    ) -> Stored | Replay | Mismatch | None:
        return self._save(old, new, key, event)

    def _save(
        self, old: StoredTemplate | None, new: StoredTemplate, key: Idempotency | None, event: Event | None
    ) -> Stored | Replay | Mismatch | None:
        place = keys.template_version(new.id, new.version)
        version = {"Put": {"TableName": self._table, "Item": {**place, **_fields(new)}}}
        return self._items.save(old, new, key, now=new.saved_at, event=event, more=[version])

    def get(self, template: str, version: int | None = None) -> StoredTemplate | None:
        key = keys.template(template) if version is None else keys.template_version(template, version)
        return self._items.get(key)

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[StoredTemplate], str]:
        pk = indices.mine_pk(namespace, KIND)
        found, end = entries(self._db, self._table, pk, keys.template, _LISTED, after=after, limit=limit)
        return [x for x in map(_template, found) if x.namespace == namespace], end

    def versions(self, template: str, *, before: int, limit: int) -> list[StoredTemplate]:
        first, last = (keys.template_version(template, v)["sk"]["S"] for v in (1, (before or 100_000) - 1))
        names = {f"#{i}": name for i, name in enumerate(("pk", *_LISTED))}
        page = self._db.call(
            "query",
            TableName=self._table,
            **between(keys.template_pk(template), first, last),
            ExpressionAttributeNames=names,
            ProjectionExpression=", ".join(names),
            ScanIndexForward=False,
            Limit=limit,
        )
        return [_template(x) for x in page["Items"]]

    def delete(self, template: StoredTemplate, *, event: Event | None = None) -> bool:
        """Remove a template if it is as read, then its versions. A fault may leave versions that are out of reach."""
        if not self._items.delete(keys.template(template.id), template, event=event):
            return False
        wanted = [keys.template_version(template.id, v) for v in range(1, template.version + 1)]
        for start in range(0, len(wanted), BATCH_WRITE):
            self._db.call(
                "transact_write_items",
                TransactItems=[
                    {"Delete": {"TableName": self._table, "Key": key}} for key in wanted[start : start + BATCH_WRITE]
                ],
            )
        return True


def _item(x: StoredTemplate) -> Item:
    mine = {"mine_pk": s(indices.mine_pk(x.namespace, KIND)), "mine_sk": s(keys.aged(x.created_at, x.id))}
    return {**keys.template(x.id), **_fields(x), **mine}


def _fields(x: StoredTemplate) -> Item:
    variants = {"variants": {"B": x.variants.pack()}} if x.variants != NONE else {}
    return {**_FIELDS.item(x), "message": {"B": x.message.pack()}, **variants}


def _template(item: Mapping[str, Any]) -> StoredTemplate:
    return StoredTemplate(
        id=item["pk"]["S"][2:],
        message=Message.unpack(binary(item, "message")) if "message" in item else Message(),
        variants=Variants.unpack(binary(item, "variants")) if "variants" in item else NONE,
        **_FIELDS.read(item),
    )
