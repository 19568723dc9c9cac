"""Counters of a credential's quotas, on the item of its slots: the write that reserves slots also counts and checks.

`full_until` (Unix milliseconds) says until when the lane is full. `full_step` counts how often in a row its provider
has said so without a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import n, number, s
from shared.domain.lanes.quotas import RING, USED, Booking, Headroom, Spend, Stored, Unused, given_back, room
from shared.domain.times import Millis, Seconds

FULL: Final = ("full_until", "full_step")
_OPEN: Final = "(attribute_not_exists(full_until) OR full_until <= :opened)"


def stored_of(item: Mapping[str, Any]) -> dict[str, int | str]:
    """Return the counters on an item, and the ring; what is neither a number nor a ring is left out."""
    counted = {x: int(v["N"]) for x, v in item.items() if x.startswith(USED) and v.get("N", "").isdecimal()}
    return counted | ({RING: item[RING]["S"]} if "S" in item.get(RING, {}) else {})


def room_of(item: Mapping[str, Any], spend: Spend | None, begin: Seconds, end: Seconds) -> Headroom:
    """Return what a lane may still send, by its item as it was just read, for calls between two times."""
    known = Headroom(until=number(item, "full_until"), step=number(item, "full_step"))
    if spend is None or not spend.quotas:
        return known
    found = room(spend, begin, end, stored_of(item))
    return replace(found, until=known.until, step=known.step) if found.until <= known.until else found


@dataclass(slots=True)
class Expression:
    """The parts of an update, as they come together."""

    sets: list[str] = field(default_factory=list)
    adds: list[str] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    values: Item = field(default_factory=dict)

    @property
    def update(self) -> str:
        """Return the update expression."""
        parts = {"SET": self.sets, "REMOVE": self.removes, "ADD": self.adds}
        return " ".join(f"{verb} {', '.join(some)}" for verb, some in parts.items() if some)

    def count(self, booking: Booking, *, opened: Millis) -> None:
        """Add what a reservation counts, and its conditions. `opened`: the lane is to be open then."""
        self.conditions.append(_OPEN)
        self.values[":opened"] = n(opened)
        for name, units in booking.adds.items():
            self.adds.append(f"{self._name(name)} {self._value(n(units))}")
        for name, units in booking.most.items():
            at = self._name(name)
            self.conditions.append(f"(attribute_not_exists({at}) OR {at} <= {self._value(n(units))})")
        self.conditions += [f"attribute_exists({self._name(x)})" for x in booking.exist]
        self.conditions += [f"attribute_not_exists({self._name(x)})" for x in booking.absent]
        self.conditions += [f"{self._name(x)} = {self._value(_attribute(seen))}" for x, seen in booking.same.items()]
        self.sets += [f"{self._name(x)} = {self._value(_attribute(value))}" for x, value in booking.sets.items()]
        self.removes += [self._name(x) for x in booking.removes]

    def _name(self, name: str) -> str:
        known = next((short for short, full in self.names.items() if full == name), "")
        short = known or f"#q{len(self.names)}"
        self.names[short] = name
        return short

    def _value(self, attribute: Item) -> str:
        short = f":q{len(self.values)}"
        self.values[short] = attribute
        return short


def _attribute(value: int | str) -> Item:
    return s(value) if isinstance(value, str) else n(value)


class Fullness:
    """Reads how full lanes are, and writes it where no slots are reserved."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table

    def read(self, credential: str) -> Item:
        """Return a credential's item, consistent; empty if there is none."""
        found = self._db.batch_get(self._table, [keys.pacer(credential)])
        return found[0] if found else {}

    def fill(self, credential: str, until: Millis, step: int) -> None:
        """Store that a lane is full until then, unless a later time is stored."""
        try:
            self._db.call(
                "update_item",
                TableName=self._table,
                Key=keys.pacer(credential),
                UpdateExpression="SET full_until = :until" + (", full_step = :step" if step else " REMOVE full_step"),
                ConditionExpression="attribute_not_exists(full_until) OR full_until < :until",
                ExpressionAttributeValues={":until": n(until), **({":step": n(step)} if step else {})},
            )
        except ConditionFailed:
            return  # another has said so

    def give_back(self, credential: str, unused: Unused, now: Millis) -> None:
        """Take units off the counters that are still there, and open a lane that was full by its own quotas."""
        item: Item | None = None
        for _ in range(2):
            known: Stored = dict.fromkeys(unused.counters, unused.units) if item is None else stored_of(item)
            off = given_back(unused, known) if item is not None else dict.fromkeys(unused.counters, unused.units)
            if not off:
                return
            try:
                left = self._take_off(credential, off)
            except ConditionFailed as lost:  # some are over: these keep what they have
                item = lost.item or {}
                continue
            if number(left, "full_until") > now and not number(left, "full_step"):
                self._open(credential, number(left, "full_until"), now)
            return

    def _take_off(self, credential: str, off: Mapping[str, int]) -> Item:
        names = {f"#q{i}": name for i, name in enumerate(off)}
        values = {f":q{i}": n(units) for i, units in enumerate(off.values())}
        less = {f":l{i}": n(-units) for i, units in enumerate(off.values())}
        latest = [name for name in off if name.startswith(f"{USED}24h_")]
        conditions = [f"#q{i} >= :q{i}" for i in range(len(off))]
        if latest:  # only while no later counter holds its sum
            names["#later"] = f"{USED}24h_{max(int(x.rpartition('_')[2]) for x in latest) + 1}"
            conditions.append("attribute_not_exists(#later)")
        answer = self._db.call(
            "update_item",
            TableName=self._table,
            Key=keys.pacer(credential),
            UpdateExpression="ADD " + ", ".join(f"#q{i} :l{i}" for i in range(len(off))),
            ConditionExpression=" AND ".join(conditions),
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values | less,
            ReturnValues="ALL_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        found: Item = answer["Attributes"]
        return found

    def _open(self, credential: str, seen: Millis, now: Millis) -> None:
        """Open a lane before its period ends: units that were counted have come back."""
        try:
            self._db.call(
                "update_item",
                TableName=self._table,
                Key=keys.pacer(credential),
                UpdateExpression="SET full_until = :now",
                ConditionExpression="full_until = :seen",
                ExpressionAttributeValues={":now": n(now), ":seen": n(seen)},
            )
        except ConditionFailed:
            return  # it is full until another time
