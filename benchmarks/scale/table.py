"""DynamoDB in fake time: each call takes its time, each partition has its limit, and each unit is counted.

A low-level client, of which our stores use the methods below. It refuses what a partition has no room for, as DynamoDB
does: 1,000 write units and 3,000 read units a second and partition key. That is DynamoDB's limit after its adaptive
capacity has put each busy key on a partition of its own. The minutes before that are left out, and so are bursts that
it may allow. The stand-in for items and expressions is `benchmarks.aws.tables`.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final, NoReturn

from botocore.exceptions import ClientError

from benchmarks.aws.tables import Item, Refused, Tables, holds
from benchmarks.rig.meter import RECORDS_INDICES, Partition
from benchmarks.rig.sizes import KB, READ_UNIT, TRANSACTION
from shared.adapters.dynamo.jobs.sizes import item_size
from shared.contracts import INDEX_OPEN
from shared.domain.times import Seconds
from tests.fakes.clock import FakeClock

WRITES: Final = 1000.0
READS: Final = 3000.0
"""Units that a partition takes a second."""
CALL_S: Final = (0.003, 0.008)
"""Seconds of a call."""
HICCUP_S: Final = (0.05, 0.4)
FAILS: Final = 0.3
"""Share of the calls that a hiccup refuses; the others take HICCUP_S."""
Key = tuple[str, str, str]
"""Table, partition key, sort key."""


@dataclass(slots=True)
class Usage:
    """What was used. `busiest`: partition → units written in its busiest second, and that second's number."""

    writes: float = 0.0
    reads: float = 0.0
    written: Counter[str] = field(default_factory=Counter)
    """Units by table."""
    calls: Counter[str] = field(default_factory=Counter)
    throttled: Counter[Partition] = field(default_factory=Counter)
    failed: int = 0
    """Calls that a hiccup refused."""
    busiest: dict[Partition, tuple[float, int]] = field(default_factory=dict)
    most_read: dict[Partition, tuple[float, int]] = field(default_factory=dict)
    """The same of units read."""
    _second: dict[tuple[Partition, bool], list[float]] = field(default_factory=dict)

    def note(self, partition: Partition, units: float, now: Seconds, *, reading: bool = False) -> None:
        """Note units that were written, or read."""
        busiest = self.most_read if reading else self.busiest
        second = self._second.setdefault((partition, reading), [now, 0.0])
        if now - second[0] >= 1:
            second[:] = [now, 0.0]
        second[1] += units
        if second[1] > busiest.get(partition, (0.0, 0))[0]:
            busiest[partition] = second[1], int(now)

    def worst(self, *, reading: bool = False) -> float:
        """Return the units written, or read, in the busiest second of any partition."""
        found = self.most_read if reading else self.busiest
        return max((units for units, _ in found.values()), default=0.0)


class ModelDynamo:
    """The client; see the module.

    Args:
        records: the table that has the indices.
        trouble: returns whether DynamoDB has a hiccup at a time, in Unix seconds.
    """

    def __init__(
        self, clock: FakeClock, *, records: str, seed: int = 0, trouble: Callable[[Seconds], bool] = lambda _now: False
    ) -> None:
        self.used = Usage()
        self._clock = clock
        self._records = records
        self._trouble = trouble
        self._rng = random.Random(seed)
        self._tables = Tables()
        self._sizes: dict[Key, int] = {}
        self._open: dict[str, dict[tuple[str, Key], Item]] = defaultdict(dict)
        self._room: dict[tuple[Partition, bool], tuple[float, Seconds]] = {}

    def peek(self, table: str, key: Mapping[str, Any]) -> Item | None:
        """Return an item without a call."""
        return self._tables.get(table, key)

    # Reading

    def get_item(self, **asked: Any) -> dict[str, Any]:
        """Read an item."""
        self._called("get_item")
        self._read([(asked["TableName"], asked["Key"])], consistent=asked.get("ConsistentRead", False))
        item = self._tables.get(asked["TableName"], asked["Key"])
        return {"Item": item} if item is not None else {}

    def batch_get_item(self, **asked: Any) -> dict[str, Any]:
        """Read items of several tables."""
        self._called("batch_get_item")
        out: dict[str, list[Item]] = {}
        for table, of in asked["RequestItems"].items():
            self._read([(table, key) for key in of["Keys"]], consistent=of.get("ConsistentRead", False))
            found = (self._tables.get(table, key) for key in of["Keys"])
            out[table] = [x for x in found if x is not None]
        return {"Responses": out, "UnprocessedKeys": {}}

    def query(self, **asked: Any) -> dict[str, Any]:
        """Read items of a partition, or entries of the index `open`, in order, up to `Limit`."""
        self._called("query")
        table, values = asked["TableName"], asked["ExpressionAttributeValues"]
        if asked.get("IndexName") == INDEX_OPEN:
            entries = sorted(self._open[values[":pk"]["S"]].items())
            items = [x for _, x in entries if holds(asked["KeyConditionExpression"], x, asked)]
            place = f"{table}/{INDEX_OPEN}", values[":pk"]["S"]
        else:
            items = self._tables.query(asked)
            place = table, values[":pk"]["S"]
        items = items[: asked.get("Limit", len(items))]
        units = max(1.0, sum(map(item_size, items)) / READ_UNIT) * (1 if asked.get("ConsistentRead") else 0.5)
        self._take({place: units}, reading=True)
        self.used.reads += units
        return {"Items": items, "Count": len(items)}

    def _read(self, places: Iterable[tuple[str, Mapping[str, Any]]], *, consistent: bool) -> None:
        wanted: dict[Partition, float] = defaultdict(float)
        for table, key in places:
            size = self._sizes.get(_name(table, key), 0)
            wanted[table, key["pk"]["S"]] += max(1, -(-size // READ_UNIT)) * (1 if consistent else 0.5)
        self._take(wanted, reading=True)
        self.used.reads += sum(wanted.values())

    # Writing

    def put_item(self, **asked: Any) -> dict[str, Any]:
        """Store an item, on a condition."""
        return self._write("put_item", asked)

    def update_item(self, **asked: Any) -> dict[str, Any]:
        """Change an item, on a condition."""
        return self._write("update_item", asked)

    def delete_item(self, **asked: Any) -> dict[str, Any]:
        """Remove an item, on a condition."""
        return self._write("delete_item", asked)

    def batch_write_item(self, **asked: Any) -> dict[str, Any]:
        """Store and remove items; those without room are handed back."""
        self._called("batch_write_item")
        rest: dict[str, list[Any]] = {}
        count = 0
        for table, requests in asked["RequestItems"].items():
            for request in requests:
                [of] = request.values()
                one = {"TableName": table, **of}
                units = self._units(one)
                if self._full(units):
                    rest.setdefault(table, []).append(request)
                    continue
                self._spend(units)
                self._made(one)
                count += 1
        if not count:
            self._refuse("batch_write_item")
        return {"UnprocessedItems": rest}

    def transact_write_items(self, **asked: Any) -> dict[str, Any]:
        """Write all, or nothing."""
        self._called("transact_write_items")
        actions = [next(iter(action.items())) for action in asked["TransactItems"]]
        wanted: dict[Partition, float] = defaultdict(float)
        for kind, one in actions:
            for place, units in self._units(one).items():
                doubled = "/" not in place[0]
                wanted[place] += units * (TRANSACTION if doubled and kind != "" else 1)
        if self._full(wanted):
            _cancelled([{"Code": "ThrottlingError"} for _ in actions])
        self._spend(wanted)
        reasons = [self._reason(one) for _, one in actions]
        if any(x["Code"] != "None" for x in reasons):
            _cancelled(reasons)
        for kind, one in actions:
            if kind != "ConditionCheck":
                self._made({k: v for k, v in one.items() if k != "ConditionExpression"})
        return {}

    def _reason(self, one: Mapping[str, Any]) -> dict[str, Any]:
        stored = self._tables.get(one["TableName"], one.get("Key") or one["Item"])
        if holds(one.get("ConditionExpression"), stored, one):
            return {"Code": "None"}
        return {"Code": "ConditionalCheckFailed", **({"Item": stored} if stored is not None else {})}

    def _write(self, operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        self._called(operation)
        units = self._units(asked)
        if self._full(units):
            self._refuse(operation)
        self._spend(units)
        try:
            before, after = self._made(asked)
        except Refused as refused:
            answer: Any = {"Error": {"Code": "ConditionalCheckFailedException"}}
            if refused.item is not None:
                answer["Item"] = refused.item
            raise ClientError(answer, operation) from None
        shown = {"ALL_NEW": after, "ALL_OLD": before, "UPDATED_NEW": after}.get(asked.get("ReturnValues", ""))
        return {"Attributes": shown} if shown is not None else {}

    def _made(self, asked: Mapping[str, Any]) -> tuple[Item | None, Item | None]:
        """Make a write, and keep sizes and the index `open`."""
        table = asked["TableName"]
        before, after = self._tables.write(asked)
        name = _name(table, asked.get("Key") or asked["Item"])
        if after is None:
            self._sizes.pop(name, None)
        else:
            self._sizes[name] = item_size(after)
        if table == self._records:
            for item, keep in ((before, False), (after, True)):
                if item is not None and "open_pk" in item and "open_sk" in item:
                    place = item["open_sk"]["S"], name
                    if keep:
                        self._open[item["open_pk"]["S"]][place] = item
                    else:
                        self._open[item["open_pk"]["S"]].pop(place, None)
        return before, after

    def _units(self, asked: Mapping[str, Any]) -> dict[Partition, float]:
        """Return the units that a write takes, by partition, as far as they are known before it."""
        table, key = asked["TableName"], asked.get("Key") or asked["Item"]
        size = self._sizes.get(_name(table, key), 0)
        if "Item" in asked:
            size = max(size, item_size(asked["Item"]))
        out: dict[Partition, float] = {(table, key["pk"]["S"]): float(max(1, -(-size // KB)))}
        if table == self._records:
            out |= {(f"{table}/{name}", pk): units for name, pk, units in self._entries(asked)}
        return out

    def _entries(self, asked: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
        """Yield index, partition and units of the entries that a put makes, or that an update moves or removes."""
        item = asked.get("Item") or self._tables.get(asked["TableName"], asked["Key"])
        text = asked.get("UpdateExpression", "")
        for index in RECORDS_INDICES:
            pk, sk = index.keys()
            if item is None or pk not in item or ("Item" not in asked and not {pk, sk} & set(_words(text))):
                continue
            yield index.name, item[pk]["S"], 2.0 if text and f"SET {sk}" in text.replace(", ", " SET ") else 1.0

    # Time and room

    def _called(self, operation: str) -> None:
        self.used.calls[operation] += 1
        bad = self._trouble(self._clock.now())
        self._clock.sleep(self._rng.uniform(*(HICCUP_S if bad else CALL_S)))
        if bad and self._rng.random() < FAILS:
            self.used.failed += 1
            self._refuse(operation)

    def _full(self, wanted: Mapping[Partition, float]) -> bool:
        full = [x for x, units in wanted.items() if units > self._left(x, reading=False)]
        self.used.throttled.update(full)
        return bool(full)

    def _spend(self, wanted: Mapping[Partition, float]) -> None:
        now = self._clock.now()
        for place, units in wanted.items():
            self._room[place, False] = self._left(place, reading=False) - units, now
            self.used.writes += units
            self.used.written[place[0].partition("/")[0]] += ceil(units)
            self.used.note(place, units, now)

    def _take(self, wanted: Mapping[Partition, float], *, reading: bool) -> None:
        now = self._clock.now()
        for place, units in wanted.items():
            left = self._left(place, reading=reading)
            if units > left:
                self.used.throttled[place] += 1
                self._refuse("read")
            self._room[place, reading] = left - units, now
            self.used.note(place, units, now, reading=reading)

    def _left(self, place: Partition, *, reading: bool) -> float:
        """Return the units that a partition takes now."""
        most = READS if reading else WRITES
        left, at = self._room.get((place, reading), (most, 0.0))
        return min(most, left + (self._clock.now() - at) * most)

    def _refuse(self, operation: str) -> NoReturn:
        raise ClientError({"Error": {"Code": "ProvisionedThroughputExceededException"}}, operation)


def _cancelled(reasons: list[dict[str, Any]]) -> NoReturn:
    answer: Any = {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": reasons}
    raise ClientError(answer, "TransactWriteItems")


def _name(table: str, key: Mapping[str, Any]) -> Key:
    return table, key["pk"]["S"], key["sk"]["S"]


def _words(text: str) -> list[str]:
    return text.replace(",", " ").replace("=", " ").split()
