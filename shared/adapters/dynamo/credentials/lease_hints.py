"""Hints at leases, on the items of credentials' slots: written with a reservation, read to find dead workers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo
from shared.domain.lanes import lease_hints
from shared.domain.lanes.lease_hints import MOST, MOST_BESIDE_QUOTAS, PREFIX, LeaseHint


class Notes:
    """Writes hints of a process's own leases: beside the slots, or apart while hints of others fill that item."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table
        self._there: dict[str, frozenset[str]] = {}
        self._noted: dict[tuple[str, str], str] = {}
        """Credential and name → the hint as it was last written, beside the slots or apart."""

    def has_room(self, credential: str, hint: LeaseHint, *, bounded: bool = False) -> bool:
        """Tell whether a hint may be written beside the slots, by what that item held when it was last seen.

        One about several leases is long: with some of them each reservation would cost more units.

        Args:
            bounded: whether counters of quotas take some of the room.
        """
        if hint.group:
            return False
        there = self._there.get(credential, frozenset())
        return hint.name in there or len(there) < (MOST_BESIDE_QUOTAS if bounded else MOST)

    def learn(self, credential: str, item: Mapping[str, Any], hint: LeaseHint | None) -> None:
        """Take in the item of the slots. A hint that it does not hold is written apart, once for a lease.

        Args:
            item: as a reservation left it, or found it if there were no slots yet.
            hint: the lease that the slots are for.
        """
        self._there[credential] = frozenset(name for name in item if name.startswith(PREFIX))
        if hint is None:
            return
        if item.get(hint.name, {}).get("S") == str(hint):
            self._noted[credential, hint.name] = str(hint)
        self.note(credential, hint)

    def note(self, credential: str, hint: LeaseHint) -> None:
        """Write a hint apart, unless it has been written."""
        if self._noted.get((credential, hint.name)) == str(hint):
            return
        self._db.call(
            "update_item",
            TableName=self._table,
            Key=_apart(credential),
            UpdateExpression="SET #at = :at",
            ExpressionAttributeNames={"#at": hint.name},
            ExpressionAttributeValues={":at": {"S": str(hint)}},
        )
        self._noted[credential, hint.name] = str(hint)


class DynamoHints:
    """`ports.Hints` in the table `ops`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table

    def read(self, credentials: Sequence[str]) -> list[tuple[str, LeaseHint]]:
        items = self._db.batch_get(self._table, [k(c) for c in credentials for k in (keys.pacer, _apart)])
        of = {keys.pacer(c)["pk"]["S"]: c for c in credentials}
        return [(of[item["pk"]["S"]], hint) for item in items for hint in _hints(item)]

    def forget(self, credential: str, hint: LeaseHint) -> None:
        for key in (keys.pacer(credential), _apart(credential)):
            with suppress(ConditionFailed):
                self._db.call(
                    "update_item",
                    TableName=self._table,
                    Key=key,
                    UpdateExpression="REMOVE #at",
                    ConditionExpression="#at = :seen",
                    ExpressionAttributeNames={"#at": hint.name},
                    ExpressionAttributeValues={":seen": {"S": str(hint)}},
                )
                return


def _apart(credential: str) -> keys.Key:
    """Return the key of hints that have no room beside a credential's slots."""
    return keys.key(f"P#{credential}", "HINTS")


def _hints(item: Mapping[str, Any]) -> Iterator[LeaseHint]:
    for name in sorted(item):
        yield from lease_hints.read(name, item[name].get("S", ""))
