"""The items that an account takes along to another deployment, as pages, and how they are put there.

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
RECORDS: Final = "records"
IDENTITIES: Final = "identities"
OWN: Final = ("GUESTS", "APPROVALS", keys.SUPPRESSED)
"""Sort keys of an account's own partitions in `records` that go along, beside its control."""
_STATE: Final = ("suspended", "suspended_at")
_PLACE: Final = ("place", "elsewhere")


class NotOfAccount(ValueError):
    """An item is not one that the account takes along."""


@dataclass(frozen=True, slots=True)
class PackedPart:
    """A partition, or an index's, of which items go along. `index`: the templates of a namespace."""

    table: str
    pk: str
    index: bool = False
    since: Millis = 0

    @property
    def own(self) -> tuple[str, ...]:
        """Sort keys of an account's own partition that go along."""
        return (keys.SUPPRESSED,) if self.since else (*OWN, CONTROL)


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

    def _parts(self, account: str, since: Millis) -> list[PackedPart]:
        spaces = namespaces_of(account)
        entries = [self._of(f"{keys.account_pk(space)}#{name}", since) for space in spaces for name in _LISTED]
        if since:
            return [*(self._of(keys.account_pk(space), since) for space in spaces), *entries]
        home = PackedPart(self._identities, keys.account_pk(account))
        templates = [PackedPart(self._records, indices.mine_pk(space, TEMPLATES), index=True) for space in spaces]
        others = map(self._of, sorted(_others(account)))
        return [self._of(keys.account_pk(account)), home, *map(self._of, map(keys.account_pk, spaces[1:])), *templates,
                *others, *entries]  # fmt: skip

    def _of(self, pk: str, since: Millis = 0) -> PackedPart:
        return PackedPart(self._records, pk, since=since)

    def _page(self, part: PackedPart, start: Any) -> tuple[list[Item], Any]:
        name = "mine_pk" if part.index else "pk"
        asked: Item = {
            "TableName": part.table,
            "KeyConditionExpression": f"{name} = :pk",
            "ExpressionAttributeValues": {":pk": s(part.pk)},
            "Limit": PAGE,
            **({"IndexName": INDEX_MINE} if part.index else {"ConsistentRead": True}),
            **({"ExclusiveStartKey": start} if start else {}),
        }
        if part.since and part.pk.endswith(_LISTED):
            asked["FilterExpression"] = "#at >= :since"
            asked["ExpressionAttributeNames"] = {"#at": "at"}
            asked["ExpressionAttributeValues"][":since"] = n(part.since)
        page = self._db.call("query", **asked)
        return page["Items"], page.get("LastEvaluatedKey")

    def _whole(self, part: PackedPart, item: Item, account: str) -> Iterator[tuple[str, Item]]:
        """Yield what goes along of an item of a page: its kind of table, and it; a template's partition, a key's."""
        if part.index:
            yield from ((RECORDS, x) for x in self._db.partition(self._records, text(item, "pk")))
        elif part.table == self._identities and part.pk == keys.account_pk(account):
            yield from ((IDENTITIES, x) for x in self._identity(item, account))
        elif part.pk not in map(keys.account_pk, namespaces_of(account)) or text(item, "sk") in part.own:
            yield RECORDS, item

    def _identity(self, item: Item, account: str) -> Iterator[Item]:
        """Yield an item of the account's identities, and the one that belongs to it: of a key, of the list."""
        yield item
        if text(item, "sk") == keys.PROFILE:
            yield {**item, **keys.accounts(account)}
        elif "digest" in item and (found := self._db.get(self._identities, keys.api_key(text(item, "digest")))):
            yield found


class AccountUnpacker:
    """Puts items into a deployment that an account moves to; a repeat changes nothing, and so never what is there."""

    def __init__(self, dynamo: Dynamo, *, records: str, identities: str) -> None:
        self._db = dynamo
        self._tables = {RECORDS: records, IDENTITIES: identities}

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
                    TableName=self._tables[RECORDS],
                    Key={"pk": item["pk"], "sk": item["sk"]},
                    UpdateExpression="SET #at = :at",
                    ConditionExpression="attribute_not_exists(#at) OR #at < :at",
                    ExpressionAttributeNames={"#at": name},
                    ExpressionAttributeValues={":at": value},
                )
        return False


_LISTED: Final = tuple(f"{name}{log}" for name in keys.LISTS.values() for log in ("", "LOG"))
"""Endings of the partitions of suppressions and unsubscriptions."""


def _idempotency_pk(space: str) -> str:
    return keys.idempotency(space, "")["pk"]["S"]


def _spent_pk(space: str) -> str:
    return keys.spent(space, "")["pk"]["S"]


def _others(account: str) -> set[str]:
    """Return the partitions of `records` that go along whole."""
    spaces = namespaces_of(account)
    several = {of(space) for space in spaces for of in (programs_pk, _idempotency_pk, _spent_pk)}
    return several | {*keys.stats_pks(account), claims_pk(account)}


def _check(account: str, table: str, item: Item) -> None:
    """Refuse an item that is not the account's."""
    fine = _is_identity(account, item) if table == IDENTITIES else table == RECORDS and _is_record(account, item)
    if not fine:
        raise NotOfAccount(f"an item of the file is not of {account}")


def _is_identity(account: str, item: Item) -> bool:
    pk, sk = text(item, "pk"), text(item, "sk")
    if pk.startswith("K#"):
        return owner(text(item, "account")) == account
    return pk == keys.account_pk(account) or (pk, sk) == ("ACCOUNTS", account)


def _is_record(account: str, item: Item) -> bool:
    pk, sk = text(item, "pk"), text(item, "sk")
    if pk.startswith(keys.template_pk("")):
        return owner(text(item, "account")) == account or sk.startswith(keys.VERSION_PREFIX)
    own = [keys.account_pk(space) for space in namespaces_of(account)]
    return pk in own or pk in _others(account) or pk.startswith(tuple(f"{x}#" for x in own))


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
