"""What was handed on to webhooks, on DynamoDB, in the table `records`: puts, and one condition.

| pattern | key |
|---|---|
| what was handed on of a chunk | `HC#job#00012 / TOLD#now`, `TOLD#later` |
| was this event handed on? until then with what it says | `HT#event / TOLD` |

The partition of a chunk's details has only details: earlier versions read all of it.
"""

from collections.abc import Collection, Mapping, Sequence

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo, Item
from shared.adapters.dynamo.codec import binary, n, number, s, text
from shared.domain.hooks.kinds import HookPace
from shared.domain.hooks.told import ToldCells


class DynamoToldChanges:
    """`ports.ToldChanges` over the table `records`."""

    def __init__(self, dynamo: Dynamo, *, records: str) -> None:
        self._db = dynamo
        self._table = records

    def read(self, places: Collection[tuple[str, int]], pace: HookPace) -> Mapping[tuple[str, int], ToldCells]:
        """Return what was handed on of chunks `(job, number)`, by chunk, consistent; one read per 100."""
        wanted = [_key(job, chunk, pace) for job, chunk in dict.fromkeys(places)]
        found = [_told(x) for x in self._db.batch_get(self._table, wanted)]
        return {(x.job, x.chunk): x for x in found}

    def write(self, some: Sequence[ToldCells], pace: HookPace) -> None:
        """Note what was handed on of chunks; one write per 25."""
        self._db.batch_put([(self._table, _item(x, pace)) for x in some])

    def known(self, ids: Collection[str]) -> set[str]:
        """Return those of some ids of events that were noted, consistent; one read per 100."""
        found = self._db.batch_get(self._table, [_event_key(x) for x in dict.fromkeys(ids)])
        return {x["pk"]["S"].partition("#")[2] for x in found if "data" not in x}

    def claim(self, name: str, data: str, ttl: int) -> str:
        """Store what an event says, and return what the first claim has stored; empty: the event was noted.

        Args:
            name: the id of the event.
            data: what it says, JSON.
            ttl: Unix seconds when that may be forgotten.
        """
        try:
            self._db.call(
                "put_item",
                TableName=self._table,
                Item={**_event_key(name), "data": s(data), "ttl": n(ttl)},
                ConditionExpression="attribute_not_exists(pk)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ConditionFailed as lost:
            return text(lost.item or {}, "data")
        return data

    def note(self, ids: Collection[str], ttl: int) -> None:
        """Note ids of events that were handed on; one write per 25."""
        self._db.batch_put([(self._table, {**_event_key(x), "ttl": n(ttl)}) for x in dict.fromkeys(ids)])


def _key(job: str, chunk: int, pace: HookPace) -> keys.Key:
    return keys.key(f"HC#{job}#{chunk:05d}", f"TOLD#{pace.value}")


def _event_key(name: str) -> keys.Key:
    return keys.key(f"HT#{name}", "TOLD")


def _item(x: ToldCells, pace: HookPace) -> Item:
    return {**_key(x.job, x.chunk, pace), "told": {"B": x.cells}, "at": n(x.at), "ttl": n(x.ttl)}


def _told(item: Item) -> ToldCells:
    _, job, chunk = item["pk"]["S"].split("#")
    return ToldCells(job, int(chunk), binary(item, "told"), number(item, "at"), number(item, "ttl"))
