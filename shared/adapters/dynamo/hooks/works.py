"""The work of endpoints on DynamoDB: one item each, which the index `open` has while anything may wait."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from shared.adapters.dynamo.client import ConditionFailed, InRecords, Item
from shared.adapters.dynamo.codec import n, s, text
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.hooks import keys
from shared.adapters.dynamo.keys import aged
from shared.domain.hooks.delivery import DeliveryState
from shared.domain.hooks.work import HookWork, ReplayOrder, shard_of_endpoint
from shared.domain.times import Millis

_FIELDS: Final = Fields(HookWork, apart=("endpoint", "wake", "replay"))
_NUMBERS: Final = ("fails", "open_until", "failing_since", "trial")
_SEEN: Final = "#open_pk = :slot, #open_sk = if_not_exists(#open_sk, :wake)"
_OTHERS: Final = ("owner", "until", "added", "slow", "replay", "namespace", "open_pk", "open_sk")
_NAMES: Final = {f"#{x}": x for x in (*_NUMBERS, *_OTHERS)}


class DynamoWorks(InRecords):
    """`ports.Works` over the table `records`."""

    def get(self, endpoint: str) -> HookWork | None:
        item = self._db.get(self._table, keys.work(endpoint))
        return _work(item) if item else None

    def some(self, endpoints: Sequence[str]) -> Mapping[str, HookWork]:
        items = self._db.batch_get(self._table, [keys.work(name) for name in dict.fromkeys(endpoints)])
        return {work.endpoint: work for work in map(_work, items)}

    def note(self, endpoint: str, *, wake: Millis) -> HookWork:
        """Count that something was added, and return the work as it then is: one write, or two if it slept for long.

        Args:
            wake: when to look at the endpoint at the latest, Unix milliseconds.
        """
        work = self._update(endpoint, f"SET {_SEEN} ADD #added :one", "", self._wake(endpoint, wake) | {":one": n(1)})
        return self._wakes_by(work, wake)

    def acquire(self, endpoint: str, owner: str, *, now: Millis, until: Millis) -> HookWork | None:
        free = "attribute_exists(pk) AND (attribute_not_exists(#until) OR #until <= :now OR #owner = :owner)"
        values = self._wake(endpoint, until) | {":owner": s(owner), ":now": n(now), ":until": n(until)}
        try:
            return self._update(endpoint, f"SET #owner = :owner, #until = :until, {_SEEN}", free, values)
        except ConditionFailed:
            return None

    def keep(self, old: HookWork, new: HookWork) -> HookWork | None:
        sets, removes, values = _changes(new, order=old.replay is not None)
        sets["#until"] = n(new.until)
        try:
            return self._update(
                new.endpoint, _expression(sets, removes, values), "#owner = :owner", values | {":owner": s(new.owner)}
            )
        except ConditionFailed:
            return None

    def release(self, work: HookWork) -> HookWork | None:
        sets, removes, values = _changes(work, order=True)
        removes += ["#owner", "#until"]
        if work.wake:
            sets |= {"#open_pk": s(keys.slot(work.shard)), "#open_sk": s(aged(work.wake, work.endpoint))}
        else:
            removes += ["#open_pk", "#open_sk"]
        expression = _expression(sets, removes, values)
        values |= {":owner": s(work.owner), ":added": n(work.added)}
        try:
            self._update(work.endpoint, expression, "#owner = :owner AND #added = :added", values)
        except ConditionFailed as lost:
            if lost.item is not None and text(lost.item, "owner") == work.owner:
                return _work(lost.item)
        return None

    def drop(self, work: HookWork) -> None:
        self._db.attempt(
            "delete_item",
            TableName=self._table,
            Key=keys.work(work.endpoint),
            ConditionExpression="#owner = :owner",
            ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues={":owner": s(work.owner)},
        )

    def order(self, endpoint: str, replay: ReplayOrder, *, wake: Millis) -> bool:
        values = self._wake(endpoint, wake) | {":one": n(1), ":replay": s(_packed(replay))}
        try:
            work = self._update(
                endpoint,
                f"SET #replay = :replay, {_SEEN} ADD #added :one",
                "attribute_not_exists(#replay) OR #replay = :replay",
                values,
            )
        except ConditionFailed:
            return False
        self._wakes_by(work, wake)
        return True

    def waking(self, shard: int, now: Millis) -> Iterable[str]:
        for item in self._db.due(self._table, keys.slot(shard), now):
            yield item["pk"]["S"].partition("#")[2]

    def _wakes_by(self, work: HookWork, wake: Millis) -> HookWork:
        """Bring the check of an endpoint forward to `wake`, if it is due later."""
        if work.wake <= wake:
            return work
        values = self._wake(work.endpoint, wake)
        try:
            return self._update(
                work.endpoint,
                "SET #open_pk = :slot, #open_sk = :wake",
                "attribute_exists(pk) AND (attribute_not_exists(#open_sk) OR #open_sk > :wake)",
                values,
            )
        except ConditionFailed:
            return work  # another made it earlier still, or looked meanwhile

    def _wake(self, endpoint: str, wake: Millis) -> Item:
        return {":slot": s(keys.slot(shard_of_endpoint(endpoint))), ":wake": s(aged(wake, endpoint))}

    def _update(self, endpoint: str, expression: str, condition: str, values: Mapping[str, Any]) -> HookWork:
        used = f"{expression} {condition}"
        request: Item = {
            "TableName": self._table,
            "Key": keys.work(endpoint),
            "UpdateExpression": expression,
            "ExpressionAttributeNames": {k: v for k, v in _NAMES.items() if k in used},
            "ExpressionAttributeValues": values,
            "ReturnValues": "ALL_NEW",
        }
        if condition:
            request |= {"ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        return _work(self._db.call("update_item", **request)["Attributes"])


_SLOW: Final[Item] = {"BOOL": True}


def _changes(work: HookWork, *, order: bool) -> tuple[dict[str, Item], list[str], Item]:
    """Return what is set, what is removed, and a place for values; `order`: also of the order to replay."""
    fields = {f"#{name}": n(value) for name in _NUMBERS if (value := getattr(work, name))}
    fields |= {"#namespace": s(work.namespace)} if work.namespace else {}
    fields |= {"#slow": _SLOW} if work.slow else {}
    every = [*(f"#{name}" for name in _NUMBERS), "#namespace", "#slow"]
    if order:
        fields |= {"#replay": s(_packed(work.replay))} if work.replay is not None else {}
        every.append("#replay")
    return fields, [name for name in every if name not in fields], {}


def _expression(sets: Mapping[str, Item], removes: Iterable[str], values: Item) -> str:
    """Return an update's expression, and note its values."""
    values |= {f":v{i}": value for i, value in enumerate(sets.values())}
    parts = ["SET " + ", ".join(f"{name} = :v{i}" for i, name in enumerate(sets))] if sets else []
    if gone := ", ".join(removes):
        parts.append(f"REMOVE {gone}")
    return " ".join(parts)


def _packed(x: ReplayOrder) -> str:
    return json.dumps([x.since, x.until, x.at, x.state and x.state.value, x.after], separators=(",", ":"))


def _order(packed: str) -> ReplayOrder:
    since, until, at, state, after = json.loads(packed)
    return ReplayOrder(since, until, at, DeliveryState(state) if state else None, after)


def _work(item: Mapping[str, Any]) -> HookWork:
    return HookWork(
        endpoint=item["pk"]["S"].partition("#")[2],
        wake=int(text(item, "open_sk", "0").partition("#")[0]),
        replay=_order(text(item, "replay")) if "replay" in item else None,
        **_FIELDS.read(item),
    )
