"""What an account takes along when it moves to another deployment, as pages of items, and how they are put there.

It takes its profile, keys, senders, guests, limits and figures of days, suppressions and unsubscriptions, templates,
programs, and the records of its idempotency keys. Jobs stay: their providers report to where they were sent from.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo import indices, keys
from shared.adapters.dynamo.accounts.claims import claims_pk
from shared.adapters.dynamo.campaigns.templates import KIND as TEMPLATES
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, s, text
from shared.adapters.dynamo.digests.keys import policies_pk
from shared.adapters.dynamo.notices.keys import programs_pk
from shared.contracts import INDEX_MINE
from shared.domain.accounts import Place
from shared.domain.namespaces import namespaces_of, owner
from shared.domain.times import Millis
from shared.frozen import dataclass

PAGE: Final = 400
"""Items of a page, which a request carries in at most 5 MB."""
CONTROL: Final = "CONTROL"
OWN: Final = ("GUESTS", "APPROVALS", keys.SUPPRESSED)
"""Sort keys of an account's own partitions in `records` that go along, beside its control."""
_STATE: Final = ("suspended", "suspended_at")
_PLACE: Final = ("place", "elsewhere")


class NotOfAccount(ValueError):
    """An item is not one that the account takes along."""


@dataclass(frozen=True, slots=True)
class Part:
    """A partition, or an index's, of which items go along. `index`: the templates of a namespace."""

    table: str
    pk: str
    index: bool = False
    since: Millis = 0


class AccountPacker:
    """Reads what goes along.

    Args:
        identities: the table with accounts and keys.
    """

    def __init__(self, dynamo: Dynamo, *, records: str, identities: str) -> None:
        self._db = dynamo
        self._records = records
        self._identities = identities

    def pack(self, account: str, after: str, *, since: Millis = 0) -> tuple[list[dict[str, Any]], str]:
        """Return a page of items, each with its table's kind, and the place of the next; empty at the end.

        Args:
            after: the place that the page before returned; empty: the beginning.
            since: only suppressions and unsubscriptions from that moment on; 0: everything.
        """
        parts = self._parts(account, since)
        number, start = (0, None) if not after else tuple(json.loads(after))
        items: list[dict[str, Any]] = []
        while number < len(parts) and len(items) < PAGE:
            found, start = self._page(parts[number], start)
            whole = (x for item in found for x in self._whole(parts[number], item, account))
            items += [_carried(kind, item) for kind, item in whole]
            number += start is None
        return items, json.dumps([number, start]) if number < len(parts) else ""

    def has_policies(self, namespace: str) -> bool:
        """Tell whether a namespace has digest policies, which do not go along."""
        return any(True for _ in self._db.partition(self._records, policies_pk(namespace), Limit=1))

    def _parts(self, account: str, since: Millis) -> list[Part]:
        spaces = namespaces_of(account)
        lists = [f"{keys.account_pk(x)}#{name}{log}" for x in spaces for name in keys.LISTS.values() for log in _LOGS]
        entries = [Part(self._records, pk, since=since) for pk in lists]
        if since:
            return [*entries, *(Part(self._records, keys.account_pk(x)) for x in spaces)]
        return [
            Part(self._records, keys.account_pk(account)),
            Part(self._identities, keys.account_pk(account)),
            *(Part(self._records, keys.account_pk(x)) for x in spaces if x != account),
            *(Part(self._records, x, index=True) for x in (indices.mine_pk(x, TEMPLATES) for x in spaces)),
            *(Part(self._records, f(x)) for x in spaces for f in (programs_pk, _idempotency_pk, _spent_pk)),
            *(Part(self._records, pk) for pk in (*keys.stats_pks(account), claims_pk(account))),
            *entries,
        ]

    def _page(self, part: Part, start: Any) -> tuple[list[Item], Any]:
        name = "mine_pk" if part.index else "pk"
        asked: Item = {
            "TableName": part.table,
            "KeyConditionExpression": f"{name} = :pk",
            "ExpressionAttributeValues": {":pk": s(part.pk)},
            "Limit": PAGE,
            **({"IndexName": INDEX_MINE} if part.index else {"ConsistentRead": True}),
            **({"ExclusiveStartKey": start} if start else {}),
        }
        if part.since:
            asked["FilterExpression"] = "#at >= :since"
            asked["ExpressionAttributeNames"] = {"#at": "at"}
            asked["ExpressionAttributeValues"][":since"] = n(part.since)
        page = self._db.call("query", **asked)
        return page["Items"], page.get("LastEvaluatedKey")

    def _whole(self, part: Part, item: Item, account: str) -> Iterator[tuple[str, Item]]:
        """Yield what goes along of an item of a page: its kind of table, and it; a template's partition, a key's."""
        if part.index:
            yield from (("records", x) for x in self._db.partition(self._records, text(item, "pk")))
        elif part.table == self._identities and part.pk == keys.account_pk(account):
            yield "identities", item
            if "digest" in item:
                found = self._db.get(self._identities, keys.api_key(text(item, "digest")))
                yield from (("identities", x) for x in [found] if x is not None)
            if text(item, "sk") == keys.PROFILE:
                yield "identities", {**item, **keys.accounts(account)}
        elif not _is_own(part.pk, account) or text(item, "sk") in (*OWN, CONTROL):
            yield "records", item


class AccountUnpacker:
    """Puts items into a deployment that an account moves to; a repeat changes nothing, and so never what is there."""

    def __init__(self, dynamo: Dynamo, *, records: str, identities: str) -> None:
        self._db = dynamo
        self._tables = {"records": records, "identities": identities}

    def unpack(self, account: str, origin: str, carried: Sequence[Mapping[str, Any]]) -> int:
        """Put a page of items; return how many were not there.

        Args:
            origin: the address of the deployment that the account comes from.

        Raises:
            NotOfAccount: an item is not the account's; nothing of the page was put.
        """
        items = [(str(x["table"]), _item(x["item"])) for x in carried]
        for table, item in items:
            _check(account, table, item)
        return sum(self._put(account, origin, table, item) for table, item in items)

    def _put(self, account: str, origin: str, table: str, item: Item) -> bool:
        place, condition, values = text(item, "pk"), "attribute_not_exists(pk)", {}
        if text(item, "sk") == keys.PROFILE or place == keys.accounts(account)["pk"]["S"]:
            item = {k: v for k, v in item.items() if k not in _PLACE}
            item |= {"place": s(Place.ARRIVING), "elsewhere": s(origin)}
            condition, values = f"{condition} OR place = :moved", {":moved": s(Place.MOVED)}
        elif text(item, "sk") == CONTROL:
            item = {**item, "suspended": s("arrives from another cell"), "suspended_at": n(0)}
        elif text(item, "sk") == keys.SUPPRESSED:
            return self._renew(item)
        more = {"ExpressionAttributeValues": values} if values else {}
        return self._db.attempt(
            "put_item", TableName=self._tables[table], Item=item, ConditionExpression=condition, **more
        )

    def _renew(self, item: Item) -> bool:
        """Set when addresses were last suppressed to the later time: senders then look for what is new."""
        for name, value in item.items():
            if "N" in value:
                self._db.attempt(
                    "update_item",
                    TableName=self._tables["records"],
                    Key={"pk": item["pk"], "sk": item["sk"]},
                    UpdateExpression="SET #at = :at",
                    ConditionExpression="attribute_not_exists(#at) OR #at < :at",
                    ExpressionAttributeNames={"#at": name},
                    ExpressionAttributeValues={":at": value},
                )
        return False


_LOGS: Final = ("", "LOG")


def _idempotency_pk(space: str) -> str:
    return keys.idempotency(space, "")["pk"]["S"]


def _spent_pk(space: str) -> str:
    return keys.spent(space, "")["pk"]["S"]


def _is_own(pk: str, account: str) -> bool:
    return pk in {keys.account_pk(x) for x in namespaces_of(account)}


def _check(account: str, table: str, item: Item) -> None:
    """Refuse an item that is not the account's."""
    pk, sk = text(item, "pk"), text(item, "sk")
    whose = owner(text(item, "account")) == account
    spaces = namespaces_of(account)
    if table == "identities":
        fine = pk == keys.account_pk(account) or (pk.startswith("K#") and whose) or (pk, sk) == ("ACCOUNTS", account)
    elif pk.startswith("T#"):
        fine = whose or sk.startswith(keys.VERSION_PREFIX)
    else:
        own = (keys.account_pk(x) for x in spaces)
        others = {f(x) for x in spaces for f in (programs_pk, _idempotency_pk, _spent_pk)}
        fine = pk in others or pk in keys.stats_pks(account) or any(pk == x or pk.startswith(f"{x}#") for x in own)
    if not fine or table not in ("identities", "records"):
        raise NotOfAccount(f"an item of the file is not of {account}")


def _carried(kind: str, item: Item) -> dict[str, Any]:
    left = _STATE if text(item, "sk") == CONTROL else ()
    return {"table": kind, "item": {k: _plain(v) for k, v in item.items() if k not in left}}


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an attribute as JSON: bytes in base64."""
    [(kind, held)] = value.items()
    if kind == "B":
        return {kind: base64.b64encode(held).decode()}
    if kind == "M":
        return {kind: {k: _plain(v) for k, v in held.items()}}
    return {kind: [_plain(v) for v in held] if kind == "L" else held}


def _item(carried: Mapping[str, Any]) -> Item:
    return {name: _attribute(value) for name, value in carried.items()}


def _attribute(value: Mapping[str, Any]) -> dict[str, Any]:
    [(kind, held)] = value.items()
    if kind == "B":
        return {kind: base64.b64decode(held)}
    if kind == "M":
        return {kind: _item(held)}
    return {kind: [_attribute(v) for v in held] if kind == "L" else held}
