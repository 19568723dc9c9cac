"""Reads of identities: from their own table, and before an upgrade from `records`.

They are read in `records` until an operator's tool has moved them (`accounts.moving`). Then the item `SYS / MOVED` is
in the table of identities, and items in the old place no longer count.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import Dynamo, Item

READ: Final = 40
"""Keys in one BatchGetItem, which may name each twice."""


class Places:
    """Reads identities from their table, and those that were not moved yet from `records`. Safe for threads."""

    def __init__(self, dynamo: Dynamo, records: str) -> None:
        self._db = dynamo
        self._records = records
        self.home: str = dynamo.homes.identities or records
        self._moved = self.home == records

    def moved(self) -> bool:
        """Tell whether the old place no longer counts; reads the table until that is so."""
        if not self._moved:
            self._moved = self._db.get(self.home, keys.moved()) is not None
        return self._moved

    def _asked(
        self, part: Sequence[keys.Key], more: Sequence[keys.Key], *, consistent: bool
    ) -> dict[str, dict[str, Any]]:
        """Return the keys that one call reads: identities in both places, and `more` items of `records`."""
        tables: dict[str, list[keys.Key]] = {self.home: list(part)}
        tables[self._records] = [*tables.get(self._records, []), *([] if self._moved else part), *more]
        return {name: {"Keys": of, "ConsistentRead": consistent} for name, of in tables.items() if of}

    def _read(
        self, wanted: Sequence[keys.Key], beside: Sequence[keys.Key], *, consistent: bool
    ) -> Iterator[tuple[str, Item]]:
        """Yield each item that exists, with the name of its table."""
        for start in range(0, max(len(wanted), 1), READ):
            part, more = wanted[start : start + READ], beside if start == 0 else ()
            asked = self._asked(part, more, consistent=consistent)
            for name, items in self._db.batch_read(asked).items():
                yield from ((name, item) for item in items)

    def find(
        self, wanted: Sequence[keys.Key], beside: Sequence[keys.Key] = (), *, consistent: bool = True
    ) -> tuple[list[Item], list[Item]]:
        """Return the identities that exist, and the items beside them in `records`, in no order.

        One call for up to READ of both; one more if something is in the old place only.

        Args:
            beside: keys of items in `records`.
            consistent: whether the reads are strongly consistent.
        """
        found: dict[tuple[str, str], Item] = {}
        old: list[Item] = []
        others: list[Item] = []
        away = {_name(k) for k in beside}
        for name, item in self._read(wanted, beside, consistent=consistent):
            if name == self._records and _name(item) in away:
                others.append(item)
            elif name == self.home:
                found[_name(item)] = item
            else:
                old.append(item)
        left = [x for x in old if _name(x) not in found]
        return [*found.values(), *(() if not left or self.moved() else left)], others

    def walk(self, pk: str, prefix: str = "") -> Iterator[Item]:
        """Walk the identities of a partition whose sort key begins with a prefix, consistently."""
        seen = set()
        for item in self._db.partition(self.home, pk, prefix):
            seen.add(_name(item))
            yield item
        if not self.moved():
            yield from (x for x in self._db.partition(self._records, pk, prefix) if _name(x) not in seen)

    def twins(self, actions: Iterable[Item]) -> list[Item]:
        """Return the same writes for the old place, which the version before this one reads after a rollback.

        An item that is not in the old place is not changed there: functions that add accounts do not write to it.
        """
        if self.home == self._records:
            return []
        both = list(self._copies(actions))
        gone = self._gone([what["Key"] for _, what in both if "Key" in what and "ConditionExpression" in what])
        return [{kind: what} for kind, what in both if "Key" not in what or _name(what["Key"]) not in gone]

    def _copies(self, actions: Iterable[Item]) -> Iterator[tuple[str, Item]]:
        """Yield each write of identities, by its kind, as one of the old place."""
        for action in actions:
            for kind, what in action.items():
                if kind != "ConditionCheck" and what["TableName"] == self.home:
                    yield kind, {**what, "TableName": self._records}

    def _gone(self, wanted: Sequence[keys.Key]) -> set[tuple[str, str]]:
        """Return which of some items are not in the old place."""
        return {_name(key) for key in wanted} - {_name(x) for x in self._db.batch_get(self._records, wanted)}


def _name(item: Mapping[str, Any]) -> tuple[str, str]:
    return item["pk"]["S"], item["sk"]["S"]
