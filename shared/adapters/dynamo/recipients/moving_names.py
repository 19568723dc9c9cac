"""Moves stored names of addresses to the latest key, list by list; for operators.

Source: docs/adr/0258. Any number of moves may run at once, and may die anywhere. One transaction moves an entry, and a
repeat moves what is left. An entry that is removed or changed meanwhile is moved as it is then, or not at all.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item
from shared.adapters.dynamo.codec import number, s, text
from shared.adapters.dynamo.recipients.stored_names import KeyedNames
from shared.domain.namespaces import namespaces_of
from shared.domain.recipients.address_names import MOVE_MS, NameKeys, NamesState, bound, is_stand_in, stand_in
from shared.domain.recipients.suppressions import Reach
from shared.ports import Retriable

AT_ONCE: Final = 16
"""Entries that are moved at the same time."""
PAGE: Final = 400
"""Entries that are read together."""
TRIES: Final = 5


class NamesMover:
    """Moves names while `enough` returns False.

    Args:
        table: the name of `records`.
        by: the operator, for the audit log.
    """

    def __init__(self, dynamo: Dynamo, table: str, names: KeyedNames, by: str, enough: Callable[[], bool]) -> None:
        self._db = dynamo
        self._table = table
        self._names = names
        self._by = by
        self._enough = enough

    def move(self, accounts: Callable[[], Iterable[str]]) -> NamesState:
        """Move the names of accounts, from the place on that an earlier call reached; return what is stored then.

        Nothing is moved until `MOVE_MS` after the announcement. Once all are moved, the state is settled.

        Args:
            accounts: returns the ids of all.

        Raises:
            MalformedSecret: the secret has not the keys of the state.
            Retriable: an entry kept changing, or DynamoDB is busy.
        """
        state = self._names.read()
        if state.settled or self._names.now() < state.at + MOVE_MS:
            return state
        known = self._names.checked(state)
        with ThreadPoolExecutor(AT_ONCE, "names") as pool:
            for account in sorted(x for x in accounts() if x > state.place):
                done, moved = self._account(account, state, known, pool)
                state = self._names.reached(state, account if done else state.place, moved)
                if not done or state.settled:
                    return state
        return self._names.settle(state, self._by)

    def _account(self, account: str, state: NamesState, known: NameKeys, pool: ThreadPoolExecutor) -> tuple[bool, int]:
        """Move the names of an account; return whether all were, and how many there were."""
        moved = 0
        for name in namespaces_of(account):
            for reach in Reach:
                while True:
                    if self._enough():
                        return False, moved
                    page = self._page(keys.suppression(name, "", reach)["pk"], state.target)
                    moved += sum(pool.map(lambda item: self._entry(item, state.target, known), page))
                    if len(page) < PAGE:
                        break
        return True, moved

    def _page(self, pk: dict[str, str], target: int) -> list[Item]:
        """Return entries with names of earlier generations than the target, which sort before its own."""
        page: list[Item] = self._db.call(
            "query",
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND sk < :target",
            ExpressionAttributeValues={":pk": pk, ":target": s(bound(target))},
            ConsistentRead=True,
            Limit=PAGE,
        )["Items"]
        return page

    def _entry(self, item: Item, target: int, known: NameKeys) -> bool:
        """Move an entry; False if it no longer exists."""
        own = {"pk": item["pk"], "sk": item["sk"]}
        for _ in range(TRIES):
            name, mark, rest = item["sk"]["S"].partition("#")
            ending = f"{known.raised(name, target)}{mark}{rest}"
            new = {"pk": item["pk"], "sk": s(ending)}
            there = self._db.get(self._table, new) is not None  # an old version has added it beside: the new one stays
            log, at = f"{item['pk']['S']}LOG", f"{number(item, 'at'):015d}#"
            before, after = keys.key(log, f"{at}{item['sk']['S']}"), keys.key(log, f"{at}{ending}")
            if self._db.together([*self._deletes(item, own, before), *([] if there else self._puts(item, new, after))]):
                return True
            found = self._db.get(self._table, own)
            if found is None:
                return False
            item = found
        raise Retriable("names: an entry kept changing")

    def _deletes(self, item: Item, own: keys.Key, before: keys.Key) -> list[Item]:
        """Return what removes both items of an entry, if it is as read."""
        as_read = {
            "ConditionExpression": "#at = :at AND reason = :reason AND address = :address",
            "ExpressionAttributeNames": {"#at": "at"},
            "ExpressionAttributeValues": {":at": item["at"], ":reason": item["reason"], ":address": item["address"]},
        }
        return [
            {"Delete": {"TableName": self._table, "Key": own, **as_read}},
            {"Delete": {"TableName": self._table, "Key": before}},
        ]

    def _puts(self, item: Item, new: keys.Key, after: keys.Key) -> list[Item]:
        """Return what adds both items of an entry under its new name.

        Webhooks have heard of the entry when it was added, if they wanted to: a move says nothing new.
        """
        fields = {**item, "unheard": {"BOOL": True}}
        if is_stand_in(text(item, "address")):
            fields["address"] = s(stand_in(new["sk"]["S"].partition("#")[0]))
        first = {"TableName": self._table, "Item": {**fields, **new}, "ConditionExpression": "attribute_not_exists(pk)"}
        return [{"Put": first}, {"Put": {"TableName": self._table, "Item": {**fields, **after}}}]
