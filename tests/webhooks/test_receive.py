import base64
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws

from functions.api.error_page import WEBHOOK_CODES
from functions.webhooks import receive
from functions.webhooks.services import MAX_MESSAGE_BYTES, Services, build, feedback_messages
from shared import contracts
from shared.contracts import Credential, ProviderEvent, Settings, load_feedback
from shared.headers import SAFE
from shared.ports import POSTED_AT, POSTED_TO, MalformedSecret, Reading, Retriable
from shared.providers import registry
from shared.providers._common import REF_ARG
from shared.providers.sendgrid.events import SIGNATURE_HEADER, TIMESTAMP_HEADER
from shared.web.access.edge import Edge
from tests.providers.contract import JOB
from tests.providers.test_sendgrid_events import NOW, OTHER, SECRET, event, signed

SETTINGS = Settings(
    stage="dev",
    credentials=(
        Credential("main", "sendgrid", "email", 10),
        Credential("second", "sendgrid", "email", 10),
        Credential("odd", "nothing", "email", 10),
    ),
    routes={"email": ("main",)},
)


class Queue:
    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.fault: Exception | None = None

    def send(self, bodies: Sequence[str], *, delay: float = 0, group: str = "") -> None:
        if self.fault:
            raise self.fault
        self.bodies += bodies

    def is_empty(self) -> bool:
        return not self.bodies


class Clock:
    def now(self) -> float:
        return NOW

    def sleep(self, seconds: float) -> None:
        raise AssertionError


QUEUE = Queue()


@pytest.fixture
def queue() -> Queue:
    QUEUE.bodies = []
    QUEUE.fault = None
    return QUEUE


def secret_of(credential_id: str) -> Mapping[str, str]:
    return SECRET if credential_id == "main" else {}


USING = Services(SETTINGS, secret_of, QUEUE, Clock(), registry.webhooks)


def post(
    body: bytes,
    headers: Mapping[str, str] | None = None,
    *,
    provider: str = "sendgrid",
    credential: str = "main",
    encode: bool = False,
    using: Services = USING,
) -> tuple[int, dict[str, str], Any]:
    """Call the function as API Gateway does (payload 2.0)."""
    answer = receive.receive(
        {
            "version": "2.0",
            "pathParameters": {"provider": provider, "credential_id": credential},
            "headers": {"content-type": "application/json", **(signed(body) if headers is None else headers)},
            "body": base64.b64encode(body).decode() if encode else body.decode(),
            "isBase64Encoded": encode,
        },
        using,
    )
    return answer["statusCode"], answer["headers"], json.loads(answer["body"])


def body_of(*events: Any) -> bytes:
    return json.dumps(list(events)).encode()


BODY = body_of(event(event="delivered"), event(event="open"), {"event": "delivered", "email": "x@example.com"})


@pytest.mark.parametrize("encode", [False, True])
def test_words_are_queued_and_counted(queue: Queue, *, encode: bool) -> None:
    status, headers, answer = post(BODY, encode=encode)
    assert (status, answer) == (200, {"received": 3, "ours": 1})
    assert headers == {"Content-Type": "application/json", **SAFE}
    (body,) = queue.bodies
    credential, words = load_feedback(body)
    assert credential == "main"
    assert [(w.ref, w.word) for w in words] == [(f"{JOB}-3-17-2", "delivered")]


@pytest.mark.promise(7)
def test_a_repeated_post_queues_the_same_words(queue: Queue) -> None:
    assert post(BODY) == post(BODY)
    assert queue.bodies[0] == queue.bodies[1]


def test_header_names_are_of_any_case(queue: Queue) -> None:
    headers = {name.title(): value for name, value in signed(BODY).items()}
    assert post(BODY, headers)[0] == 200


def test_a_post_without_our_words_queues_nothing(queue: Queue) -> None:
    assert post(b"[]")[2] == {"received": 0, "ours": 0}
    assert queue.bodies == []


def spoiled(name: str) -> dict[str, str]:
    headers = signed(BODY)
    del headers[name]
    return headers


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        spoiled(SIGNATURE_HEADER),
        spoiled(TIMESTAMP_HEADER),
        signed(BODY, key=OTHER),
        signed(BODY + b" "),
        signed(BODY, at=NOW - 100_000),
    ],
)
def test_a_bad_signature_is_401_and_stores_nothing(queue: Queue, headers: dict[str, str]) -> None:
    status, answered, problem = post(BODY, headers)
    assert (status, problem["code"]) == (401, "bad_signature")
    assert answered["Content-Type"] == "application/problem+json"
    assert answered["WWW-Authenticate"]
    assert queue.bodies == []


def test_a_credential_without_a_key_refuses_every_webhook(queue: Queue) -> None:
    assert post(BODY, credential="second")[0] == 401
    assert queue.bodies == []


@pytest.mark.parametrize(
    ("provider", "credential"),
    [("sendgrid", "nobody"), ("mailgun", "main"), ("", ""), ("test", "test"), ("nothing", "odd"), ("../x", "main")],
)
def test_an_unknown_address_answers_as_a_known_one_without_its_signature(
    queue: Queue, provider: str, credential: str
) -> None:
    unsigned = post(BODY, {})
    assert unsigned[0] == 401
    assert post(BODY, {}, provider=provider, credential=credential) == unsigned
    assert queue.bodies == []


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b"nonsense", b"[" * 200_000])
def test_a_signed_body_that_makes_no_sense_is_400(queue: Queue, body: bytes) -> None:
    status, _, problem = post(body)
    assert (status, problem["code"]) == (400, "bad_events")
    assert queue.bodies == []


def test_a_body_that_is_not_base64_is_400(queue: Queue) -> None:
    params = {"provider": "sendgrid", "credential_id": "main"}
    answer = receive.receive({"pathParameters": params, "isBase64Encoded": True, "body": "é"}, USING)
    assert answer["statusCode"] == 400


@pytest.mark.promise(3)
def test_words_that_could_not_be_queued_are_asked_for_again(queue: Queue) -> None:
    queue.fault = Retriable("sqs")
    status, headers, problem = post(BODY)
    assert (status, problem["code"]) == (503, "unavailable")
    assert headers["Retry-After"]
    queue.fault = None
    assert post(BODY)[0] == 200
    assert len(queue.bodies) == 1


def test_a_fault_is_not_taken_for_success(queue: Queue) -> None:
    queue.fault = RuntimeError("no right to the queue")
    with pytest.raises(RuntimeError):
        post(BODY)


def test_a_malformed_secret_is_503(queue: Queue) -> None:
    def malformed(_: str) -> Mapping[str, str]:
        raise MalformedSecret("the secret of main is not a JSON object of texts")

    assert post(BODY, using=replace(USING, secret=malformed))[0] == 503
    assert queue.bodies == []


@pytest.mark.slow
def test_thousands_of_words_are_cut_into_messages(queue: Queue) -> None:
    events = [
        event(event="bounce", type="bounce", reason="é" * 300, **{REF_ARG: f"{JOB}-{n % 7}-{n % 500}-1"})
        for n in range(3000)
    ]
    assert post(body_of(*events))[2] == {"received": 3000, "ours": 3000}
    assert len(queue.bodies) > 1
    assert all(len(body.encode()) <= MAX_MESSAGE_BYTES for body in queue.bodies)
    words = [w for body in queue.bodies for w in load_feedback(body)[1]]
    assert len(words) == 3000
    chunks = [w.ref.split("-")[1] for w in words]
    assert chunks == sorted(chunks)


def test_a_single_word_is_never_cut() -> None:
    (body,) = feedback_messages("main", [ProviderEvent("r", "bounced", 1, detail="x" * 300_000)])
    assert load_feedback(body)[1][0].detail == "x" * 300_000


@pytest.mark.promise(9)
def test_the_log_names_no_address(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="webhooks"):
        post(BODY)
        post(BODY, {})
        post(b"nonsense reader@example.com")
    assert len(caplog.records) == 3
    text = "".join(str(r.__dict__) for r in caplog.records)
    assert "@" not in text.replace("@timestamp", "")


@pytest.mark.promise(10)
@given(st.binary(), st.booleans(), st.booleans())
def test_whatever_is_posted_the_answer_is_clear(body: bytes, sign: bool, encode: bool) -> None:  # noqa: FBT001
    QUEUE.bodies, QUEUE.fault = [], None
    text = body if encode else body.decode("latin-1").encode()
    status, _, _ = post(text, signed(text) if sign else {}, encode=encode)
    assert status in ({200, 400} if sign else {401})
    assert QUEUE.bodies == []


# Where it was posted to, for providers that sign it


class Seeing:
    """A reader that keeps what it was told beside the body."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def verify(self, headers: Mapping[str, str], body: bytes, secret: Mapping[str, str], now: float) -> None:
        self.told.append((headers[POSTED_TO], headers[POSTED_AT]))

    def words(self, headers: Mapping[str, str], body: bytes) -> Reading:
        self.told.append((headers[POSTED_TO], headers[POSTED_AT]))
        return Reading(0, [])


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    ("public_url", "event", "url"),
    [
        ("", {"requestContext": {"domainName": "api.example"}}, "https://api.example/webhooks/sendgrid/main"),
        (
            "",
            {"requestContext": {"domainName": "api.example"}, "rawQueryString": "ref=a-1&b=%20"},
            "https://api.example/webhooks/sendgrid/main?ref=a-1&b=%20",
        ),
        (
            "https://p.example:8443/x",
            {"requestContext": {"domainName": "api.example"}, "rawQueryString": "ref=1"},
            "https://p.example:8443/x/webhooks/sendgrid/main?ref=1",
        ),
        ("", {}, "https:///webhooks/sendgrid/main"),
        ("", {"requestContext": None, "rawQueryString": None}, "https:///webhooks/sendgrid/main"),
    ],
)
def test_readers_get_the_providers_url_from_the_server_only(public_url: str, event: dict[str, Any], url: str) -> None:
    seeing = Seeing()
    using = replace(USING, settings=replace(SETTINGS, public_url=public_url), reader=lambda _: seeing)
    params = {"provider": "sendgrid", "credential_id": "main"}
    forged = {
        "Host": "evil.example",
        "X-Forwarded-Host": "evil.example",
        ":Posted-To": "https://evil.example",
        ":posted-at": "1",
    }
    assert receive.receive({"pathParameters": params, "headers": forged, **event}, using)["statusCode"] == 200
    assert seeing.told == [(url, str(int(NOW)))] * 2


# The function's own address


def by_own_address(path: str, method: str = "POST") -> dict[str, Any]:
    """An event of a function's own address: without a route, and so without parameters of the path."""
    host = "abc123.lambda-url.eu-west-1.on.aws"
    context = {"domainName": host, "http": {"method": method, "path": path}}
    return {"version": "2.0", "rawPath": path, "rawQueryString": "", "requestContext": context}


def test_posts_to_the_function_s_own_address_are_taken(queue: Queue) -> None:
    headers = {"content-type": "application/json", **signed(BODY)}
    came = {**by_own_address("/webhooks/sendgrid/main"), "headers": headers, "body": BODY.decode()}
    assert receive.receive(came, USING)["statusCode"] == 200
    assert len(queue.bodies) == 1


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/webhooks/sendgrid/main", "GET"),
        ("/webhooks/sendgrid/main", "PUT"),
        ("/webhooks/sendgrid/main/", "POST"),
        ("/webhooks/sendgrid", "POST"),
        ("/webhooks/sendgrid/main%0a", "POST"),
        ("/batches", "POST"),
        ("/", "POST"),
        ("", "POST"),
    ],
)
def test_all_else_at_the_function_s_own_address_is_unsigned(queue: Queue, path: str, method: str) -> None:
    headers = {"content-type": "application/json", **signed(BODY)}
    came = {**by_own_address(path, method), "headers": headers, "body": BODY.decode()}
    assert receive.receive(came, USING)["statusCode"] == 401
    assert queue.bodies == []


@pytest.mark.parametrize("public_url", ["", "https://p.example/x"])
def test_a_provider_signs_the_function_s_own_address_if_it_posts_there(public_url: str) -> None:
    seeing = Seeing()
    using = replace(USING, settings=replace(SETTINGS, public_url=public_url), reader=lambda _: seeing)
    assert receive.receive(by_own_address("/webhooks/sendgrid/main"), using)["statusCode"] == 200
    assert {url for url, _ in seeing.told} == {"https://abc123.lambda-url.eu-west-1.on.aws/webhooks/sendgrid/main"}


# The wiring, on moto


@pytest.fixture
def aws() -> Iterator[Callable[[str], Any]]:
    def client(name: Any) -> Any:
        return boto3.client(name, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")

    with mock_aws():
        yield client


def test_the_services_are_built_from_the_environment(
    aws: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = aws("sqs").create_queue(QueueName="feedback")["QueueUrl"]
    aws("secretsmanager").create_secret(
        Name=contracts.webhook_secret_name("dev", "main"), SecretString=json.dumps(SECRET)
    )
    env = {contracts.ENV_SETTINGS: SETTINGS.dumps(), contracts.ENV_FEEDBACK_QUEUE_URL: url}
    built = replace(build(env, aws), clock=Clock())
    monkeypatch.setattr(receive, "services", lambda: built)
    params = {"provider": "sendgrid", "credential_id": "main"}
    answer = receive.handler({"pathParameters": params, "headers": signed(BODY), "body": BODY.decode()}, None)
    assert answer["statusCode"] == 200
    (message,) = aws("sqs").receive_message(QueueUrl=url)["Messages"]
    assert load_feedback(message["Body"])[0] == "main"


def test_the_handler_is_where_the_contract_says() -> None:
    assert contracts.HANDLERS["webhooks"] == f"{receive.__name__}.handler"


def test_a_message_has_words_about_ten_chunks_at_the_most_and_all_about_each() -> None:
    refs = [f"{n:026d}-0-{index}-1" for n in range(25) for index in range(3)]
    bodies = list(
        feedback_messages(
            "main", [ProviderEvent(ref, "delivered", 1) for ref in sorted(refs, key=lambda ref: ref[::-1])]
        )
    )
    found = [{word.ref.rsplit("-", 2)[0] for word in load_feedback(body)[1]} for body in bodies]
    assert [len(chunks) for chunks in found] == [10, 10, 5]
    assert len(set().union(*found)) == 25
    assert sum(len(load_feedback(body)[1]) for body in bodies) == 75


def test_the_document_has_every_answer(queue: Queue) -> None:
    """The OpenAPI document is the API function's; what it says of this one is compared with what this one answers."""
    queue.fault = Retriable("down")
    answers = [post(BODY, {}), post(b"{}"), post(BODY, credential="nothing"), post(BODY)]
    answers.append(post(BODY, using=replace(USING, edge=Edge(dict))))
    found = {(problem["code"], status, problem["detail"]) for status, _, problem in answers}
    assert found == {(code, status, said) for code, (status, said) in WEBHOOK_CODES.items()}
