"""The updates of notifiers on DynamoDB: one item each, one partition per notifier and UTC day.

Writers put their entries in the transaction that changes the notice, with a check of the notifier's mark `closed`.
Readers raise the mark first, then read consistently. So no entry appears behind a reader.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from shared.adapters.dynamo import audit
from shared.adapters.dynamo.client import InRecords, Item, between
from shared.adapters.dynamo.codec import n, number, s, text
from shared.adapters.dynamo.fields import Fields
from shared.adapters.dynamo.notices import keys
from shared.domain.audit import Event
from shared.domain.jobs.labels import Labels
from shared.domain.notices.days import NotifierDay
from shared.domain.notices.notice import SHARDS
from shared.domain.notices.updates import LOG_DAYS, Marks, Span, UpdateEntry, day_of, days_of
from shared.domain.times import DAY_MS
from shared.ports import Retriable

DAY_S: Final = 86_400
_FIELDS: Final = Fields(
    UpdateEntry, apart=("notifier", "stamp", "action", "labels"), always=("notice", "id", "status", "version")
)
STAMPS: Final = 20
"""How often a transaction's entries are stamped. Readers close the log at most once a second, 5 s behind the clock."""
_LOG = "#UPDATES#"


def log_actions(table: str, entries: Sequence[UpdateEntry]) -> list[Item]:
    """Return the actions that add entries within a transaction: their puts, then one check per notifier.

    If one of their conditions fails, an entry's stamp is taken or not later than the mark `closed`. Then stamp anew.
    """
    lowest: dict[str, int] = {}
    for entry in entries:
        lowest[entry.notifier] = min(entry.stamp, lowest.get(entry.notifier, entry.stamp))
    puts: list[Item] = [
        {"Put": {"TableName": table, "Item": entry_item(x), "ConditionExpression": "attribute_not_exists(pk)"}}
        for x in entries
    ]
    checks: list[Item] = [
        {
            "ConditionCheck": {
                "TableName": table,
                "Key": keys.marks(name),
                "ConditionExpression": "attribute_not_exists(closed) OR closed < :stamp",
                "ExpressionAttributeValues": {":stamp": n(stamp)},
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }
        for name, stamp in lowest.items()
    ]
    return puts + checks


def closed_of(actions: Sequence[Item], codes: Sequence[str], items: Sequence[Item | None]) -> int | None:
    """Return the stamp that later ones must exceed after a transaction was cancelled; None: the log was no reason.

    Args:
        actions: the actions of the transaction.
        codes: why each was refused, in their order.
    """
    found = []
    for action, code, item in zip(actions, codes, items, strict=True):
        if code != "ConditionalCheckFailed":
            continue
        put = action.get("Put", {}).get("Item", {})
        if "ConditionCheck" in action:
            found.append(number(item or {}, "closed"))
        elif put and _LOG in put["pk"]["S"]:
            found.append(int(put["sk"]["S"].partition("#")[0]))
    return max(found, default=None)


def overtaken() -> Retriable:
    """Return the fault of a transaction whose entries got STAMPS stamps, all of them in the closed part of the log."""
    return Retriable("the log is closed past every stamp")


class DynamoUpdates(InRecords):
    """`ports.UpdateLog` over the table `records`."""

    def marks(self, notifier: str) -> Marks:
        item = self._db.get(self._table, keys.marks(notifier)) or {}
        return Marks(*(number(item, name) for name in ("closed", "collected", "purged")))

    def close(self, notifier: str, until: int) -> None:
        self._raise(notifier, "closed", until)

    def collect(self, notifier: str, until: int) -> None:
        self._raise(notifier, "collected", until)

    def to_purge(self, now: int) -> Iterator[str]:
        for shard in range(SHARDS):
            for item in self._db.due(self._table, keys.purge_slot(shard), now):
                yield item["open_sk"]["S"].partition("#")[2]

    def purge(self, notifier: str, until: int, *, again: int | None, event: Event | None = None) -> None:
        place = {} if again is None else keys.purge_place(notifier, again)
        update: Item = {
            "TableName": self._table,
            "Key": keys.marks(notifier),
            "UpdateExpression": "SET purged = :until"
            + ("".join(f", {x} = :{x}" for x in place) or " REMOVE open_pk, open_sk"),
            "ConditionExpression": "attribute_not_exists(purged) OR purged <= :until",
            "ExpressionAttributeValues": {":until": n(until), **{f":{x}": value for x, value in place.items()}},
        }
        events = audit.puts(self._db, self._table, event)
        if events:
            self._db.together([{"Update": update}, *events])  # unless another walk is further
        else:
            self._db.attempt("update_item", **update)

    def _raise(self, notifier: str, mark: str, until: int) -> None:
        """Raise a mark; a notifier that was made before there were walks has its first one a day later."""
        place = keys.purge_place(notifier, until + DAY_MS)
        self._db.attempt(
            "update_item",
            TableName=self._table,
            Key=keys.marks(notifier),
            UpdateExpression="SET #mark = :until" + "".join(f", {x} = if_not_exists({x}, :{x})" for x in place),
            ConditionExpression="attribute_not_exists(#mark) OR #mark < :until",
            ExpressionAttributeNames={"#mark": mark},
            ExpressionAttributeValues={":until": n(until), **{f":{x}": value for x, value in place.items()}},
        )  # unless it is as far already

    def days(self, notifier: str, days: Sequence[str]) -> Mapping[str, NotifierDay]:
        items = self._db.batch_get(self._table, [keys.day(notifier, x) for x in days], consistent=False)
        return {x.day: x for x in map(_counts, items)}

    def keep_day(self, notifier: str, day: NotifierDay) -> None:
        start = int(datetime.strptime(day.day, "%Y%m%d").replace(tzinfo=UTC).timestamp())
        counts = {"statuses": day.statuses, "errors": day.errors, "rejected": day.rejected}
        item = {
            **keys.day(notifier, day.day),
            "counts": s(json.dumps(counts, separators=(",", ":"))),
            "ttl": n(start + LOG_DAYS * DAY_S),
        }
        self._db.call("put_item", TableName=self._table, Item=item)

    def read(self, notifier: str, span: Span) -> Iterator[UpdateEntry]:
        first, end = f"{span.start:015d}", f"{span.end:015d}"
        for day in days_of(span):
            # A place is `stamp#…`: one of the end's stamp sorts behind the bare stamp, and is left out.
            found = self._db.query(self._table, **between(keys.updates_pk(notifier, day), first, end))
            yield from map(update_entry, found)


def entry_item(x: UpdateEntry) -> Item:
    """Return the item of an entry."""
    return {
        "pk": s(keys.updates_pk(x.notifier, day_of(x.stamp))),
        "sk": s(f"{x.stamp:015d}#{x.notice[:8]}"),
        "ttl": n(x.stamp // 1000 + LOG_DAYS * DAY_S),
        **_FIELDS.item(x),
        **({} if x.action is None else {"action": s(x.action)}),
        **({"labels": s(labels)} if (labels := x.labels.text()) else {}),
    }


def _counts(item: Mapping[str, Any]) -> NotifierDay:
    counts = json.loads(text(item, "counts"))
    return NotifierDay(item["sk"]["S"].removeprefix(keys.DAY_PREFIX), **counts)


def update_entry(item: Mapping[str, Any]) -> UpdateEntry:
    """Read an entry of a notifier's updates."""
    return UpdateEntry(
        notifier=item["pk"]["S"].split("#")[1],
        stamp=int(item["sk"]["S"].partition("#")[0]),
        action=text(item, "action") if "action" in item else None,
        labels=Labels.read(text(item, "labels")),
        **_FIELDS.read(item),
    )
