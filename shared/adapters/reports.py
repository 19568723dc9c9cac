"""Batches of a stream that its event source gave up: the reports that Lambda writes of them, and their records.

Lambda reports each batch that failed too often, or was too old, to a queue. The report names the batch by sequence
numbers, and the stream keeps its records for 24 hours. Source: the developer guide of Lambda, "Retain discarded records
for a DynamoDB event source".
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from botocore.exceptions import ClientError

from shared.adapters.dynamo import keys
from shared.frozen import dataclass
from shared.ports import Clock, Report

MAX_RECORDS: Final = 1000
"""Records that one call reads from a stream."""
MAX_READS: Final = 50
HOLD_SECONDS: Final = 90
"""A report in hand is hidden from other runs for so long."""
REST_MS: Final = 60_000
"""A batch that has only now failed is left for a minute: its fault may last."""
MAX_ENTRIES: Final = 10
GONE: Final = frozenset({"TrimmedDataAccessException", "ResourceNotFoundException"})


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of a stream: those of a shard from the sequence number `first` to `last`."""

    stream: str
    shard: str
    first: str
    last: int


def batch_of(body: str) -> Batch | None:
    """Return the batch that a report names; None if it names none."""
    try:
        raw = json.loads(body)["DDBStreamBatchInfo"]
        first = str(raw["startSequenceNumber"])  # as it is: its zeros are part of it
        return Batch(str(raw["streamArn"]), str(raw["shardId"]), first, int(raw["endSequenceNumber"]))
    except (KeyError, TypeError, ValueError):
        return None


def read(streams: Any, batch: Batch) -> list[Mapping[str, Any]] | None:
    """Read a batch from its stream; None if its end did not come.

    Raises:
        ClientError: as of GetShardIterator; with one of GONE the records can never be read again.
    """
    place = streams.get_shard_iterator(
        StreamArn=batch.stream,
        ShardId=batch.shard,
        ShardIteratorType="AT_SEQUENCE_NUMBER",
        SequenceNumber=batch.first,
    )["ShardIterator"]
    records: list[Mapping[str, Any]] = []
    for _ in range(MAX_READS):
        page = streams.get_records(ShardIterator=place, Limit=MAX_RECORDS)
        for record in page["Records"]:
            number = int(record["dynamodb"]["SequenceNumber"])
            if number <= batch.last:
                records.append(record)
            if number >= batch.last:
                return records
        place = page.get("NextShardIterator")
        if not place:
            break
    return None


def matches(pattern: Any, value: Any) -> bool:
    """Tell whether a stream's record passes a filter of ours: names with lists of allowed values, of any or none.

    A name within one that is absent is also absent.
    """
    if isinstance(pattern, Mapping):
        found = value if isinstance(value, Mapping) else {}
        return all(matches(inner, found.get(name)) for name, inner in pattern.items())
    return value in pattern or {"exists": value is not None} in pattern


class StreamReports:
    """Reports about the ledgers in a table's stream. Implements `ports.Reports`.

    Args:
        streams: a client of DynamoDB Streams.
        url: of the queue with the reports.
        others: patterns of records for which the reader had more to do than to fold.
    """

    def __init__(
        self, sqs: Any, streams: Any, url: str, clock: Clock, *, others: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self._sqs = sqs
        self._streams = streams
        self._url = url
        self._clock = clock
        self._others = others

    def receive(self) -> Sequence[Report]:
        answer = self._sqs.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=MAX_ENTRIES,
            VisibilityTimeout=HOLD_SECONDS,
            MessageSystemAttributeNames=["SentTimestamp"],
        )
        latest = int(self._clock.now() * 1000) - REST_MS
        found = []
        for message in answer.get("Messages", []):
            report = Report(message["MessageId"], message["Body"], message["ReceiptHandle"])
            if int(message["Attributes"]["SentTimestamp"]) <= latest:
                found.append(report)
            else:
                self._sqs.change_message_visibility(
                    QueueUrl=self._url, ReceiptHandle=report.receipt, VisibilityTimeout=0
                )
        return found

    def ledgers(self, report: Report) -> set[tuple[str, int]] | None:
        batch = batch_of(report.body)
        if batch is None:
            return None
        records = self._records(batch)
        if records is None or any(matches(x, record) for x in self._others for record in records):
            return None
        places = (keys.ledger_place(record["dynamodb"]["Keys"]) for record in records)
        return {place for place in places if place is not None}

    def _records(self, batch: Batch) -> list[Mapping[str, Any]] | None:
        """Return the records of a batch; None if they can be read no more, or its end did not come."""
        try:
            return read(self._streams, batch)
        except ClientError as error:
            if error.response["Error"]["Code"] in GONE:
                return None
            raise

    def settle(self, report: Report) -> None:
        self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=report.receipt)
