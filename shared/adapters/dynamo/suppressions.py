"""Suppressed addresses of an account on DynamoDB.

Each is two items: one under the hash of the normalised address, for "is it suppressed?", and one under its time, for
lists and for senders that ask what is new. Both hold the address itself, since its owner may read the list.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from shared.adapters.dynamo import keys, marks
from shared.adapters.dynamo.client import Cancelled, Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s, text
from shared.domain.addresses import address_hash
from shared.ports import Clock

BY_KEY: Final = 300
"""Up to this many addresses are looked up one by one (a unit each, 100 a call). For more, the first page of the
suppressions, up to 1 MB or some 6,000 of them, is read in one call, and only those behind it are looked up."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """A suppressed address. `address`: normalised; `at`: Unix milliseconds."""

    address: str
    reason: str
    at: int


class Suppressions:
    """Suppressions by account.

    Args:
        client: a low-level boto3 DynamoDB client.
        table: the name of the table `records`.
        clock: the time.
    """

    def __init__(self, client: Any, table: str, clock: Clock) -> None:
        self._db = Dynamo(client, sleep=clock.sleep)
        self._table = table
        self._clock = clock

    def put(self, account: str, address_key: str, reason: str) -> Suppression:
        """Suppress an address, given as its normalised key, and return what is stored.

        Repeating it changes at most the reason: the first time stays.
        """
        digest = address_hash(address_key)
        now = int(self._clock.now() * 1000)
        fields: Item = {"address": s(address_key), "reason": s(reason), "at": n(now)}
        by_hash = {**keys.suppression(account, digest), **fields}
        by_time = {**keys.suppression_log(account, now, digest), **fields}
        noted = False
        while True:
            if not noted and self.get(account, address_key) is None:
                marks.suppressing(self._db, self._table, account, now)
                noted = True
            try:
                self._db.call(
                    "transact_write_items",
                    TransactItems=[
                        {
                            "Put": {
                                "TableName": self._table,
                                "Item": by_hash,
                                "ConditionExpression": "attribute_not_exists(pk)",
                            }
                        },
                        {"Put": {"TableName": self._table, "Item": by_time}},
                    ],
                )
            except Cancelled as lost:
                if lost.codes[0] != "ConditionalCheckFailed":
                    raise
            else:
                if not noted:  # it was there, and was taken away just now
                    marks.suppressing(self._db, self._table, account, now)
                return _suppression(by_hash)
            known = self.get(account, address_key)
            if known is not None and (known.reason == reason or self._rename(account, digest, known.at, reason)):
                return Suppression(known.address, reason, known.at)

    def _rename(self, account: str, digest: str, at: int, reason: str) -> bool:
        """Change the reason of an entry made at `at`; False if it has gone."""
        update = {
            "TableName": self._table,
            "UpdateExpression": "SET reason = :reason",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":reason": s(reason)},
        }
        both = (keys.suppression(account, digest), keys.suppression_log(account, at, digest))
        try:
            self._db.call("transact_write_items", TransactItems=[{"Update": {**update, "Key": key}} for key in both])
        except Cancelled as lost:
            if "ConditionalCheckFailed" in lost.codes:
                return False
            raise
        return True

    def get(self, account: str, address_key: str) -> Suppression | None:
        """Return a suppression, consistent; None if the address is not suppressed."""
        item = self._db.get(self._table, keys.suppression(account, address_hash(address_key)))
        return _suppression(item) if item else None

    def delete(self, account: str, address_key: str) -> bool:
        """Allow an address again; False if it was not suppressed."""
        digest = address_hash(address_key)
        known = self.get(account, address_key)
        if known is None:
            return False
        self._db.call(
            "transact_write_items",
            TransactItems=[
                {"Delete": {"TableName": self._table, "Key": keys.suppression(account, digest)}},
                {"Delete": {"TableName": self._table, "Key": keys.suppression_log(account, known.at, digest)}},
            ],
        )
        return True

    def page(self, account: str, *, after: str = "", limit: int) -> tuple[list[Suppression], str]:
        """Return up to `limit` suppressions, newest first, and the place to go on from, empty at the end.

        Args:
            account: whose.
            after: what the page before returned, or empty.
            limit: at least 1.
        """
        condition, values = "pk = :pk", {":pk": keys.suppression_log(account, 0, "")["pk"]}
        if after:
            condition, values = "pk = :pk AND sk < :after", {**values, ":after": s(after)}
        page = self._db.call(
            "query",
            TableName=self._table,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=limit,
        )
        items: list[Item] = page["Items"]
        return [_suppression(x) for x in items], items[-1]["sk"]["S"] if "LastEvaluatedKey" in page else ""

    def check(self, account: str, address_keys: Iterable[str]) -> set[str]:
        """Return those of the addresses, given as normalised keys, that are suppressed; consistent."""
        by_digest = {address_hash(k): k for k in address_keys}
        found: set[str] = set()
        if len(by_digest) > BY_KEY:
            page = self._db.call(
                "query",
                TableName=self._table,
                KeyConditionExpression="pk = :pk",
                ExpressionAttributeValues={":pk": keys.suppression(account, "")["pk"]},
                ProjectionExpression="sk",
                ConsistentRead=True,
            )
            found = {by_digest[x["sk"]["S"]] for x in page["Items"] if x["sk"]["S"] in by_digest}
            if "LastEvaluatedKey" not in page:
                return found
            read_to = page["LastEvaluatedKey"]["sk"]["S"]
            by_digest = {digest: k for digest, k in by_digest.items() if digest > read_to}
        wanted = [keys.suppression(account, digest) for digest in by_digest]
        return found | {by_digest[x["sk"]["S"]] for x in self._db.batch_get(self._table, wanted)}


def _suppression(item: Item) -> Suppression:
    return Suppression(text(item, "address"), text(item, "reason"), number(item, "at"))
