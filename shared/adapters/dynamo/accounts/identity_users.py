"""Which accounts use a domain at the providers, in `records`: one item a domain.

| pattern | key |
|---|---|
| the accounts that use a domain; since when is it being removed? | `DOMAIN#example.com / IDENTITY` |

Two accounts may have proven one domain. The last that gives it up removes it, and while it does no other can join: what
the one makes, the other would remove.
"""

from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number
from shared.domain.namespaces import owner
from shared.ports import Clock

REMOVAL_MS: Final = 60_000
"""Milliseconds that a removal may take: longer than a call of the API lives."""


class DynamoIdentityUsers:
    """`ports.IdentityUsers`. `table`: the name of `records`."""

    def __init__(self, dynamo: Dynamo, table: str, clock: Clock) -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock

    def join(self, account: str, domain: str) -> bool:
        """Note that an account uses a domain. False: the domain is being removed."""
        values = {":who": {"SS": [owner(account)]}, ":over": n(self._now() - REMOVAL_MS)}
        try:
            self._update(
                domain,
                "ADD accounts :who REMOVE removing_at",
                "attribute_not_exists(removing_at) OR removing_at < :over",
                values,
            )
        except ConditionFailed:
            return False
        return True

    def leave(self, account: str, domain: str) -> bool:
        """Note that an account no longer uses a domain. True: none does, and the caller removes it.

        An account that never used it changes nothing. A repeat after an interruption continues the removal.
        """
        who = owner(account)
        values = {":whom": {"SS": [who]}, ":who": {"S": who}}
        try:
            self._update(domain, "DELETE accounts :whom", "contains(accounts, :who)", values)
        except ConditionFailed:
            item = self._db.get(self._table, _key(domain))
            if item is None or "accounts" in item:
                return False
        try:
            self._update(domain, "SET removing_at = :now", "attribute_not_exists(accounts)", {":now": n(self._now())})
        except ConditionFailed:
            return False
        return True

    def removed(self, domain: str) -> None:
        """Note that a domain was removed, so that accounts can join again."""
        item = self._db.get(self._table, _key(domain)) or {}
        values = {":then": n(number(item, "removing_at"))}
        try:
            self._db.call(
                "delete_item",
                TableName=self._table,
                Key=_key(domain),
                ConditionExpression="attribute_not_exists(accounts) AND removing_at = :then",
                ExpressionAttributeValues=values,
            )
        except ConditionFailed:
            return  # another removal has done so, or an account has joined since

    def _now(self) -> int:
        return int(self._clock.now() * 1000)

    def _update(self, domain: str, change: str, condition: str, values: Item) -> None:
        """Change a domain's item, or raise ConditionFailed.

        Args:
            domain: whose item.
            change: the expression.
            condition: under which it is changed.
            values: of both.
        """
        self._db.call(
            "update_item",
            TableName=self._table,
            Key=_key(domain),
            UpdateExpression=change,
            ConditionExpression=condition,
            ExpressionAttributeValues=values,
        )


def _key(domain: str) -> keys.Key:
    return keys.key(f"DOMAIN#{domain}", "IDENTITY")
