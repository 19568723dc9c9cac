"""Hints at leases, on the items of credentials' slots: written with a reservation, read to find dead workers.

| where a hint is | key, in `ops` |
|---|---|
| beside the slots | `P#credential / PACER` |
| apart, with a few others | `P#credential / HINTS` |
| by itself, where many workers write at once | `P#credential / HINTS#worker` |
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n
from shared.domain.lanes import lease_hints
from shared.domain.lanes.lease_hints import MOST, MOST_BESIDE_QUOTAS, PREFIX, LeaseHint
from shared.ports import Clock

FEW: Final = 3
"""Hints that share the item apart. Each write of one costs units by the bytes of all, and one about a group is long."""
ALONE: Final = "HINTS#"
MORE: Final = "more"
"""Marks the item apart if there are, or were, hints by themselves."""
KEPT_S: Final = 86_400
"""Seconds after which DynamoDB removes a hint that is by itself."""


class Notes:
    """Writes hints of a process's own leases: beside the slots, or apart while hints of others fill that item."""

    def __init__(self, dynamo: Dynamo, table: str, clock: Clock) -> None:
        self._db = dynamo
        self._table = table
        self._clock = clock
        self._there: dict[str, frozenset[str]] = {}
        self._noted: dict[tuple[str, str], str] = {}
        """Credential and name → the hint as it was last written, wherever that was."""
        self._apart: dict[str, list[str]] = {}
        """Credential → the names apart, in order, as they were last seen."""

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
        apart = self._apart.get(credential, [])
        if hint.name in apart[:FEW] or len(apart) < FEW:
            found = self._write(_apart(credential), hint, "SET #at = :at")
            self._apart[credential] = sorted(name for name in found if name.startswith(PREFIX))
        else:
            self._write(_alone(credential, hint), hint, "SET #at = :at, #ttl = :ttl")
            self._leave(credential, hint)
        self._noted[credential, hint.name] = str(hint)

    def _leave(self, credential: str, hint: LeaseHint) -> None:
        """Have readers know that there are hints by themselves, and take one's name from those that share an item."""
        if (credential, "") in self._noted and hint.name not in self._apart[credential]:
            return
        found = self._write(_apart(credential), hint, "SET more = :more REMOVE #at")
        self._apart[credential] = sorted(name for name in found if name.startswith(PREFIX))
        self._noted[credential, ""] = MORE

    def _write(self, key: keys.Key, hint: LeaseHint, expression: str) -> Mapping[str, Any]:
        """Change an item of hints, and return it as it is then."""
        values = {":at": {"S": str(hint)}, ":ttl": n(int(self._clock.now()) + KEPT_S), ":more": {"BOOL": True}}
        names = {"#at": hint.name, "#ttl": "ttl"}
        answer = self._db.call(
            "update_item",
            TableName=self._table,
            Key=key,
            UpdateExpression=expression,
            ExpressionAttributeNames={k: v for k, v in names.items() if k in expression},
            ExpressionAttributeValues={k: v for k, v in values.items() if k in expression},
            ReturnValues="ALL_NEW",
        )
        found: Mapping[str, Any] = answer["Attributes"]
        return found


class DynamoHints:
    """`ports.Hints` in the table `ops`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table
        self._alone: set[tuple[str, str]] = set()
        """Credential and name of the hints by themselves, as they were last read."""

    def read(self, credentials: Sequence[str]) -> list[tuple[str, LeaseHint]]:
        items = self._db.batch_get(self._table, [k(c) for c in credentials for k in (keys.pacer, _apart)])
        of = {keys.pacer(c)["pk"]["S"]: c for c in credentials}
        found = self._by_themselves(items, of)
        self._alone = {(credential, hint.name) for credential, hint in found}
        return [(of[item["pk"]["S"]], hint) for item in items for hint in _hints(item)] + found

    def _by_themselves(self, items: Sequence[Item], of: Mapping[str, str]) -> list[tuple[str, LeaseHint]]:
        """Return the hints that are by themselves. `of`: partition → credential."""
        marked = [item["pk"]["S"] for item in items if MORE in item]
        found = [(pk, item) for pk in marked for item in self._db.partition(self._table, pk, ALONE)]
        return [(of[pk], hint) for pk, item in found for hint in _hints(item)]

    def forget(self, credential: str, hint: LeaseHint) -> None:
        alone = (credential, hint.name) in self._alone
        for key in [_alone(credential, hint)] if alone else [keys.pacer(credential), _apart(credential)]:
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


def _alone(credential: str, hint: LeaseHint) -> keys.Key:
    """Return the key of a hint that is by itself."""
    return keys.key(f"P#{credential}", f"{ALONE}{hint.worker}")


def _hints(item: Mapping[str, Any]) -> Iterator[LeaseHint]:
    for name in sorted(item):
        yield from lease_hints.read(name, item[name].get("S", ""))
