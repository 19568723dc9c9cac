"""The ledger store on DynamoDB: each primitive is one conditional write that returns the winner's item."""

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo
from shared.adapters.dynamo.jobs import ledger_writes
from shared.adapters.dynamo.jobs.ledger_writes import JobTables
from shared.domain.ids import is_small
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.queue import LedgerQueue


def in_stream(records: Iterable[Mapping[str, Any]]) -> list[Ledger]:
    """Return the ledgers in records of streams, each as it is in its newest record; of small jobs the changed ones."""
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for record in records:
        image = record["dynamodb"].get("NewImage")
        if image is not None and codec.has_news(image):
            newest[image["pk"]["S"], image["sk"]["S"]] = image
    return [codec.ledger(codec.from_stream(image, base64.b64decode)) for image in newest.values()]


class DynamoLedgers(LedgerQueue):
    """Ledgers in the table `ops`; those of small jobs are in the jobs' items in `records`."""

    def __init__(self, dynamo: Dynamo, tables: JobTables) -> None:
        self._db = dynamo
        self._tables = tables

    def _read(self, job: str, chunk: int) -> Ledger | None:
        table, key = self._tables.ledger(job, chunk)
        return ledger_writes.stored(self._db.get(table, key))

    def _read_these(self, places: Collection[tuple[str, int]]) -> list[Ledger]:
        wanted = [self._tables.ledger(job, chunk) for job, chunk in dict.fromkeys(places)]
        return [codec.ledger(x) for x in self._db.batch_get_any(wanted)]

    def _list(self, job: str) -> list[Ledger]:
        if is_small(job):
            return [x for x in [self._read(job, 0)] if x is not None]
        items = self._db.partition(self._tables.ops, keys.job_pk(job), keys.LEDGER_PREFIX)
        return [codec.ledger(x) for x in items]

    def _list_some(self, job: str, first: int, count: int) -> list[Ledger]:
        if is_small(job):
            return self._list(job) if first == 0 < count else []
        page = self._db.call(
            "query",
            TableName=self._tables.ops,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":pk": {"S": keys.job_pk(job)},
                ":first": keys.ledger(job, first)["sk"],
                ":last": keys.ledger(job, first + count - 1)["sk"],
            },
            ConsistentRead=True,
        )
        return [codec.ledger(x) for x in page["Items"]]

    def _put(self, ledgers: Sequence[Ledger]) -> None:
        self._db.batch_put([(self._tables.ops, codec.ledger_item(x)) for x in ledgers])

    def _swap(self, old: Ledger, new: Ledger) -> Ledger | None:
        try:
            self._db.call("update_item", **ledger_writes.replaced(self._tables, old, new))
        except ConditionFailed as lost:
            return ledger_writes.stored(lost.item)
        return new

    def _lease(self, job: str, chunk: int, lane: str, owner: str, now: int, until: int) -> tuple[bool, Ledger | None]:
        update = ledger_writes.leased(self._tables, job, chunk, lane, owner, {"now": now, "until": until})
        try:
            answer = self._db.call(
                "update_item", **update, ReturnValues="ALL_NEW", ReturnValuesOnConditionCheckFailure="ALL_OLD"
            )
        except ConditionFailed as lost:
            return False, ledger_writes.stored(lost.item)
        return True, codec.ledger(answer["Attributes"])
