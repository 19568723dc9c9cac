from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from botocore.stub import Stubber
from moto import mock_aws

from shared.adapters.sqs import ATTEMPTS, MAX_BATCH_BYTES, SqsLanes, SqsQueue, arn_of
from shared.domain.lanes.depth import QueueDepth
from shared.ports import Retriable


class Naps:
    """A clock that does not wait."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.mark.parametrize(
    ("url", "region", "near", "arn"),
    [
        ("https://sqs.eu-west-1.amazonaws.com/1/q", "eu-west-1", "arn:aws:iam::1:role/r", "arn:aws:sqs:eu-west-1:1:q"),
        ("https://sqs.cn-north-1.amazonaws.com.cn/1/q", "cn-north-1", "arn:aws-cn:x", "arn:aws-cn:sqs:cn-north-1:1:q"),
        ("http://127.0.0.1:4566/0/q", "us-east-1", "arn:aws:iam::0:role/r", "arn:aws:sqs:us-east-1:0:q"),
    ],
)
def test_an_arn_follows_from_a_queue_s_address(url: str, region: str, near: str, arn: str) -> None:
    assert arn_of(url, region, near) == arn


@pytest.fixture
def sqs() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("sqs", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")


@pytest.fixture
def url(sqs: Any) -> str:
    return str(sqs.create_queue(QueueName="lane-a")["QueueUrl"])


def drain(sqs: Any, url: str) -> list[str]:
    found: list[str] = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for m in messages:
            found.append(m["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=m["ReceiptHandle"])
    return found


@pytest.mark.parametrize("count", [0, 1, 2, 10, 11, 25])
def test_every_message_arrives_once(sqs: Any, url: str, count: int) -> None:
    bodies = [f"body {n}" for n in range(count)]
    SqsQueue(sqs, url, Naps()).send(bodies)
    assert sorted(drain(sqs, url)) == sorted(bodies)


def test_the_depth_counts_waiting_and_in_flight_messages(sqs: Any, url: str) -> None:
    queue = SqsQueue(sqs, url, Naps())
    assert queue.depth() == QueueDepth(0, 0)
    queue.send(["b"])
    assert queue.depth() == QueueDepth(1, 0)
    message = sqs.receive_message(QueueUrl=url)["Messages"][0]
    assert queue.depth() == QueueDepth(0, 1)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert queue.depth() == QueueDepth(0, 0)


def test_what_is_put_off_comes_again_then(sqs: Any, url: str) -> None:
    queue = SqsQueue(sqs, url, Naps())
    queue.send(["a"])
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    queue.put_off(message["ReceiptHandle"], 30)
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    queue.put_off(message["ReceiptHandle"], 0)
    (again,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert again["Body"] == "a"


def test_the_depth_counts_delayed_messages(sqs: Any, url: str) -> None:
    queue = SqsQueue(sqs, url, Naps())
    queue.send(["a"], delay=600)
    assert queue.depth() == QueueDepth(0, 1)


def test_lanes_are_found_by_prefix(sqs: Any, url: str) -> None:
    lanes = SqsLanes(sqs, url.removesuffix("a"), ["a"], Naps())
    lanes["a"].send(["x"])
    assert drain(sqs, url) == ["x"]
    assert lanes["a"] is lanes["a"]


def test_the_lane_of_a_credential_that_is_not_declared_takes_everything(sqs: Any, url: str) -> None:
    lanes = SqsLanes(sqs, url.removesuffix("a"), ["b"], Naps())
    lanes["a"].send(["x"])
    assert lanes["a"].depth(express=False).total == 0
    assert drain(sqs, url) == []
    assert ("a" in lanes, "b" in lanes) == (False, True)


def test_a_queue_that_does_not_exist_is_a_fault(sqs: Any, url: str) -> None:
    with pytest.raises(ClientError):
        SqsQueue(sqs, url + "-other", Naps()).send(["x"])


class Recorder:
    """A client that records calls and fails as it is told: the failures that moto does not know."""

    def __init__(self, *answers: Any) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.answers = list(answers)

    def _answer(self, name: str, kwargs: dict[str, Any]) -> Any:
        self.calls.append((name, kwargs))
        answer = self.answers.pop(0) if self.answers else {}
        if isinstance(answer, Exception):
            raise answer
        return answer

    def send_message(self, **kwargs: Any) -> Any:
        return self._answer("send_message", kwargs)

    def send_message_batch(self, **kwargs: Any) -> Any:
        return self._answer("send_message_batch", kwargs)

    def get_queue_attributes(self, **kwargs: Any) -> Any:
        return self._answer("get_queue_attributes", kwargs)

    def change_message_visibility(self, **kwargs: Any) -> Any:
        return self._answer("change_message_visibility", kwargs)


def queue_with(*answers: Any) -> tuple[SqsQueue, Recorder, Naps]:
    client, naps = Recorder(*answers), Naps()
    return SqsQueue(client, "https://queue", naps), client, naps  # type: ignore[arg-type]


@pytest.mark.parametrize(("delay", "seconds"), [(0.01, 1), (1, 1), (1.5, 2), (900, 900), (5000, 900)])
def test_delay_is_rounded_up_and_bounded(delay: float, seconds: int) -> None:
    queue, client, _ = queue_with()
    queue.send(["x"], delay=delay, group="job")
    expected = {"QueueUrl": "https://queue", "MessageBody": "x", "DelaySeconds": seconds, "MessageGroupId": "job"}
    assert client.calls == [("send_message", expected)]


def test_no_delay_and_no_group_are_not_mentioned() -> None:
    queue, client, _ = queue_with()
    queue.send(["x", "y"], delay=-1)
    entries = [{"Id": "0", "MessageBody": "x"}, {"Id": "1", "MessageBody": "y"}]
    assert client.calls == [("send_message_batch", {"QueueUrl": "https://queue", "Entries": entries})]


def test_a_batch_stays_under_the_limit_in_bytes() -> None:
    queue, client, _ = queue_with()
    queue.send(["é" * 50_000] * 5)
    sizes = [
        sum(len(e["MessageBody"].encode()) for e in kwargs.get("Entries", [])) or len(kwargs["MessageBody"].encode())
        for _, kwargs in client.calls
    ]
    assert sizes == [200_000, 200_000, 100_000]
    assert max(sizes) <= MAX_BATCH_BYTES


def failed(*ids: str, code: str = "InternalError", fault: bool = False) -> dict[str, Any]:
    return {"Failed": [{"Id": i, "SenderFault": fault, "Code": code} for i in ids]}


def test_only_what_failed_is_sent_again() -> None:
    queue, client, naps = queue_with(failed("1", "2"), failed("2"), {})
    queue.send(["a", "b", "c"])
    sent = [[e["MessageBody"] for e in kwargs["Entries"]] for _, kwargs in client.calls]
    assert sent == [["a", "b", "c"], ["b", "c"], ["c"]]
    assert len(naps.slept) == 2


def test_repeats_are_bounded() -> None:
    queue, client, _ = queue_with(*[failed("1")] * 10)
    with pytest.raises(Retriable):
        queue.send(["a", "b"])
    assert len(client.calls) == ATTEMPTS


def test_a_body_that_sqs_refuses_is_a_fault() -> None:
    queue, client, _ = queue_with(failed("1", code="InvalidMessageContents", fault=True))
    with pytest.raises(ClientError, match="InvalidMessageContents"):
        queue.send(["a", "b"])
    assert len(client.calls) == 1


def client_error(code: str, status: int = 400) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "X")  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    "error",
    [
        client_error("RequestThrottled"),
        client_error("AWS.SimpleQueueService.OverLimit"),
        client_error("Whatever", 503),
        EndpointConnectionError(endpoint_url="https://queue"),
        ReadTimeoutError(endpoint_url="https://queue"),
    ],
)
def test_troubles_of_the_moment_are_retriable(error: Exception) -> None:
    queue, _, _ = queue_with(error, error, error)
    with pytest.raises(Retriable):
        queue.send(["a"])
    with pytest.raises(Retriable):
        queue.send(["a", "b"])
    with pytest.raises(Retriable):
        queue.depth()
    queue, _, _ = queue_with(error)
    with pytest.raises(Retriable):
        queue.put_off("receipt", 5)


def test_a_missing_right_is_a_fault() -> None:
    queue, _, _ = queue_with(client_error("AccessDenied"), client_error("AccessDenied"))
    with pytest.raises(ClientError):
        queue.send(["a"])
    with pytest.raises(ClientError):
        queue.depth()
    queue, _, _ = queue_with(client_error("AccessDenied"))
    with pytest.raises(ClientError):
        queue.put_off("receipt", 5)


def _express(sqs: Any) -> str:
    """Create the express queue of lane `a` and return its URL."""
    return str(sqs.create_queue(QueueName="lane-a_express")["QueueUrl"])


def test_a_lane_has_a_queue_for_small_jobs(sqs: Any, url: str) -> None:
    express = _express(sqs)
    lane = SqsLanes(sqs, url.removesuffix("a"), ["a"], Naps())["a"]
    lane.send(["small"], group="acc", express=True)
    assert [lane.depth(express=x) for x in (True, False)] == [QueueDepth(1, 0), QueueDepth(0, 0)]
    (message,) = sqs.receive_message(QueueUrl=express)["Messages"]
    assert message["Body"] == "small"
    lane.put_off(message["ReceiptHandle"], 0, express=True)
    assert sqs.receive_message(QueueUrl=express)["Messages"][0]["MessageId"] == message["MessageId"]
    lane.send(["large"])
    assert lane.depth(express=False) == QueueDepth(1, 0)


@pytest.mark.parametrize("express", [False, True])
def test_a_message_of_a_lane_is_received_as_its_event_source_would_hand_it_over(
    sqs: Any,
    url: str,
    express: bool,  # noqa: FBT001
) -> None:
    queues = {False: url, True: _express(sqs)}
    lane = SqsLanes(sqs, url.removesuffix("a"), ["a"], Naps())["a"]
    lane.send(["one"], express=express)
    assert lane.receive(express=not express) == []
    [found] = lane.receive(express=express)
    assert (found["body"], found["attributes"]["ApproximateReceiveCount"]) == ("one", "1")
    assert found["messageId"]
    assert lane.receive(express=express) == []
    lane.put_off(found["receiptHandle"], 0, express=express)
    [again] = lane.receive(express=express)
    assert again["attributes"]["ApproximateReceiveCount"] == "2"
    lane.delete([again["receiptHandle"]], express=express)
    assert drain(sqs, queues[express]) == []
    assert lane.depth(express=express).total == 0


def test_messages_of_a_lane_are_received_and_deleted_together(sqs: Any, url: str) -> None:
    queue = _express(sqs)
    lane = SqsLanes(sqs, url.removesuffix("a"), ["a"], Naps())["a"]
    lane.send([f"{n}" for n in range(12)], express=True)
    found = [*lane.receive(10, express=True), *lane.receive(10, express=True)]
    assert sorted(x["body"] for x in found) == sorted(f"{n}" for n in range(12))
    lane.delete([x["receiptHandle"] for x in found[:10]], express=True)
    assert lane.depth(express=True).total == 2
    lane.delete([x["receiptHandle"] for x in found[10:]], express=True)
    assert drain(sqs, queue) == []


def test_a_message_that_is_not_deleted_is_no_secret(sqs: Any, url: str) -> None:
    stub = Stubber(sqs)
    lane = SqsLanes(sqs, url.removesuffix("a"), ["a"], Naps())["a"]
    failed = {"Id": "1", "SenderFault": False, "Code": "InternalError"}
    stub.add_response("delete_message_batch", {"Successful": [{"Id": "0"}], "Failed": [failed]})
    with stub, pytest.raises(Retriable):
        lane.delete(["a", "b"], express=False)


def test_while_a_lane_has_no_express_queue_its_other_one_serves(sqs: Any, url: str) -> None:
    lane = SqsLanes(sqs, url.removesuffix("a"), ["a"], Naps())["a"]
    assert lane.depth(express=True) == QueueDepth(0, 0)
    lane.send(["small"], group="acc", express=True)
    assert lane.depth(express=True) == QueueDepth(1, 0)
    assert sqs.receive_message(QueueUrl=url)["Messages"][0]["Body"] == "small"
    _express(sqs)
    assert lane.depth(express=True) == QueueDepth(0, 0)


def test_a_lane_hides_no_other_fault(sqs: Any) -> None:
    stub = Stubber(sqs)
    lane = SqsLanes(sqs, "https://sqs/lane-", ["a"], Naps())["a"]
    stub.add_client_error("send_message", "AccessDenied")
    stub.add_client_error("get_queue_attributes", "AccessDenied")
    with stub:
        with pytest.raises(ClientError):
            lane.send(["small"], express=True)
        with pytest.raises(ClientError):
            lane.depth(express=True)
