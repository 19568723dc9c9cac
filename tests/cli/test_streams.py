"""Streams' batches that failed are read and handed over again, and the last error comes from the function's log."""

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.response import StreamingBody
from botocore.stub import Stubber

from shared import contracts
from shared.adapters.queues import redrive
from shared.adapters.queues.dead_letters import DeadLetterQueues
from shared.adapters.queues.redrive import Again
from shared.adapters.reports import matches
from shared.contracts import LOG_STREAM_FILTER
from tests.cli.fakes import STREAM, letter, report

REGION = "us-east-1"

pytestmark = pytest.mark.promise(8)


class Answers:
    """Clients that answer as recorded, and check what they are asked."""

    def __init__(self) -> None:
        self.stubs = {name: Stubber(boto3.client(name, REGION)) for name in ("lambda", "dynamodbstreams", "logs")}

    def again(self, kind: str) -> Again:
        named = {"sweep": "the-sweeper", "gather_hooks": "hooks"}
        return Again(kind, self.stubs["lambda"].client, self.stubs["dynamodbstreams"].client, named)

    def answer(self, service: str, method: str, answer: Any, asked: Any = None) -> None:
        self.stubs[service].add_response(method, answer, asked)


@pytest.fixture
def answers() -> Iterator[Answers]:
    found = Answers()
    for stub in found.stubs.values():
        stub.activate()
    yield found
    for stub in found.stubs.values():
        stub.assert_no_pending_responses()


def test_a_batch_of_a_stream_is_read_and_handed_over_again(answers: Answers) -> None:
    def record(n: int, status: str) -> dict[str, Any]:
        image = {"pk": {"S": "J#x"}, "cells": {"B": b"\x13"}, "dirty": {"N": "1"}, "status": {"S": status}}
        at = {"SequenceNumber": f"10000000000000000000{n}", "ApproximateCreationDateTime": 1_790_000_000}
        return {"eventName": "MODIFY", "dynamodb": {"NewImage": image, **at}}

    pattern = json.dumps(LOG_STREAM_FILTER)
    source = {"FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:log"}
    filters = {"FilterCriteria": {"Filters": [{"Pattern": pattern}]}}
    answers.answer("lambda", "list_event_source_mappings", {"EventSourceMappings": [{**source, **filters}]})
    answers.answer("dynamodbstreams", "get_shard_iterator", {"ShardIterator": "here"})
    records = [record(1, "IDLE"), record(2, "BUSY"), record(3, "DONE"), record(4, "DONE")]
    answers.answer("dynamodbstreams", "get_records", {"Records": records, "NextShardIterator": "there"})
    answers.answer("lambda", "invoke", {"StatusCode": 200})
    again = answers.again("log")
    sent: list[Any] = []
    answers.stubs["lambda"].client.meta.events.register(
        "before-parameter-build.lambda.Invoke", lambda params, **_: sent.append(json.loads(params["Payload"]))
    )
    assert again([letter(report())]) == {}
    (events,) = sent
    handed = [(r["dynamodb"]["SequenceNumber"][-1], r["dynamodb"]["NewImage"]["cells"]["B"]) for r in events["Records"]]
    assert handed == [("1", "Ew=="), ("3", "Ew==")]  # as Lambda writes bytes; neither what is BUSY nor what came later


def test_a_batch_that_fails_again_stays_reported_and_keeps_no_other(answers: Answers) -> None:
    mapping = {"FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:log"}
    for failed in (True, False):
        answers.answer("lambda", "list_event_source_mappings", {"EventSourceMappings": [mapping]})
        answers.answer("dynamodbstreams", "get_shard_iterator", {"ShardIterator": "here"})
        one = {"eventName": "MODIFY", "dynamodb": {"SequenceNumber": "100000000000000000003"}}
        answers.answer("dynamodbstreams", "get_records", {"Records": [one]})
        body = StreamingBody(BytesIO(text := b'{"errorType": "KeyError"}'), len(text))
        answers.answer("lambda", "invoke", {"FunctionError": "Unhandled", "Payload": body} if failed else {})
    again = answers.again("log")
    no_batch = json.dumps({"requestContext": {"condition": "x"}})
    found = again([letter(report(), "a"), letter(report(), "b"), letter(no_batch, "c")])
    assert found == {"a": "log failed again (KeyError): see its log", "c": "it names no batch of a stream"}


def test_a_batch_that_is_not_handed_over_whole_stays_reported(answers: Answers) -> None:
    """Its end did not come; Lambda is busy; nobody reads that stream any more; no batch is named."""
    mapping = {"FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:log"}
    for last in (2, 3):
        answers.answer("lambda", "list_event_source_mappings", {"EventSourceMappings": [mapping]})
        batch = {"StreamArn": STREAM, "ShardId": "shardId-00000001573689847184-864758bb"}
        start = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": "000000000000000000001"}
        answers.answer("dynamodbstreams", "get_shard_iterator", {"ShardIterator": "here"}, {**batch, **start})
        one = {"eventName": "MODIFY", "dynamodb": {"SequenceNumber": f"00000000000000000000{last}"}}
        answers.answer("dynamodbstreams", "get_records", {"Records": [one]})
    answers.stubs["lambda"].add_client_error("invoke", "TooManyRequestsException")
    answers.answer("lambda", "list_event_source_mappings", {"EventSourceMappings": []})
    again = answers.again("log")
    numbers = {f"{end}SequenceNumber": f"00000000000000000000{n}" for end, n in (("start", 1), ("end", 3))}
    whole = report(**numbers)
    found = again([*(letter(whole, name) for name in "abc"), letter(report(endSequenceNumber="x"), "d")])
    assert found == {
        "a": redrive.NOT_WHOLE,
        "b": "Lambda did not take it: TooManyRequestsException",
        "c": redrive.NO_STREAM,
        "d": redrive.NO_BATCH,
    }


def test_the_sweeper_runs_once_for_all_its_reports_without_a_wait(answers: Answers) -> None:
    asked = {"FunctionName": "the-sweeper", "InvocationType": "Event", "Payload": b"{}"}
    answers.answer("lambda", "invoke", {"StatusCode": 202}, asked)
    again = answers.again("sweep")
    assert again([letter(report(), "a")]) == again([letter(report(), "b")]) == {}


def test_a_function_that_takes_long_is_not_called_done(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(**_: Any) -> None:
        raise ReadTimeoutError(endpoint_url="lambda")

    monkeypatch.setattr(answers.stubs["lambda"].client, "invoke", hang)
    alarm = json.dumps({"source": "aws.cloudwatch"})
    assert answers.again("gather_hooks")([letter(alarm, "a")]) == {"a": redrive.STILL_RUNNING}


def test_a_change_of_an_alarm_is_handed_over_from_its_report(answers: Answers) -> None:
    alarm = {"source": "aws.cloudwatch", "detail-type": "CloudWatch Alarm State Change", "detail": {}}
    failed = {"requestContext": {"condition": "RetriesExhausted"}, "requestPayload": alarm}
    for _ in range(2):
        asked = {"FunctionName": "hooks", "Payload": json.dumps(alarm).encode()}
        answers.answer("lambda", "invoke", {"StatusCode": 200}, asked)
    again = answers.again("gather_hooks")
    other = json.dumps({"requestContext": {"condition": "x"}, "requestPayload": {"Records": []}})
    letters = [letter(json.dumps(failed), "a"), letter(json.dumps(alarm), "b"), letter(other, "c")]
    assert again(letters) == {"c": redrive.NO_BATCH}


def test_records_that_the_stream_no_longer_keeps_stay_reported(answers: Answers) -> None:
    mapping = {"FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:log"}
    answers.answer("lambda", "list_event_source_mappings", {"EventSourceMappings": [mapping]})
    answers.stubs["dynamodbstreams"].add_client_error("get_shard_iterator", "TrimmedDataAccessException")
    again = answers.again("log")
    assert "older than the 24 hours" in again([letter(report())])["m"]


def test_filters_of_streams_are_understood() -> None:
    for pattern in (LOG_STREAM_FILTER, *contracts.PLAN_STREAM_FILTERS):
        assert not matches(pattern, {})
        assert not matches(pattern, {"eventName": "REMOVE", "dynamodb": {"NewImage": {}}})
    ready = {"eventName": "INSERT", "dynamodb": {"NewImage": {"state": {"S": "READY"}}}}
    assert [matches(p, ready) for p in contracts.PLAN_STREAM_FILTERS] == [True, False, False, False]
    changed = {"dynamodb": {"NewImage": {"l_dirty": {"N": "1"}, "l_status": {"S": "DONE"}, "state": {"S": "LOGGED"}}}}
    assert [matches(p, changed) for p in contracts.PLAN_STREAM_FILTERS] == [False, False, False, True]


def test_the_last_error_comes_from_the_functions_log_without_addresses(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeadLetterQueues, "_groups", lambda *_: ["group"])
    lines = [
        "START RequestId: 1",
        json.dumps({"message_id": "a", "exception_name": "KeyError", "exception": "Traceback\nKeyError: 'first'"}),
        json.dumps({"message_id": "a", "exception_name": "ValueError", "exception": "x\nValueError: ann@example.com"}),
        json.dumps({"message_ids": ["b", "c"], "exception_name": "Retriable", "exception": ""}),
        json.dumps({"exception_name": "Other"}),
        json.dumps({"message_id": "d", "exception_name": "E", "exception": 'x\nE: "john doe"@example.com no'}),
    ]
    asked = {"logGroupName": "group", "startTime": 5, "filterPattern": '"exception_name"'}
    answers.answer("logs", "filter_log_events", {"events": [{"message": x} for x in lines], "nextToken": "n"}, asked)
    answers.answer("logs", "filter_log_events", {"events": []}, {**asked, "nextToken": "n"})
    said = DeadLetterQueues(None, None, None, answers.stubs["logs"].client).errors("https://queue", 5)
    assert said == {"a": "ValueError: …", "b": "Retriable", "c": "Retriable", "d": "E: … no"}
