"""Endpoints on DynamoDB: an item each, one that lists a namespace's, and one for many namespaces that have some.

The module `listeners` reads the last kind: most functions need only that.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo import idempotent_writes
from shared.adapters.dynamo.client import FAILED, Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import n, s
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.hooks import keys
from shared.adapters.dynamo.keys import Key, listeners
from shared.adapters.dynamo.versioned import Versioned
from shared.domain.audit import Event
from shared.domain.hooks.endpoint import MAX_ENDPOINTS, Endpoint
from shared.ports import Idempotency, Mismatch, Replay, Retriable, Stored

_TRIES: Final = 5
_FIELDS: Final = Fields(Endpoint, apart=("id",), always=("events",))


class DynamoEndpoints:
    """`ports.Endpoints` over the table `records`."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records
        self._items = Versioned(dynamo, records, _item, _endpoint)

    def create(
        self, endpoint: Endpoint, key: Idempotency | None, *, event: Event | None
    ) -> Stored | Replay | Mismatch | None:
        made = idempotent_writes.earlier(self._db, self._table, key, endpoint.created_at)
        if made is not None:
            return made
        actions = [
            {"Put": self._items.put(None, endpoint)},
            {"Update": self._listed(endpoint)},
            {"Update": self._set("ADD", listeners(endpoint.namespace), "namespaces", endpoint.namespace)},
            *self._items.noted(event),
        ]
        try:
            return idempotent_writes.store(
                self._db, self._table, actions, key, owner=endpoint.id, now=endpoint.created_at
            )
        except Cancelled as lost:
            if lost.codes[0] == FAILED:
                return Stored()  # the id is random: it is our own write, whose answer was lost
            if lost.codes[1] == FAILED:
                return None
            raise

    def get(self, endpoint: str) -> Endpoint | None:
        return self._items.get(keys.endpoint(endpoint))

    def of(self, namespace: str) -> Sequence[Endpoint]:
        names = self._names(namespace)
        found = self._db.batch_get(self._table, [keys.endpoint(x) for x in names])
        return sorted(map(_endpoint, found), key=lambda x: (x.created_at, x.id))

    def change(self, old: Endpoint, new: Endpoint, *, event: Event | None) -> bool:
        return self._items.write(old, new, event=event)

    def delete(self, endpoint: Endpoint, *, event: Event | None) -> None:
        """Remove an endpoint with its work, in any version; nothing happens if it no longer exists.

        With its last endpoint, a namespace leaves the list of namespaces that have some.
        """
        for _ in range(_TRIES):
            names = self._names(endpoint.namespace)
            if endpoint.id not in names:
                return
            last = len(names) == 1
            unlisted = self._set("DELETE", keys.endpoints(endpoint.namespace), "ids", endpoint.id)
            unlisted |= {
                "ConditionExpression": "ids = :set" if last else "contains(ids, :id) AND NOT ids = :set",
            }
            if not last:
                unlisted["ExpressionAttributeValues"][":id"] = s(endpoint.id)
            actions: list[Item] = [
                {"Update": unlisted},
                {"Delete": {"TableName": self._table, "Key": keys.endpoint(endpoint.id)}},
                {"Delete": {"TableName": self._table, "Key": keys.work(endpoint.id)}},
                *self._items.noted(event),
            ]
            if last:
                place = listeners(endpoint.namespace)
                actions.append({"Update": self._set("DELETE", place, "namespaces", endpoint.namespace)})
            if self._db.together(actions):
                return
        raise Retriable("endpoints: others change them")

    def _names(self, namespace: str) -> Sequence[str]:
        item = self._db.get(self._table, keys.endpoints(namespace))
        names: Sequence[str] = sorted(item["ids"]["SS"]) if item and "ids" in item else []
        return names

    def _listed(self, endpoint: Endpoint) -> Item:
        """Return the update that lists an endpoint, if there is room."""
        update = self._set("ADD", keys.endpoints(endpoint.namespace), "ids", endpoint.id)
        update["ConditionExpression"] = "attribute_not_exists(ids) OR size(ids) < :most"
        update["ExpressionAttributeValues"][":most"] = n(MAX_ENDPOINTS)
        return update

    def _set(self, verb: str, key: Key, name: str, value: str) -> Item:
        """Return an update that adds a text to a set, or deletes it."""
        return {
            "TableName": self._table,
            "Key": key,
            "UpdateExpression": f"{verb} {name} :set",
            "ExpressionAttributeValues": {":set": {"SS": [value]}},
        }


def _item(x: Endpoint) -> Item:
    return {**keys.endpoint(x.id), **_FIELDS.item(x)}


def _endpoint(item: Mapping[str, Any]) -> Endpoint:
    return Endpoint(id=item["pk"]["S"].partition("#")[2], **_FIELDS.read(item))
