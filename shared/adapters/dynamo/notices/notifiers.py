"""Notifiers on DynamoDB: one item each, and one that notes when it was last there."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from shared.adapters.dynamo import audit, indices
from shared.adapters.dynamo import keys as every
from shared.adapters.dynamo.client import Cancelled, ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.adapters.dynamo.listing import entries, newest
from shared.adapters.dynamo.notices import keys, notice_keys
from shared.domain.audit import Event
from shared.domain.notices.notifier import (
    CLOSES,
    CONFLICT_TRIES,
    EXPIRY_DAYS,
    OPENS,
    Contact,
    Notifier,
    PasswordHash,
)
from shared.domain.times import DAY_MS, Millis

MINUTE_MS: Final = 60_000
_FIELDS: Final = (
    *("account", "id_space", "timezone", "created_at", "opens", "closes", "routes", "expiry_days", "conflict_tries"),
    *("country", "test", "disabled", "deleted", "passwords", "version"),
)


class DynamoNotifiers:
    """`ports.Notifiers` over the table `records`; accounts are in the table of identities."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records

    def create(self, notifier: Notifier, *, event: Event) -> bool:
        """Store a new notifier with an entry of the audit log; False if its name is taken.

        Its updates are walked for the first time a day later.
        """
        place = notice_keys.purge_place(notifier.name, notifier.created_at + DAY_MS)
        marks = {"Put": {"TableName": self._table, "Item": {**keys.marks(notifier.name), **place}}}
        return self._write(notifier, event, {"ConditionExpression": "attribute_not_exists(pk)"}, marks)

    def change(self, old: Notifier, new: Notifier, *, event: Event) -> bool:
        """Write a notifier if it is unchanged since it was read, with an entry of the audit log."""
        unchanged = {
            "ConditionExpression": "version = :version",
            "ExpressionAttributeValues": {":version": n(old.version)},
        }
        return self._write(new, event, unchanged)

    def _write(self, notifier: Notifier, event: Event, condition: Item, *more: Item) -> bool:
        put = {
            "TableName": self._table,
            "Item": _item(notifier),
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **condition,
        }
        try:
            actions = [{"Put": put}, *more, *audit.puts(self._db, self._table, event)]
            self._db.call("transact_write_items", TransactItems=actions)
        except Cancelled as lost:
            if lost.codes[0] != "ConditionalCheckFailed":
                raise
            item = lost.items[0]
            return item is not None and _notifier(item) == notifier  # ours, whose answer was lost
        return True

    def get(self, name: str) -> Notifier | None:
        """Return a notifier, also one that is deleted, consistent; None if there never was one."""
        item = self._db.get(self._table, keys.notifier(name))
        return _notifier(item) if item else None

    def page(self, namespace: str, *, after: str, limit: int) -> tuple[list[Notifier], str]:
        """Return notifiers of a namespace, newest first; one query and one read per 100."""
        pk = indices.mine_pk(namespace, keys.KIND)
        found, end = entries(self._db, self._table, pk, keys.notifier, _FIELDS, after=after, limit=limit)
        return [x for x in map(_notifier, found) if x.namespace == namespace and not x.deleted], end

    def count(self, namespace: str, most: int) -> int:
        """Return how many notifiers a namespace has, at most `most`; one query, eventually consistent."""
        return len(newest(self._db, self._table, indices.mine_pk(namespace, keys.KIND), "", most))

    def contacts(self, names: Iterable[str]) -> Mapping[str, Contact]:
        """Return when notifiers were last there, by name; those that never were have no entry."""
        items = self._db.batch_get(self._table, [keys.contact(x) for x in names], consistent=False)
        return {_name(x): Contact(number(x, "seen"), number(x, "status")) for x in items}

    def note(self, name: str, now_ms: Millis, *, status: bool) -> None:
        """Note that a notifier calls, unless a call of this minute is noted."""
        field = "status" if status else "seen"
        seen = {":now": n(now_ms), ":before": n(now_ms - MINUTE_MS)}
        try:
            self._db.call(
                "update_item",
                TableName=self._table,
                Key=keys.contact(name),
                UpdateExpression="SET seen = :now" + (", #status = :now" if status else ""),
                ConditionExpression="attribute_not_exists(#field) OR #field <= :before",
                ExpressionAttributeNames={"#field": field} | ({"#status": "status"} if status else {}),
                ExpressionAttributeValues=seen,
            )
        except ConditionFailed:
            return  # another process has noted it


def _name(item: Mapping[str, Any]) -> str:
    name: str = item["pk"]["S"][len(keys.notifier_pk("")) :]
    return name


def _item(x: Notifier) -> Item:
    """Return a notifier's item; what is as by default is left out."""
    out: Item = {
        **keys.notifier(x.name),
        "account": s(x.account),
        "id_space": s(x.id_space),
        "timezone": s(x.timezone),
        "created_at": n(x.created_at),
        "opens": n(x.opens),
        "closes": n(x.closes),
        "routes": {"M": {channel: {"L": [s(c) for c in route]} for channel, route in x.routes.items()}},
        "expiry_days": n(x.expiry_days),
        "conflict_tries": n(x.conflict_tries),
        "passwords": {"L": [{"M": {"sha256": s(p.sha256), "until": n(p.until)}} for p in x.passwords]},
        "version": n(x.version),
    }
    if x.country:
        out["country"] = s(x.country)
    for flag in ("test", "disabled", "deleted"):
        if getattr(x, flag):
            out[flag] = {"BOOL": True}
    if not x.deleted:
        out["mine_pk"] = s(indices.mine_pk(x.namespace, keys.KIND))
        out["mine_sk"] = s(every.aged(x.created_at, x.name))
    return out


def _notifier(item: Mapping[str, Any]) -> Notifier:
    return Notifier(
        name=_name(item),
        account=text(item, "account"),
        id_space=text(item, "id_space"),
        timezone=text(item, "timezone"),
        created_at=number(item, "created_at"),
        opens=number(item, "opens", OPENS),
        closes=number(item, "closes", CLOSES),
        routes={k: tuple(c["S"] for c in v["L"]) for k, v in item["routes"]["M"].items()},
        expiry_days=number(item, "expiry_days", EXPIRY_DAYS),
        conflict_tries=number(item, "conflict_tries", CONFLICT_TRIES),
        country=text(item, "country"),
        test="test" in item,
        disabled="disabled" in item,
        deleted="deleted" in item,
        passwords=tuple(PasswordHash(text(p["M"], "sha256"), number(p["M"], "until")) for p in item["passwords"]["L"]),
        version=number(item, "version"),
    )
