"""Notifiers on DynamoDB: one item each, and one that notes its last calls."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from shared.adapters.dynamo import indices
from shared.adapters.dynamo import keys as every
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.listing import entries, newest
from shared.adapters.dynamo.notices import keys
from shared.adapters.dynamo.versioned import Versioned
from shared.domain.audit import Event
from shared.domain.notices.notifier import Contact, Notifier, PasswordHash
from shared.domain.times import DAY_MS, Millis

MINUTE_MS: Final = 60_000
_FIELDS: Final = Fields(
    Notifier, always=("opens", "closes", "expiry_days", "conflict_tries"), apart=("name", "routes", "passwords")
)
_LISTED: Final = (*_FIELDS.names, "routes", "passwords")


class DynamoNotifiers:
    """`ports.Notifiers` over the table `records`; accounts are in the table of identities."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records
        self._items = Versioned(dynamo, records, _item, _notifier)

    def create(self, notifier: Notifier, *, event: Event) -> bool:
        place = keys.purge_place(notifier.name, notifier.created_at + DAY_MS)
        marks = {"Put": {"TableName": self._table, "Item": {**keys.marks(notifier.name), **place}}}
        return self._items.write(None, notifier, event=event, more=[marks])

    def change(self, old: Notifier, new: Notifier, *, event: Event) -> bool:
        return self._items.write(old, new, event=event)

    def get(self, name: str) -> Notifier | None:
        return self._items.get(keys.notifier(name))

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[Notifier], str]:
        pk = indices.mine_pk(namespace, keys.KIND)
        found, end = entries(self._db, self._table, pk, keys.notifier, _LISTED, after=after, limit=limit)
        return [x for x in map(_notifier, found) if x.namespace == namespace and not x.deleted], end

    def count(self, namespace: str, most: int) -> int:
        return len(newest(self._db, self._table, indices.mine_pk(namespace, keys.KIND), "", most))

    def contacts(self, names: Iterable[str]) -> Mapping[str, Contact]:
        items = self._db.batch_get(self._table, [keys.contact(x) for x in names], consistent=False)
        return {_name(x): Contact(number(x, "seen"), number(x, "status")) for x in items}

    def note(self, name: str, now_ms: Millis, *, status: bool) -> None:
        field = "status" if status else "seen"
        seen = {":now": n(now_ms), ":before": n(now_ms - MINUTE_MS)}
        self._db.attempt(
            "update_item",
            TableName=self._table,
            Key=keys.contact(name),
            UpdateExpression="SET seen = :now" + (", #status = :now" if status else ""),
            ConditionExpression="attribute_not_exists(#field) OR #field <= :before",
            ExpressionAttributeNames={"#field": field} | ({"#status": "status"} if status else {}),
            ExpressionAttributeValues=seen,
        )  # unless another process has noted it


def _name(item: Mapping[str, Any]) -> str:
    name: str = item["pk"]["S"][len(keys.notifier_pk("")) :]
    return name


def _item(x: Notifier) -> Item:
    out: Item = {
        **keys.notifier(x.name),
        **_FIELDS.item(x),
        "routes": {"M": {channel: {"L": [s(c) for c in route]} for channel, route in x.routes.items()}},
        "passwords": {"L": [{"M": {"sha256": s(p.sha256), "until": n(p.until)}} for p in x.passwords]},
    }
    if not x.deleted:
        out["mine_pk"] = s(indices.mine_pk(x.namespace, keys.KIND))
        out["mine_sk"] = s(every.aged(x.created_at, x.name))
    return out


def _notifier(item: Mapping[str, Any]) -> Notifier:
    return Notifier(
        name=_name(item),
        routes={k: tuple(c["S"] for c in v["L"]) for k, v in item["routes"]["M"].items()},
        passwords=tuple(PasswordHash(text(p["M"], "sha256"), number(p["M"], "until")) for p in item["passwords"]["L"]),
        **_FIELDS.read(item),
    )
