"""Hints at leases, on the items of credentials' slots: written with a reservation, read to find dead workers.

| where a hint is | key, in `ops` |
|---|---|
| beside the slots | `P#credential / PACER` |
| apart, with a few others | `P#credential / HINTS` |
| by itself, where many workers write at once | `P#credential#HINTS#3 / worker` |
| by itself, as earlier versions wrote it | `P#credential / HINTS#worker` |
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from zlib import crc32

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s
from shared.domain.lanes import lease_hints
from shared.domain.lanes.lease_hints import MOST, MOST_BESIDE_QUOTAS, PREFIX, LeaseHint
from shared.ports import Clock

FEW: Final = 3
"""Hints that share the item apart. Each write of one costs units by the bytes of all, and one about a group is long."""
SHARDS: Final = 4
"""Partitions of hints by themselves: one for each group of leases, so up to one for each single message."""
SPREAD: Final = "shards"
"""Says on the item apart in how many partitions there are, or were, hints by themselves."""
EARLY: Final = "HINTS#"
MORE: Final = "more"
"""Marks the item apart if an earlier version wrote hints by themselves, beside it."""
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

    def beside(
        self, credential: str, hint: LeaseHint, names: dict[str, str], values: Item, *, bounded: bool
    ) -> tuple[list[str], list[str]]:
        """Return what a reservation sets and removes of a hint beside the slots; fills names and values.

        Processes that begin at once do not know of each other, and note more than have room. The last ones in order
        leave with their next reservation, and are written apart from then on.

        Args:
            bounded: whether counters of quotas take some of the room.
        """
        there, most = self._there.get(credential, frozenset()), MOST_BESIDE_QUOTAS if bounded else MOST
        if self._has_room(hint, there, most):
            names["#at"], values[":at"] = hint.name, s(str(hint))
            return ["#at = :at"], []
        if hint.name in there:
            names["#at"] = hint.name
            return [], ["#at"]
        return [], []

    @staticmethod
    def _has_room(hint: LeaseHint, there: frozenset[str], most: int) -> bool:
        """Tell whether a hint may be written beside the slots.

        One about several leases is long: with some of them each reservation would cost more units.

        Args:
            there: the names of hints that the item held when it was last seen.
            most: hints that have room.
        """
        if hint.group:
            return False
        return hint.name in sorted(there)[:most] if hint.name in there else len(there) < most

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
        found = self._write(_apart(credential), hint, "SET shards = :shards REMOVE #at")
        self._apart[credential] = sorted(name for name in found if name.startswith(PREFIX))
        self._noted[credential, ""] = SPREAD

    def _write(self, key: keys.Key, hint: LeaseHint, expression: str) -> Mapping[str, Any]:
        """Change an item of hints, and return it as it is then."""
        values = {":at": {"S": str(hint)}, ":ttl": n(int(self._clock.now()) + KEPT_S), ":shards": n(SHARDS)}
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
        self._alone: dict[tuple[str, str], keys.Key] = {}
        """Credential and name of the hints by themselves, as they were last read → their place."""

    def read(self, credentials: Sequence[str]) -> list[tuple[str, LeaseHint]]:
        items = self._db.batch_get(self._table, [k(c) for c in credentials for k in (keys.pacer, _apart)])
        of = {keys.pacer(c)["pk"]["S"]: c for c in credentials}
        shared = [(of[item["pk"]["S"]], hint) for item in items for hint in _hints(item)]
        self._alone = {}
        return shared + [x for item in items for x in self._by_themselves(of[item["pk"]["S"]], item)]

    def _by_themselves(self, credential: str, item: Item) -> Iterator[tuple[str, LeaseHint]]:
        """Yield a credential's hints that are by themselves. `item`: it says where they are."""
        places = [(_shard(credential, x), "") for x in range(number(item, SPREAD))]
        if MORE in item:
            places.append((keys.pacer(credential)["pk"]["S"], EARLY))
        for pk, prefix in places:
            for one in self._db.partition(self._table, pk, prefix):
                for hint in _hints(one):
                    self._alone[credential, hint.name] = {"pk": one["pk"], "sk": one["sk"]}
                    yield credential, replace(hint, alone=True)

    def forget(self, credential: str, hint: LeaseHint) -> None:
        alone = self._alone.get((credential, hint.name))
        for key in [alone] if alone is not None else [keys.pacer(credential), _apart(credential)]:
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
    return keys.key(_shard(credential, crc32(hint.worker.encode()) % SHARDS), hint.worker)


def _shard(credential: str, number: int) -> str:
    """Return a partition of hints that are by themselves."""
    return f"P#{credential}#HINTS#{number}"


def _hints(item: Mapping[str, Any]) -> Iterator[LeaseHint]:
    for name in sorted(item):
        yield from lease_hints.read(name, item[name].get("S", ""))
