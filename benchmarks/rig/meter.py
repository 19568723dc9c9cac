"""A meter on botocore's events: which AWS calls were made, and what DynamoDB and SQS would bill for them.

The figures in an emulator's answers are constants, so units are computed here from the items themselves. The meter
reads them behind the client's back before and after every write (`Peek`). It refuses calls that it cannot count
exactly. Only one thread at a time may use a metered client: another's write between the two looks would be counted
twice.

Assumed where AWS's documentation is silent: a transaction doubles the units of its tables, but not those of an index,
which is updated afterwards. A cancelled transaction costs the units of its actions on the items as they are.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final

from benchmarks.rig.sizes import (
    KB,
    TRANSACTION,
    Item,
    index_units,
    moved_units,
    read_units,
    write_units,
)
from shared.adapters.dynamo.jobs.sizes import item_size
from shared.contracts import INDEX_MINE, INDEX_OPEN, INDEX_OPEN_PROJECTION

Peek = Callable[[str, Mapping[str, Any]], Item | None]
"""(table, key) → the item as it is stored now, read without any metered call."""
Partition = tuple[str, str]
"""A table, or `table/index`, and the value of its partition key."""
SQS_UNIT: Final = 64 * KB
KEY: Final = ("pk", "sk")
CONDITION_FAILED: Final = "ConditionalCheckFailedException"
UNBILLED: Final = frozenset({"ThrottlingException", "ProvisionedThroughputExceededException"})


class Unmetered(Exception):
    """A call whose cost the meter cannot tell exactly."""


@dataclass(frozen=True, slots=True)
class Index:
    """A global secondary index and the attributes that its entries have beside the table's key."""

    name: str
    projected: tuple[str, ...] = ()

    def keys(self) -> tuple[str, str]:
        """Return the names of its key attributes."""
        return f"{self.name}_pk", f"{self.name}_sk"

    def entry(self, item: Item | None) -> Item | None:
        """Return an item's entry; None if it has none, for lack of a key attribute."""
        if item is None or not all(k in item for k in self.keys()):
            return None
        return {k: item[k] for k in (*KEY, *self.keys(), *self.projected) if k in item}

    def units(self, before: Item | None, after: Item | None) -> int:
        """Return what a write of the item costs this index."""
        old, new = self.entry(before), self.entry(after)
        if old is not None and new is not None and any(old[k] != new[k] for k in self.keys()):
            return moved_units(old, new)
        return index_units(old, new)

    def at(self, before: Item | None, after: Item | None) -> Iterator[tuple[str, int]]:
        """Yield the partitions that a write of the item touches here, each with its units."""
        old, new = self.entry(before), self.entry(after)
        pk, _ = self.keys()
        if old is not None and new is not None and any(old[k] != new[k] for k in self.keys()):
            yield old[pk]["S"], write_units(old, None)
            yield new[pk]["S"], write_units(None, new)
        elif (units := index_units(old, new)) and (found := new or old) is not None:
            yield found[pk]["S"], units


RECORDS_INDICES: Final = (Index(INDEX_OPEN, INDEX_OPEN_PROJECTION), Index(INDEX_MINE))


@dataclass(slots=True)
class Tally:
    """What was counted. `writes`, `reads`: DynamoDB units by what they were for; `lines`: one text per call."""

    calls: Counter[str] = field(default_factory=Counter)
    writes: Counter[str] = field(default_factory=Counter)
    reads: Counter[str] = field(default_factory=Counter)
    sqs: int = 0
    sqs_fair: int = 0
    """Of `sqs`, those of messages with a group."""
    lines: list[str] = field(default_factory=list)
    written_at: Counter[Partition] = field(default_factory=Counter)
    read_at: Counter[Partition] = field(default_factory=Counter)
    """Units by the partition that they are of."""

    @property
    def wru(self) -> float:
        """Write request units."""
        return float(sum(self.writes.values()))

    @property
    def rru(self) -> float:
        """Read request units."""
        return float(sum(self.reads.values()))

    @property
    def aws_calls(self) -> int:
        """AWS calls of all services."""
        return sum(self.calls.values())

    def service(self, name: str, *operations: str) -> int:
        """Return the calls of a service, or of some of its operations."""
        wanted = [f"{name}.{o}" for o in operations]
        return sum(n for c, n in self.calls.items() if (c in wanted if wanted else c.startswith(name + ".")))


def label(table: str, key: Mapping[str, Any]) -> str:
    """Return what kind of item a key names: `ops L`, `records JOB`."""
    sort = key["sk"]["S"]
    kind = "STATS" if "#STATS" in key["pk"]["S"] else sort.partition("#")[0]
    if key["pk"]["S"].startswith("I#"):
        kind = "IDEMPOTENCY"
    return f"{table} {kind}"


class Meter:
    """Counts the calls of the clients made from sessions that it is attached to.

    Args:
        peek: reads items behind the client's back.
        indices: of each table that has some.
    """

    def __init__(self, peek: Peek, indices: Mapping[str, tuple[Index, ...]] | None = None) -> None:
        self._peek = peek
        self._indices = indices or {}
        self.tally = Tally()

    def attach(self, events: Any) -> None:
        """Listen to the events of a session (before its clients are made) or of one client's `meta.events`."""
        events.register("provide-client-params", self._before)
        events.register("after-call", self._after)
        events.register("after-call-error", self._failed)

    def take(self) -> Tally:
        """Return what was counted since the last time."""
        taken, self.tally = self.tally, Tally()
        return taken

    # Events

    def _before(self, params: Mapping[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        context["meter"] = (params, self._look(model.name, params))

    def _failed(self, event_name: str, context: Mapping[str, Any], **_: Any) -> None:
        self.tally.calls[_operation(event_name)] += 1
        if "meter" in context and event_name.startswith("after-call-error.dynamodb"):
            raise Unmetered(f"{event_name}: it is not known whether the write was made")

    def _after(self, event_name: str, parsed: Mapping[str, Any], context: Mapping[str, Any], **_: Any) -> None:
        name = _operation(event_name)
        params, before = context["meter"]
        self.tally.calls[name] += 1
        service, operation = name.split(".")
        written, read = self.tally.wru, self.tally.rru
        code = parsed.get("Error", {}).get("Code", "")
        if service == "dynamodb" and code not in UNBILLED:
            self._dynamodb(operation, params, before, parsed, code)
        elif service == "sqs":
            self._sqs(operation, params)
        what = ", ".join(label(t, k) for t, k in _touched(operation, params)) if service == "dynamodb" else ""
        units = f"{self.tally.wru - written:g} W, {self.tally.rru - read:g} R"
        self.tally.lines.append(f"{name} ({what}) {units} {code}".strip())

    def _look(self, operation: str, params: Mapping[str, Any]) -> list[Item | None]:
        return [self._peek(table, key) for table, key in _touched(operation, params)]

    # DynamoDB

    def _dynamodb(
        self, operation: str, params: Mapping[str, Any], before: list[Item | None], parsed: Mapping[str, Any], code: str
    ) -> None:
        touched = list(_touched(operation, params))
        if operation in ("PutItem", "UpdateItem", "DeleteItem"):
            if code and code != CONDITION_FAILED:
                return  # a request that was refused as such is not billed
            self._written(touched, before, 1)
        elif operation == "BatchWriteItem":
            if parsed.get("UnprocessedItems"):
                raise Unmetered("a batch that was taken in part")
            self._written(touched, before, 1)
        elif operation == "TransactWriteItems":
            self._written(touched, before, TRANSACTION)
        elif operation == "GetItem":
            consistent = bool(params.get("ConsistentRead"))
            [(table, key)] = touched
            self._read(label(table, key), (table, key["pk"]["S"]), item_size(before[0]), consistent=consistent)
        elif operation == "BatchGetItem":
            for (table, key), item in zip(touched, before, strict=True):
                consistent = bool(params["RequestItems"][table].get("ConsistentRead"))
                self._read(label(table, key), (table, key["pk"]["S"]), item_size(item), consistent=consistent)
        elif operation == "Query":
            self._query(params, parsed)
        else:
            raise Unmetered(operation)

    def _written(
        self, touched: Iterable[tuple[str, Mapping[str, Any]]], before: Iterable[Item | None], factor: int
    ) -> None:
        for (table, key), old in zip(touched, before, strict=True):
            new = self._peek(table, key)
            name = label(table, key)
            units = factor * write_units(old, new)
            self.tally.writes[name] += units
            self.tally.written_at[table, key["pk"]["S"]] += units
            for index in self._indices.get(table, ()):
                units = index.units(old, new)
                if units:
                    self.tally.writes[f"{name}, index {index.name}"] += units
                for partition, part in index.at(old, new):
                    self.tally.written_at[f"{table}/{index.name}", partition] += part

    def _read(self, name: str, at: Partition, size: int, *, consistent: bool) -> None:
        units = read_units(size, consistent=consistent)
        self.tally.reads[name] += units  # type: ignore[assignment]
        self.tally.read_at[at] += units  # type: ignore[assignment]

    def _query(self, params: Mapping[str, Any], parsed: Mapping[str, Any]) -> None:
        if "Select" in params or parsed.get("ScannedCount", 0) != parsed.get("Count", 0):
            raise Unmetered("a query that does not return all it reads")
        found = parsed.get("Items", [])
        if "ProjectionExpression" in params:
            found = [self._whole(params, x) for x in found]
        size = sum(map(item_size, found))
        name = f"{params['TableName']} query {params.get('IndexName', '')}".strip()
        table = "/".join(filter(None, (params["TableName"], params.get("IndexName", ""))))
        partition = params["ExpressionAttributeValues"].get(":pk", {}).get("S", "")
        self._read(name, (table, partition), size, consistent=bool(params.get("ConsistentRead")))

    def _whole(self, params: Mapping[str, Any], part: Item) -> Item | None:
        """Return the stored item of which a query's projection returned a part: all of it is read and paid for."""
        partition = params["ExpressionAttributeValues"].get(":pk")
        if partition is None or "sk" not in part or "IndexName" in params:
            raise Unmetered("a projection without the keys of what was read")
        return self._peek(params["TableName"], {"pk": partition, "sk": part["sk"]})

    # SQS

    def _sqs(self, operation: str, params: Mapping[str, Any]) -> None:
        entries = params["Entries"] if operation == "SendMessageBatch" else [params]
        units = max(1, ceil(sum(len(e.get("MessageBody", "").encode()) for e in entries) / SQS_UNIT))
        self.tally.sqs += units
        if any("MessageGroupId" in e for e in entries):
            self.tally.sqs_fair += units


def _operation(event_name: str) -> str:
    return event_name.partition(".")[2]


def _key_of(item: Mapping[str, Any]) -> dict[str, Any]:
    return {k: item[k] for k in KEY}


def _touched(operation: str, params: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Yield (table, key) of the items that a DynamoDB call names, in order; none for a query or another service."""
    if operation in ("GetItem", "UpdateItem", "DeleteItem"):
        yield params["TableName"], params["Key"]
    elif operation == "PutItem":
        yield params["TableName"], _key_of(params["Item"])
    elif operation == "BatchGetItem":
        for table, wanted in params["RequestItems"].items():
            yield from ((table, key) for key in wanted["Keys"])
    elif operation == "BatchWriteItem":
        for table, requests in params["RequestItems"].items():
            for request in requests:
                put = request.get("PutRequest")
                yield table, _key_of(put["Item"]) if put else request["DeleteRequest"]["Key"]
    elif operation == "TransactWriteItems":
        yield from _of_transaction(params)


def _of_transaction(params: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for action in params["TransactItems"]:
        ((kind, body),) = action.items()
        yield body["TableName"], _key_of(body["Item"]) if kind == "Put" else body["Key"]
