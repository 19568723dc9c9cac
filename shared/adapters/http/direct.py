"""AWS's JSON protocols by our own transport and signer, for functions that make many calls a second.

A call takes a fraction of the processor time that botocore takes. Answers and errors have botocore's form.
Source: docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html and
smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html; docs/adr/0223, docs/adr/0243.
"""

import random
import zlib
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any, Final

import orjson
from botocore.exceptions import ClientError, HTTPClientError, NoCredentialsError

from shared.adapters.aws import Aws
from shared.frozen import dataclass
from shared.ports import AnswerLost, Clock, Http, NotSent, Response
from shared.sigv4 import AwsKeys, Signer

TIMEOUT: Final = 5.0
CONNECT_TIMEOUT: Final = 2.0
IDLE: Final = 20.0
"""Seconds for which a connection without a request is kept: a try on one that AWS has closed is made again."""
MAX_BODY: Final = 32 << 20
"""Bytes of an answer: DynamoDB reads 16 MB at once, whose bytes are a third longer in JSON."""
PAUSE: Final = 0.1
"""Seconds before the second try, at most; doubled each time."""
_BUSY: Final = frozenset({"ThrottlingException", "RequestThrottled", "Throttling", "OverLimit"})
_SERVER_FAULT: Final = 500


@dataclass(frozen=True, slots=True)
class AwsService:
    """A service of AWS.

    Attributes:
        target: what the names of its operations begin with.
        version: of the JSON protocol.
        tries: of one call; DynamoDB's stores make their own.
        methods: those of botocore's client that may be called.
    """

    name: str
    target: str
    version: str
    tries: int
    methods: tuple[str, ...]


DYNAMODB: Final = AwsService(
    "dynamodb",
    "DynamoDB_20120810",
    "1.0",
    1,
    (
        "get_item",
        "put_item",
        "update_item",
        "delete_item",
        "query",
        "scan",
        "batch_get_item",
        "batch_write_item",
        "transact_get_items",
        "transact_write_items",
        "describe_table",
    ),
)
SQS: Final = AwsService(
    "sqs",
    "AmazonSQS",
    "1.0",
    4,
    (
        "send_message",
        "send_message_batch",
        "receive_message",
        "delete_message",
        "delete_message_batch",
        "change_message_visibility",
        "change_message_visibility_batch",
        "get_queue_attributes",
    ),
)
SECRETS: Final = AwsService("secretsmanager", "secretsmanager", "1.1", 4, ("get_secret_value",))


class DirectClient:
    """A low-level client of a service, with the methods that it names; safe for threads.

    Args:
        endpoint: of the region, without a path.
        region: as `eu-central-1`.
        keys: those of the function, always current.
        http: keeps connections for `IDLE` seconds.
        sleep: waits some seconds.
        timeout: seconds from the start of a try to its whole answer.
    """

    def __init__(
        self,
        service: AwsService,
        endpoint: str,
        region: str,
        *,
        keys: Callable[[], AwsKeys | None],
        http: Http,
        clock: Clock,
        sleep: Callable[[float], None],
        timeout: float = TIMEOUT,
    ) -> None:
        self._service = service
        self._url = endpoint.rstrip("/") + "/"
        self._keys = keys
        self._http = http
        self._clock = clock
        self._sleep = sleep
        self._timeout = timeout
        content_type = f"application/x-amz-json-{service.version}"
        for method in service.methods:
            target = f"{service.target}.{method.title().replace('_', '')}"
            signer = Signer(self._url, region=region, service=service.name, content_type=content_type, target=target)
            setattr(self, method, partial(self._call, method, signer))

    def __getattr__(self, method: str) -> Any:
        raise AttributeError(method)  # and so its methods, which are made above, have types

    def _call(self, method: str, signer: Signer, **parameters: Any) -> dict[str, Any]:
        """Make a call, and make it again if its service has several tries.

        Raises:
            ClientError: AWS answered with an error.
            HTTPClientError: no whole answer came; the call may have been made.
            NoCredentialsError: the function has no role.
        """
        body = orjson.dumps(parameters, default=_plain)
        for n in range(self._service.tries):
            try:
                return self._try(method, signer, body)
            except (ClientError, HTTPClientError) as error:
                if n == self._service.tries - 1 or not _may_pass(error):
                    raise
            self._sleep(random.random() * PAUSE * 2**n)  # noqa: S311 - jitter
        raise AssertionError("a service without a try")

    def _try(self, method: str, signer: Signer, body: bytes) -> dict[str, Any]:
        keys, now = self._keys(), self._clock.now()
        if keys is None:
            raise NoCredentialsError
        headers = signer.headers(keys, sha256(body).hexdigest(), now)
        try:
            answer = self._http.request("POST", self._url, headers=headers, body=body, deadline=now + self._timeout)
        except (NotSent, AnswerLost) as error:
            raise HTTPClientError(error=error) from None
        return _read(method, answer)


def client(
    service: AwsService,
    aws: Aws,
    http: Http,
    clock: Clock,
    sleep: Callable[[float], None],
    timeout: float = TIMEOUT,
) -> DirectClient:
    """Return a client with the endpoint, region and keys that clients of botocore have; see `DirectClient`."""
    url, region = aws.endpoint(service.name)
    return DirectClient(service, url, region, keys=aws.keys, http=http, clock=clock, sleep=sleep, timeout=timeout)


def _may_pass(error: ClientError | HTTPClientError) -> bool:
    """Tell whether another try may have another end."""
    if isinstance(error, HTTPClientError):
        return True
    said = error.response
    busy = said["Error"]["Code"].rpartition(".")[2] in _BUSY
    return busy or said["ResponseMetadata"]["HTTPStatusCode"] >= _SERVER_FAULT


def _read(method: str, answer: Response) -> dict[str, Any]:
    """Return an answer, with its headers as botocore has them."""
    headers, body = answer.headers, answer.body
    checked = headers.get("x-amz-crc32")
    if checked is not None and int(checked) != zlib.crc32(body):
        raise HTTPClientError(error="the answer is damaged")
    try:
        said: dict[str, Any] = orjson.loads(body or b"{}")
    except ValueError:
        said = {}
    if b'"B":' in body:
        _decode(said)
    said["ResponseMetadata"] = {"HTTPStatusCode": answer.status, "HTTPHeaders": headers}
    if answer.status == 200:  # noqa: PLR2004 - OK
        return said
    code = str(said.pop("__type", "")).rpartition("#")[2]
    if not code:  # not AWS, such as a proxy or a load balancer before it
        code = "ServiceUnavailable" if answer.status >= _SERVER_FAULT else str(answer.status)
    elif "x-amzn-query-error" in headers:  # the code of SQS's older protocol, which botocore has
        code = headers["x-amzn-query-error"].partition(";")[0]
    said["Error"] = {"Code": code, "Message": said.pop("message", said.pop("Message", ""))}
    raise ClientError(said, method)  # type: ignore[arg-type]


def _plain(value: object) -> object:
    """Return what JSON has no form for as DynamoDB takes it."""
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no attribute value")


def _decode(part: Any) -> None:
    """Decode the attribute values of bytes in a part of an answer."""
    for value in part.values() if part.__class__ is dict else part:
        if value.__class__ is dict:
            held = value.get("B")
            if held.__class__ is str and len(value) == 1:
                value["B"] = a2b_base64(held)
            elif len(value) != 1 or str not in (value.get("S").__class__, value.get("N").__class__):
                _decode(value)
        elif value.__class__ is list:
            _decode(value)
