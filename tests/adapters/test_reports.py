"""Reports of dropped stream records, at the AWS clients' boundary."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from shared.adapters.dynamo import keys
from shared.adapters.reports import HOLD_SECONDS, StreamReports
from shared.contracts import PLAN_STREAM_FILTERS
from shared.domain.ids import small_id
from shared.ports import Report
from tests.fakes.clock import FakeClock

URL = "https://sqs.invalid/reports"
JOB = "0" * 26
BATCH = {
    "streamArn": "arn:aws:dynamodb:us-east-1:123456789012:table/ops/stream/1",
    "shardId": "shardId-00000001790000000000-1234abcd",
}
BODY = json.dumps(
    {
        "DDBStreamBatchInfo": {
            **BATCH,
            "startSequenceNumber": "000000000000000000101",
            "endSequenceNumber": "000000000000000000103",
        }
    }
)
AT = {"StreamArn": BATCH["streamArn"], "ShardId": BATCH["shardId"], "SequenceNumber": "000000000000000000101"}
REPORT = Report("m", BODY, "r")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class Stubbed:
    """Clients whose answers are given in advance."""

    def __init__(self, clock: FakeClock) -> None:
        self.stubs = {}
        clients = {}
        for name in ("sqs", "dynamodbstreams"):
            clients[name] = boto3.client(
                name,
                region_name="us-east-1",
                aws_access_key_id="x",
                aws_secret_access_key="x",
            )
            self.stubs[name] = Stubber(clients[name])
            self.stubs[name].activate()
        self.reports = StreamReports(clients["sqs"], clients["dynamodbstreams"], URL, clock)

    def records(self, *numbers: str, sort: str = keys.LEDGER_PREFIX + "00007", **more: str) -> None:
        """Let the stream return records of some sequence numbers."""
        place = {"pk": {"S": keys.job_pk(JOB)}, "sk": {"S": sort}}
        found = [{"eventName": "MODIFY", "dynamodb": {"SequenceNumber": n, "Keys": place}} for n in numbers]
        self.stubs["dynamodbstreams"].add_response("get_records", {"Records": found, **more})


@pytest.fixture
def stubbed(clock: FakeClock) -> Iterator[Stubbed]:
    made = Stubbed(clock)
    yield made
    for stub in made.stubs.values():
        stub.assert_no_pending_responses()


def message(clock: FakeClock, name: str, age: float) -> dict[str, Any]:
    at = str(int((clock.now() - age) * 1000))
    return {"MessageId": name, "Body": BODY, "ReceiptHandle": f"r-{name}", "Attributes": {"SentTimestamp": at}}


def test_a_report_rests_for_a_minute_before_it_is_taken(stubbed: Stubbed, clock: FakeClock) -> None:
    sqs = stubbed.stubs["sqs"]
    asked = {"QueueUrl": URL, "MaxNumberOfMessages": 10, "VisibilityTimeout": HOLD_SECONDS}
    asked |= {"MessageSystemAttributeNames": ["SentTimestamp"]}
    some = [message(clock, "old", 61), message(clock, "new", 5)]
    sqs.add_response("receive_message", {"Messages": some}, asked)
    back = {"QueueUrl": URL, "ReceiptHandle": "r-new", "VisibilityTimeout": 0}
    sqs.add_response("change_message_visibility", {}, back)
    assert stubbed.reports.receive() == [Report("old", BODY, "r-old")]
    sqs.add_response("receive_message", {}, asked)
    assert stubbed.reports.receive() == []
    sqs.add_response("delete_message", {}, {"QueueUrl": URL, "ReceiptHandle": "r-old"})
    stubbed.reports.settle(Report("old", BODY, "r-old"))


def test_the_chunks_of_a_report_are_those_of_its_records(stubbed: Stubbed) -> None:
    streams = stubbed.stubs["dynamodbstreams"]
    streams.add_response(
        "get_shard_iterator", {"ShardIterator": "here"}, {**AT, "ShardIteratorType": "AT_SEQUENCE_NUMBER"}
    )
    stubbed.records("000000000000000000101", NextShardIterator="there")
    stubbed.records("000000000000000000102", "000000000000000000103", "000000000000000000104", sort="PACER")
    assert stubbed.reports.ledgers(REPORT) == {(JOB, 7)}


@pytest.mark.parametrize("code", ["TrimmedDataAccessException", "ResourceNotFoundException"])
def test_records_that_have_gone_cannot_be_read(stubbed: Stubbed, code: str) -> None:
    stubbed.stubs["dynamodbstreams"].add_client_error("get_shard_iterator", code)
    assert stubbed.reports.ledgers(REPORT) is None
    assert stubbed.reports.ledgers(Report("m", "nonsense", "r")) is None


def test_a_batch_without_its_end_is_not_treated_as_complete(stubbed: Stubbed) -> None:
    stubbed.stubs["dynamodbstreams"].add_response("get_shard_iterator", {"ShardIterator": "here"})
    stubbed.records("000000000000000000101")
    assert stubbed.reports.ledgers(REPORT) is None


@pytest.fixture
def small(stubbed: Stubbed) -> StreamReports:
    """Reports about small jobs, whose stream has records with which other work begins."""
    reports = stubbed.reports
    return StreamReports(reports._sqs, reports._streams, URL, reports._clock, others=PLAN_STREAM_FILTERS[:-1])


@pytest.mark.parametrize(("image", "read"), [({"l_dirty": {"N": "1"}}, True), ({"state": {"S": "READY"}}, False)])
def test_a_report_that_is_not_only_about_small_jobs_stays(
    stubbed: Stubbed, small: StreamReports, image: dict[str, Any], *, read: bool
) -> None:
    name = small_id(JOB)
    place = {"pk": {"S": keys.job_pk(name)}, "sk": {"S": keys.JOB}}
    number = "000000000000000000103"
    found = [{"eventName": "MODIFY", "dynamodb": {"SequenceNumber": number, "Keys": place, "NewImage": image}}]
    stubbed.stubs["dynamodbstreams"].add_response("get_shard_iterator", {"ShardIterator": "here"})
    stubbed.stubs["dynamodbstreams"].add_response("get_records", {"Records": found})
    assert small.ledgers(REPORT) == ({(name, 0)} if read else None)
