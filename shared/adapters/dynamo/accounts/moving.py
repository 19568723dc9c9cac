"""Moves identities and audit logs from `records` to tables of their own, once; for operators.

Moved items also stay in the old place: the version before this one reads them after a rollback. Any number of tools may
move at once, and other tools may change identities at the same time. One transaction copies an item and checks that it
is still in the old place. So an item that is removed meanwhile does not come back.
"""

from collections.abc import Sequence
from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n
from shared.domain.audit import EVERYONE, Log

OWN: Final = ("PROFILE", keys.SENDER_PREFIX, keys.KEY_PREFIX, keys.HEIR_PREFIX)
"""The beginnings of the sort keys of identities in an account's partition; all other items are no identities."""


class Mover:
    """Moves the identities and audit logs that a deployment has in `records`."""

    def __init__(self, dynamo: Dynamo, records: str) -> None:
        self._db = dynamo
        self._old = records
        self._homes = dynamo.homes

    def move(self, now: int) -> int:
        """Move everything and write the mark; returns how many items were new. Repeated, it moves what is missing."""
        accounts = list(self._db.partition(self._old, keys.accounts("")["pk"]["S"]))
        moved = sum(self._account(entry) for entry in accounts) + self._log(EVERYONE)
        mark = {**keys.moved(), "at": n(now)}
        self._db.call("put_item", TableName=self._homes.identities, Item=mark)
        return moved

    def _account(self, entry: Item) -> int:
        account = entry["sk"]["S"]
        items = self._db.partition(self._old, keys.account_pk(account))
        own = [x for x in items if x["sk"]["S"].startswith(OWN)]
        digests = [x["digest"]["S"] for x in own if x["sk"]["S"].startswith(keys.KEY_PREFIX)]
        own += self._db.batch_get(self._old, [keys.api_key(digest) for digest in digests])
        return self._log(account) + sum(map(self._identity, self._missing([*own, entry])))

    def _missing(self, items: Sequence[Item]) -> list[Item]:
        """Return items that were not moved yet, so that each repeat of a move that ran out of time gets further."""
        there = self._db.batch_get(self._homes.identities, [{"pk": x["pk"], "sk": x["sk"]} for x in items])
        known = {(x["pk"]["S"], x["sk"]["S"]) for x in there}
        return [x for x in items if (x["pk"]["S"], x["sk"]["S"]) not in known]

    def _identity(self, item: Item) -> bool:
        """Copy an item that is still in the old place; False if it is not, or is in the new one already."""
        key = {"pk": item["pk"], "sk": item["sk"]}
        still = {"TableName": self._old, "Key": key, "ConditionExpression": "attribute_exists(pk)"}
        put = {"TableName": self._homes.identities, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}
        return self._db.together([{"ConditionCheck": still}, {"Put": put}])

    def _log(self, account: str) -> int:
        pk = keys.event(account, Log.AUDIT.value, 0, "", "")["pk"]["S"]
        there = {x["sk"]["S"] for x in self._db.partition(self._homes.audit, pk, ProjectionExpression="sk")}
        new = [x for x in self._db.partition(self._old, pk) if x["sk"]["S"] not in there]
        for item in new:  # one by one: nothing may write several entries of the audit log at once
            self._db.call("put_item", TableName=self._homes.audit, Item=item)
        return len(new)
