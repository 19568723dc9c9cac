"""The ledger store on DynamoDB: each primitive is one conditional write that returns the winner's item."""

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.client import ConditionFailed, Dynamo
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.queue import LedgerQueue


def in_stream(records: Iterable[Mapping[str, Any]]) -> list[Ledger]:
    """Return the ledgers in records of the stream of `ops`, each as it is in its newest record."""
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for record in records:
        image = record["dynamodb"].get("NewImage")
        if image is not None and "cells" in image:
            newest[image["pk"]["S"], image["sk"]["S"]] = image
    return [codec.ledger(codec.from_stream(image, base64.b64decode)) for image in newest.values()]


class DynamoLedgers(LedgerQueue):
    """Ledgers in the table `ops`."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._db = dynamo
        self._table = table

    def _read(self, job: str, chunk: int) -> Ledger | None:
        item = self._db.get(self._table, keys.ledger(job, chunk))
        return codec.ledger(item) if item else None

    def _read_these(self, places: Collection[tuple[str, int]]) -> list[Ledger]:
        wanted = [keys.ledger(job, chunk) for job, chunk in dict.fromkeys(places)]
        return [codec.ledger(x) for x in self._db.batch_get(self._table, wanted)]

    def _list(self, job: str) -> list[Ledger]:
        items = self._db.partition(self._table, keys.job_pk(job), keys.LEDGER_PREFIX)
        return [codec.ledger(x) for x in items]

    def _list_some(self, job: str, first: int, count: int) -> list[Ledger]:
        page = self._db.call(
            "query",
            TableName=self._table,
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
        self._db.batch_put([(self._table, codec.ledger_item(x)) for x in ledgers])

    def _swap(self, old: Ledger, new: Ledger) -> Ledger | None:
        try:
            self._db.call("update_item", **codec.ledger_update(self._table, old, new))
        except ConditionFailed as lost:
            return codec.ledger(lost.item) if lost.item else None
        return new

    def _lease(self, job: str, chunk: int, lane: str, owner: str, now: int, until: int) -> tuple[bool, Ledger | None]:
        try:
            answer = self._db.call(
                "update_item",
                TableName=self._table,
                Key=keys.ledger(job, chunk),
                UpdateExpression=(
                    "SET #status = :busy, #owner = :owner, #until = :until, seq = :zero, "
                    "epoch = epoch + :one, version = version + :one"
                ),
                ConditionExpression=(
                    "#status = :idle AND lane = :lane AND (attribute_not_exists(not_before) OR not_before <= :now)"
                ),
                ExpressionAttributeNames={"#status": "status", "#owner": "owner", "#until": "until"},
                ExpressionAttributeValues={
                    ":busy": {"S": "BUSY"},
                    ":idle": {"S": "IDLE"},
                    ":owner": {"S": owner},
                    ":until": codec.n(until),
                    ":zero": codec.n(0),
                    ":one": codec.n(1),
                    ":lane": {"S": lane},
                    ":now": codec.n(now),
                },
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ConditionFailed as lost:
            return False, codec.ledger(lost.item) if lost.item else None
        return True, codec.ledger(answer["Attributes"])
