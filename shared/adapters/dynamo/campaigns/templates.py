"""Stored templates on DynamoDB: an item of the latest version, and one of each version."""

from collections.abc import Mapping
from typing import Any, Final

from shared.adapters.dynamo import audit, idempotent_writes, indices, keys
from shared.adapters.dynamo.client import BATCH_WRITE, Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import binary, n, number, s, text
from shared.adapters.dynamo.listing import entries
from shared.domain.audit import Event
from shared.domain.campaigns.campaign import Message, StoredTemplate
from shared.domain.campaigns.variants import NONE, Variants
from shared.domain.ids import new_id
from shared.ports import Idempotency, Mismatch, Replay, Stored

KIND: Final = "template"
"""Kind in the index `mine`."""
_LISTED: Final = ("account", "name", "channel", "created_at", "saved_at", "version", "test", "variants")
"""Attributes that a list of templates needs: all but the message."""


class DynamoTemplates:
    """`ports.Templates` over the table `records`."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records

    def create(
        self, template: StoredTemplate, key: Idempotency | None, *, event: Event | None = None
    ) -> Stored | Replay | Mismatch:
        """Store the first version of a new template, with its idempotency record and an event, in one transaction."""
        made = self._store(template, "attribute_not_exists(pk)", {}, key, event)
        return Stored() if made is None else made  # an id is random: only we can have written it

    def put(
        self, old: StoredTemplate, new: StoredTemplate, key: Idempotency | None, *, event: Event | None = None
    ) -> Stored | Replay | Mismatch | None:
        """Store the next version of a template, and an event; None if `old` is no longer the latest one."""
        return self._store(new, "version = :version", {":version": n(old.version)}, key, event)

    def _store(
        self, x: StoredTemplate, condition: str, values: Item, key: Idempotency | None, event: Event | None
    ) -> Stored | Replay | Mismatch | None:
        made = idempotent_writes.earlier(self._db, self._table, key, x.saved_at)
        if made is not None:
            return made
        fields = _fields(x)
        mine = {"mine_pk": s(indices.mine_pk(x.namespace, KIND)), "mine_sk": s(keys.aged(x.created_at, x.id))}
        head: Item = {
            "TableName": self._table,
            "Item": {**keys.template(x.id), **fields, **mine},
            "ConditionExpression": condition,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        if values:
            head["ExpressionAttributeValues"] = values
        version = {"TableName": self._table, "Item": {**keys.template_version(x.id, x.version), **fields}}
        actions: list[Item] = [{"Put": head}, {"Put": version}, *self._noted(event)]
        try:
            return idempotent_writes.store(
                self._db, self._table, actions, key, owner=new_id(x.saved_at), now=x.saved_at
            )
        except Cancelled as lost:
            if lost.codes[0] != "ConditionalCheckFailed":
                raise
            item = lost.items[0]
            return Stored() if item is not None and _template(item) == x else None  # ours, whose answer was lost

    def get(self, template: str, version: int | None = None) -> StoredTemplate | None:
        """Return a version of a template, by default the latest, consistent."""
        key = keys.template(template) if version is None else keys.template_version(template, version)
        item = self._db.get(self._table, key)
        return _template(item) if item else None

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[StoredTemplate], str]:
        """Return some templates of a namespace, newest first; one query and one read per 100."""
        pk = indices.mine_pk(namespace, KIND)
        found, end = entries(self._db, self._table, pk, keys.template, _LISTED, after=after, limit=limit)
        return [x for x in map(_template, found) if x.namespace == namespace], end

    def versions(self, template: str, *, before: int, limit: int) -> list[StoredTemplate]:
        """Return versions, the latest first, without their messages."""
        first, last = (keys.template_version(template, v)["sk"] for v in (1, (before or 100_000) - 1))
        names = {f"#{i}": name for i, name in enumerate(("pk", *_LISTED))}
        page = self._db.call(
            "query",
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues={":pk": s(keys.template_pk(template)), ":first": first, ":last": last},
            ExpressionAttributeNames=names,
            ProjectionExpression=", ".join(names),
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=limit,
        )
        return [_template(x) for x in page["Items"]]

    def delete(self, template: StoredTemplate, *, event: Event | None = None) -> bool:
        """Remove a template if it is as read, then its versions; those that a fault leaves behind nobody can name.

        One that has gone counts as removed. `event`: kept only if this call removes it.
        """
        head: Item = {
            "TableName": self._table,
            "Key": keys.template(template.id),
            "ConditionExpression": "version = :version",
            "ExpressionAttributeValues": {":version": n(template.version)},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        try:
            self._db.call("transact_write_items", TransactItems=[{"Delete": head}, *self._noted(event)])
        except Cancelled as lost:
            if lost.codes[0] != "ConditionalCheckFailed":
                raise
            if lost.items[0] is not None:
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

    def _noted(self, event: Event | None) -> list[Item]:
        return audit.puts(self._db, self._table, event) if event is not None else []


def _fields(x: StoredTemplate) -> Item:
    return {
        "account": s(x.account),
        "name": s(x.name),
        "channel": s(x.channel),
        "message": {"B": x.message.pack()},
        "created_at": n(x.created_at),
        "saved_at": n(x.saved_at),
        "version": n(x.version),
        **({"test": {"BOOL": True}} if x.test else {}),
        **({"variants": {"B": x.variants.pack()}} if x.variants != NONE else {}),
    }


def _template(item: Mapping[str, Any]) -> StoredTemplate:
    return StoredTemplate(
        id=item["pk"]["S"][2:],
        account=text(item, "account"),
        name=text(item, "name"),
        channel=text(item, "channel"),
        message=Message.unpack(binary(item, "message")) if "message" in item else Message(),
        created_at=number(item, "created_at"),
        saved_at=number(item, "saved_at"),
        version=number(item, "version"),
        test="test" in item,
        variants=Variants.unpack(binary(item, "variants")) if "variants" in item else NONE,
    )
