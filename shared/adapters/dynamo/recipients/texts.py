"""Texts that recipients wrote, on DynamoDB: one item for each account of the credential, in the table `records`.

| pattern | key |
|---|---|
| a text that a number wrote to an account | `A#account#TEXT#id / TEXT` |
| an account's texts, newest first (index `mine`) | `account#texts` / `at#id` |
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from shared.adapters.dynamo import audit, indices, keys
from shared.adapters.dynamo.client import InRecords, Item
from shared.adapters.dynamo.codec import n, number, s
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.listing import entries
from shared.domain.texts import KEPT_DAYS, ReceivedText

KIND: Final = "texts"
"""Kind in the index `mine`."""
DAY_S: Final = 86_400
_FIELDS: Final = Fields(ReceivedText)
_PAGE: Final = 100


class DynamoTexts(InRecords):
    """`ports.Texts` over the table `records`."""

    def add(self, received: ReceivedText) -> None:
        put = {"TableName": self._table, "Item": _item(received), "ConditionExpression": "attribute_not_exists(pk)"}
        actions = [{"Put": put}, *audit.puts(self._db, self._table, received.event())]
        self._db.together(actions)  # unless it is stored already

    def page(self, account: str, *, after: str, limit: int, now: int) -> tuple[list[ReceivedText], str]:
        pk = indices.mine_pk(account, KIND)
        found, end = entries(
            self._db,
            self._table,
            pk,
            partial(_key, account),
            (*_FIELDS.names, "ttl"),
            after=after,
            limit=limit,
        )
        return [received_text(x) for x in found if number(x, "ttl") > now // 1000], end

    def erase(self, accounts: Iterable[str], sender: str, *, dry: bool) -> Iterator[str]:
        """Remove all texts of a number, as only an operator may; yield the account of each.

        Args:
            sender: the number, E.164.
            dry: look, and remove nothing.
        """
        for account in accounts:
            for x in list(self._all(account)):
                if x.sender == sender:
                    if not dry:
                        self._db.call("delete_item", TableName=self._table, Key=_key(account, x.id))
                    yield account

    def _all(self, account: str) -> Iterator[ReceivedText]:
        found, after = self.page(account, after="", limit=_PAGE, now=0)
        yield from found
        while after:
            found, after = self.page(account, after=after, limit=_PAGE, now=0)
            yield from found


def _key(account: str, name: str) -> keys.Key:
    return keys.key(f"{keys.account_pk(account)}#TEXT#{name}", "TEXT")


def _item(x: ReceivedText) -> Item:
    return {
        **_key(x.account, x.id),
        "mine_pk": s(indices.mine_pk(x.account, KIND)),
        "mine_sk": s(keys.aged(x.at, x.id)),
        "ttl": n(x.at // 1000 + KEPT_DAYS * DAY_S),
        **_FIELDS.item(x),
    }


def received_text(item: Mapping[str, Any]) -> ReceivedText:
    """Read a text."""
    return ReceivedText(**_FIELDS.read(item))
