"""AWS without botocore: the same requests, answers and errors, and a lost answer is no loss."""

import json
import re
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, HTTPClientError, NoCredentialsError

from infra.building import bundling
from infra.settings import ROOT
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo.client import Cancelled, ConditionFailed, Dynamo, answered_at
from shared.adapters.http import direct
from shared.adapters.http.direct import DYNAMODB, SECRETS, SQS, AwsService, DirectClient
from shared.adapters.http.steps import SteppingWire
from shared.adapters.http.transport import HttpClient
from shared.bootstrap.core import Core
from shared.domain.content.streams import Body, whole
from shared.ports import AnswerLost, Http, NotSent, Response, Retriable
from shared.sigv4 import AwsKeys
from tests.adapters.servers import answering, serving
from tests.fakes.clock import FakeClock

KEYS = AwsKeys("AKID", "secret", "token")
URL = "https://dynamodb.eu-central-1.amazonaws.com"
QUEUE = "https://sqs.eu-central-1.amazonaws.com/123456789012/q"
ITEM: Mapping[str, Any] = {
    "pk": {"S": "a"},
    "packed": {"B": b"\x00\xff"},
    "count": {"N": "3"},
    "on": {"BOOL": True},
    "map": {"M": {"B": {"S": "b"}, "deep": {"L": [{"B": b"deep"}, {"NULL": True}]}}},
    "set": {"SS": ["x", "y"]},
}


class Far(Http):
    """DynamoDB at the other end: it says what it is told to, in turn."""

    def __init__(self, *answers: Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, Mapping[str, str], bytes, float]] = []

    def request(self, method: str, url: str, *, headers: Mapping[str, str], body: Body, deadline: float) -> Response:
        raw = body if isinstance(body, bytes) else whole(body)
        self.asked.append((method, url, dict(headers), raw, deadline))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def body(self) -> Any:
        """What was last asked."""
        return json.loads(self.asked[-1][3])


def said(document: object, status: int = 200, *, damaged: bool = False) -> Response:
    body = json.dumps(document).encode()
    headers = {"x-amz-crc32": str(zlib.crc32(body) + damaged), "date": "Mon, 21 Sep 2026 14:13:20 GMT"}
    return Response(status, headers, body)


def refused(code: str, **more: object) -> Response:
    return said({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no", **more}, 400)


def client(far: Far, keys: AwsKeys | None = KEYS, service: AwsService = DYNAMODB) -> DirectClient:
    url = URL.replace("dynamodb", service.name)
    return DirectClient(
        service, url, "eu-central-1", keys=lambda: keys, http=far, clock=FakeClock(), sleep=lambda _seconds: None
    )


def db(far: Far) -> Dynamo:
    return Dynamo(client(far), sleep=lambda _seconds: None)


def of_botocore(call: Callable[[Any], object], service: AwsService = DYNAMODB) -> tuple[Any, Mapping[str, str]]:
    """Return the body and the headers that botocore makes of a call."""
    found: list[tuple[Any, Mapping[str, str]]] = []
    real = boto3.client(
        service.name,  # type: ignore[call-overload]
        region_name="eu-central-1",
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}),
    )

    def catch(request: Any, **_: object) -> None:
        texts = {k: v.decode() if isinstance(v, bytes) else v for k, v in request.headers.items()}
        found.append((json.loads(request.body), texts))
        raise InterruptedError

    real.meta.events.register("before-send", catch)
    with pytest.raises(InterruptedError):
        call(real)
    return found[0]


CALLS: list[Callable[[Any], Any]] = [
    lambda c: c.get_item(TableName="t", Key={"pk": {"S": "a"}}, ConsistentRead=True),
    lambda c: c.put_item(TableName="t", Item=ITEM, ConditionExpression="attribute_not_exists(pk)"),
    lambda c: c.update_item(
        TableName="t",
        Key={"pk": {"S": "a"}},
        UpdateExpression="SET #x = :x",
        ExpressionAttributeNames={"#x": "x"},
        ExpressionAttributeValues={":x": {"B": b"\x01"}},
        ReturnValues="ALL_NEW",
    ),
    lambda c: c.delete_item(TableName="t", Key={"pk": {"S": "é"}}),
    lambda c: c.query(TableName="t", KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": "a"}}),
    lambda c: c.scan(TableName="t", Limit=1),
    lambda c: c.batch_get_item(RequestItems={"t": {"Keys": [{"pk": {"S": "a"}}], "ConsistentRead": False}}),
    lambda c: c.batch_write_item(RequestItems={"t": [{"PutRequest": {"Item": ITEM}}]}),
    lambda c: c.transact_get_items(TransactItems=[{"Get": {"TableName": "t", "Key": {"pk": {"S": "a"}}}}]),
    lambda c: c.transact_write_items(TransactItems=[{"Put": {"TableName": "t", "Item": ITEM}}]),
]


OTHERS: list[tuple[AwsService, Callable[[Any], Any]]] = [
    (SQS, lambda c: c.send_message(QueueUrl=QUEUE, MessageBody="é", DelaySeconds=3, MessageGroupId="a")),
    (SQS, lambda c: c.send_message_batch(QueueUrl=QUEUE, Entries=[{"Id": "0", "MessageBody": "b"}])),
    (SQS, lambda c: c.receive_message(QueueUrl=QUEUE, AttributeNames=["ApproximateReceiveCount"], WaitTimeSeconds=0)),
    (SQS, lambda c: c.delete_message_batch(QueueUrl=QUEUE, Entries=[{"Id": "0", "ReceiptHandle": "r"}])),
    (SQS, lambda c: c.change_message_visibility(QueueUrl=QUEUE, ReceiptHandle="r", VisibilityTimeout=9)),
    (DYNAMODB, lambda c: c.describe_table(TableName="t")),
    (SQS, lambda c: c.delete_message(QueueUrl=QUEUE, ReceiptHandle="r")),
    (SQS, lambda c: c.change_message_visibility_batch(QueueUrl=QUEUE, Entries=[{"Id": "0", "ReceiptHandle": "r"}])),
    (SQS, lambda c: c.get_queue_attributes(QueueUrl=QUEUE, AttributeNames=["ApproximateNumberOfMessages"])),
    (SECRETS, lambda c: c.get_secret_value(SecretId="s")),
]


@pytest.mark.parametrize("number", range(len(CALLS) + len(OTHERS)))
def test_a_request_is_that_of_botocore(number: int) -> None:
    service, call = [*((DYNAMODB, x) for x in CALLS), *OTHERS][number]
    far = Far(said({}))
    call(client(far, service=service))
    body, headers = of_botocore(call, service)
    if "ClientRequestToken" in body:  # of its own retries, which are not made here
        del body["ClientRequestToken"]
    assert far.body == body
    method, url, mine, _, deadline = far.asked[0]
    assert (method, url) == ("POST", URL.replace("dynamodb", service.name) + "/")
    for name in ("X-Amz-Target", "Content-Type"):
        assert mine[name] == headers[name]
    assert mine["X-Amz-Security-Token"] == "token"
    assert "Credential=AKID/" in mine["Authorization"]
    assert f"/eu-central-1/{service.name}/aws4_request" in mine["Authorization"]
    assert deadline == FakeClock().now() + direct.TIMEOUT


def test_an_item_is_read_as_botocore_reads_it() -> None:
    packed = {
        **ITEM,
        "packed": {"B": "AP8="},
        "map": {"M": {"B": {"S": "b"}, "deep": {"L": [{"B": "ZGVlcA=="}, {"NULL": True}]}}},
    }
    answer = client(Far(said({"Item": packed}))).get_item(TableName="t", Key={})
    assert answer["Item"] == ITEM
    assert answered_at(answer) == 1790000000


def test_a_condition_that_does_not_hold_returns_what_is_stored() -> None:
    far = Far(refused("ConditionalCheckFailedException", Item={"packed": {"B": "AP8="}}))
    with pytest.raises(ConditionFailed) as lost:
        db(far).call("update_item", TableName="t", Key={})
    assert lost.value.item == {"packed": {"B": b"\x00\xff"}}
    assert answered_at(lost.value.answer) == 1790000000


def test_a_cancelled_transaction_names_its_reasons() -> None:
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": {"pk": {"S": "a"}}}]
    with pytest.raises(Cancelled) as lost:
        db(Far(refused("TransactionCanceledException", CancellationReasons=reasons))).call("transact_write_items")
    assert (lost.value.codes, lost.value.items) == (["None", "ConditionalCheckFailed"], [None, {"pk": {"S": "a"}}])


@pytest.mark.parametrize(
    "first",
    [
        NotSent("refused"),
        AnswerLost("read_timeout"),
        refused("ProvisionedThroughputExceededException"),
        refused("ThrottlingException"),
        refused("InternalServerError"),
        said({"Item": {}}, damaged=True),
        Response(503, {}, b"<html>busy</html>"),
        Response(502, {}, b""),
    ],
    ids=str,
)
def test_what_may_pass_is_tried_again(first: Response | Exception) -> None:
    far = Far(first, said({"Item": {"pk": {"S": "a"}}}))
    assert db(far).get("t", {"pk": {"S": "a"}}) == {"pk": {"S": "a"}}
    assert far.asked[0][3] == far.asked[1][3]


def test_a_store_out_of_reach_is_retriable_and_a_fault_of_ours_is_raised() -> None:
    with pytest.raises(Retriable):
        db(Far(*[NotSent("dns")] * 6)).get("t", {})
    far = Far(refused("ValidationException"))
    with pytest.raises(ClientError, match="ValidationException"):
        db(far).get("t", {})
    with pytest.raises(ClientError, match="AccessDenied"):
        db(Far(refused("AccessDeniedException"))).get("t", {})
    with pytest.raises(HTTPClientError):
        client(Far(AnswerLost("reset"))).get_item()


def test_what_cannot_be_asked_is_not() -> None:
    far = Far()
    with pytest.raises(AttributeError):
        _ = client(far).create_table
    with pytest.raises(NoCredentialsError):
        client(far, None).get_item(TableName="t")
    with pytest.raises(TypeError, match="object"):
        client(far).put_item(Item={"x": object()})
    assert far.asked == []


def test_a_missing_queue_has_the_code_that_botocore_gives_it() -> None:
    fault = refused("QueueDoesNotExist")
    headers = {**fault.headers, "x-amzn-query-error": "AWS.SimpleQueueService.NonExistentQueue;Sender"}
    with pytest.raises(ClientError) as missing:
        client(Far(Response(400, headers, fault.body)), service=SQS).send_message(QueueUrl=QUEUE, MessageBody="b")
    assert missing.value.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"


@pytest.mark.parametrize(
    "first", [NotSent("refused"), AnswerLost("read_timeout"), refused("RequestThrottled"), Response(500, {}, b"")]
)
def test_queues_and_secrets_are_asked_again(first: Response | Exception) -> None:
    far = Far(first, said({"Messages": []}))
    assert client(far, service=SQS).receive_message(QueueUrl=QUEUE)["Messages"] == []
    with pytest.raises((HTTPClientError, ClientError)):
        client(Far(*[first] * 4), service=SECRETS).get_secret_value(SecretId="s")


def test_a_fault_of_ours_is_not_asked_again() -> None:
    far = Far(refused("InvalidParameterValue"))
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        client(far, service=SQS).receive_message(QueueUrl=QUEUE)
    assert len(far.asked) == 1


@pytest.mark.parametrize(
    ("service", "where", "calls"),
    [
        (DYNAMODB, "*/**/*.py", r'\.call\(\s*"([a-z_]+)"'),
        (SQS, "*/**/*.py", r"\b_?sqs\.([a-z_]+)\("),
        (SQS, "shared/adapters/sqs.py", r"\bself\._client\.([a-z_]+)\("),
    ],
)
def test_a_client_has_each_method_that_the_code_calls(service: AwsService, where: str, calls: str) -> None:
    files = [f for f in ROOT.glob(where) if f.relative_to(ROOT).parts[0] in bundling.PACKAGES]
    called = {name for file in files for name in re.findall(calls, file.read_text("utf-8"))}
    assert called
    assert called <= set(service.methods)


@pytest.mark.parametrize("stepping", [False, True])
def test_an_answer_of_many_items_is_read_whole(stepping: bool) -> None:  # noqa: FBT001
    packed = b64encode(bytes(350_000)).decode()
    body = json.dumps({"Responses": {"t": [{"pk": {"S": str(n)}, "packed": {"B": packed}} for n in range(10)]}})
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
    core = Core({"AWS_REGION": "eu-central-1"}, SystemClock())
    with serving(answering((head + body).encode())) as server, closing(core.direct_http) as http:
        found = DirectClient(
            DYNAMODB, server.url, "eu-central-1", keys=lambda: KEYS, http=http, clock=core.clock, sleep=time.sleep
        )
        ask = partial(Dynamo(found).batch_read, {"t": {"Keys": []}})
        if stepping:
            with SteppingWire(HttpClient(core.clock)) as wire:
                items = [wire.submit(ask).result() for _ in range(2)][1]["t"]  # the second on the wire
        else:
            items = ask()["t"]
    assert [x["packed"]["B"] for x in items] == [bytes(350_000)] * 10
