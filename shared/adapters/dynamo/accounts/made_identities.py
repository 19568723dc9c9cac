"""Which domains this deployment made known to providers, in `records`.

| pattern | key |
|---|---|
| all of them; one of them, with the account that it was made for | `DOMAINS / example.com#provider#region` |
| the names of those that an account had made, also of those it has given up | `A#account#DOMAINS / provider#region` |

An item shows who made a domain known, and grants nothing, so functions may write it. Only operators remove a domain.
They look for accounts that use it among the claims of accounts and the grants of operators.
"""

from collections.abc import Iterator
from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import n, number, text
from shared.domain.identities import MAX_MADE, OwnedIdentity
from shared.domain.namespaces import owner
from shared.ports import Clock

PARTITION: Final = "DOMAINS"


class DynamoOwnedIdentities:
    """`ports.OwnedIdentities`, and what operators do with them. `table`: the name of `records`."""

    def __init__(self, dynamo: Dynamo, table: str, clock: Clock) -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock

    def reserve(self, made: OwnedIdentity) -> bool:
        return self._count(
            made,
            "ADD domains :those",
            "attribute_not_exists(domains) OR contains(domains, :domain) OR size(domains) < :most",
            {":domain": {"S": made.domain}, ":most": n(MAX_MADE)},
        )

    def release(self, made: OwnedIdentity) -> None:
        self._count(made, "DELETE domains :those")

    def add(self, made: OwnedIdentity) -> None:
        now = {"made_at": n(int(self._clock.now() * 1000))}
        item: Item = {**_key(made), **now, "account": {"S": made.account}}
        self._db.call("put_item", TableName=self._table, Item=item)

    def has(self, provider: str, region: str, domain: str) -> bool:
        return self._db.get(self._table, _key(OwnedIdentity(provider, region, domain))) is not None

    def list(self) -> Iterator[OwnedIdentity]:
        """Yield all of them in the order of their domains."""
        for item in self._db.partition(self._table, PARTITION):
            domain, provider, region = item["sk"]["S"].split("#")
            yield OwnedIdentity(provider, region, domain, text(item, "account"), number(item, "made_at"))

    def forget(self, made: OwnedIdentity) -> None:
        """Note that a domain was removed, and stop counting it; a repeat changes nothing."""
        if made.account:
            self.release(made)
        self._db.call("delete_item", TableName=self._table, Key=_key(made))

    def _count(self, made: OwnedIdentity, update: str, condition: str = "", values: Item | None = None) -> bool:
        """Change the names that count for an account, at one provider and region; False if the condition fails.

        Args:
            made: the domain and its account.
            update: what is done with `:those`, the domain's name as a set.
            condition: of the write; empty for none.
        """
        place = keys.key(f"{keys.account_pk(owner(made.account))}#{PARTITION}", f"{made.provider}#{made.region}")
        only: Item = {"ConditionExpression": condition} if condition else {}
        return self._db.attempt(
            "update_item",
            TableName=self._table,
            Key=place,
            UpdateExpression=update,
            ExpressionAttributeValues={":those": {"SS": [made.domain]}, **(values or {})},
            **only,
        )


def _key(made: OwnedIdentity) -> keys.Key:
    return keys.key(PARTITION, f"{made.domain}#{made.provider}#{made.region}")
