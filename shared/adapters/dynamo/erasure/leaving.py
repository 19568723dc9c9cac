"""Deletes what stays by itself of an account that leaves: its own rows and pictures, campaigns, stored templates.

Jobs and messages have an end of their own, and are left to it: their providers still report about them.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import s, text
from shared.adapters.dynamo.erasure.scanned import place_of, token_of
from shared.domain.namespaces import namespaces_of

HEADS: Final = ("CAMPAIGN", "TEMPLATE")
"""Sort keys of items whose whole partition is deleted, if they are of the account."""
KEPT: Final = ("#AUDIT", "#SEALS", "#WAKE", "#DOMAINS")
"""Endings of partitions that stay: entries of audit logs, and the domains that providers still sign for."""
KEPT_ROWS: Final = ("CONTROL", keys.PROFILE)
"""Sort keys of the account's own partition that stay: so it stays suspended, and has an id."""


class LeavingRows:
    """The rows of one account.

    Args:
        table: `records`.
    """

    def __init__(self, dynamo: Dynamo, table: str, account: str) -> None:
        self._db = dynamo
        self._table = table
        self._account = account
        self.read = 0
        self.deleted = 0

    def erase(self, after: str, enough: Callable[[], bool]) -> str:
        """Read the table and delete the account's rows; a repeat finds those that are left.

        Args:
            after: what an earlier call returned; empty: the beginning.
            enough: asked after each page whether to end.

        Returns:
            The place to continue from, empty at the end.
        """
        request = self._scan()
        if after:
            request["ExclusiveStartKey"] = place_of(after)
        while True:
            page = self._db.call("scan", TableName=self._table, **request)
            self.read += page["ScannedCount"]
            self._delete(page["Items"])
            place = page.get("LastEvaluatedKey")
            if place is None:
                return ""
            if enough():
                return token_of(place)
            request["ExclusiveStartKey"] = place

    def _scan(self) -> dict[str, Any]:
        spaces = {f":space{i}": s(space) for i, space in enumerate(namespaces_of(self._account))}
        return {
            "FilterExpression": "begins_with(pk, :own) OR begins_with(pk, :policies) "
            f"OR (sk IN (:campaign, :template) AND #account IN ({', '.join(spaces)}))",
            "ProjectionExpression": "pk, sk, #account",
            "ExpressionAttributeNames": {"#account": "account"},
            "ExpressionAttributeValues": {
                ":own": s(keys.account_pk(self._account)),
                ":policies": s(f"B#{self._account}"),
                ":campaign": s(HEADS[0]),
                ":template": s(HEADS[1]),
                **spaces,
            },
        }

    def _delete(self, found: Iterable[Item]) -> None:
        """Delete rows, and the partitions of heads, each head last: so a repeat finds it again."""
        rows: list[Item] = []
        for item in found:
            if text(item, "sk") in HEADS:
                part = self._db.partition(self._table, text(item, "pk"), ProjectionExpression="pk, sk")
                rows += sorted(part, key=lambda x: text(x, "sk") in HEADS)
            elif not self._stays(item):
                rows.append(item)
        names = [{"pk": x["pk"], "sk": x["sk"]} for x in rows]
        self._db.batch_write([(self._table, {"DeleteRequest": {"Key": name}}) for name in names])
        self.deleted += len(names)

    def _stays(self, item: Item) -> bool:
        pk = text(item, "pk")
        return pk.endswith(KEPT) or (pk == keys.account_pk(self._account) and text(item, "sk") in KEPT_ROWS)
