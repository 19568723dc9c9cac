"""DynamoDB's JSON protocol by our own transport and signer, for functions that make many calls a second.

A call takes a fraction of the processor time that botocore takes. Answers and errors have botocore's form. `Dynamo`
makes the next try, and a write that is made twice is recognised.
Source: docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html; docs/adr/0223.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any, Final

from botocore.exceptions import ClientError, HTTPClientError, NoCredentialsError

from shared.ports import AnswerLost, Clock, Http, NotSent, Response
from shared.sigv4 import AwsKeys, Signer

TIMEOUT: Final = 5.0
"""Seconds from the start of a try to its whole answer."""
CONNECT_TIMEOUT: Final = 2.0
IDLE: Final = 20.0
"""Seconds for which a connection without a request is kept: a try on one that AWS has closed is made again."""
_TYPE: Final = "application/x-amz-json-1.0"
_TARGETS: Final = {
    method: "DynamoDB_20120810." + method.title().replace("_", "")
    for method in (
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
    )
}


class DirectDynamo:
    """A low-level client of DynamoDB with the methods above; safe for threads. It makes each call once.

    Args:
        endpoint: of the region, without a path.
        region: as `eu-central-1`.
        keys: those of the function, always current.
        http: keeps connections for `IDLE` seconds.
    """

    def __init__(
        self, endpoint: str, region: str, *, keys: Callable[[], AwsKeys | None], http: Http, clock: Clock
    ) -> None:
        self._url = endpoint.rstrip("/") + "/"
        self._keys = keys
        self._http = http
        self._clock = clock
        self._signers = {
            method: Signer(self._url, region=region, service="dynamodb", content_type=_TYPE, target=target)
            for method, target in _TARGETS.items()
        }

    def __getattr__(self, method: str) -> Callable[..., dict[str, Any]]:
        if method not in _TARGETS:
            raise AttributeError(method)
        return partial(self._call, method)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Make a call.

        Raises:
            ClientError: DynamoDB answered with an error.
            HTTPClientError: no whole answer came; a write may have been made.
            NoCredentialsError: the function has no role.
        """
        body = json.dumps(parameters, default=_plain, separators=(",", ":")).encode()
        keys, now = self._keys(), self._clock.now()
        if keys is None:
            raise NoCredentialsError
        headers = self._signers[method].headers(keys, sha256(body).hexdigest(), now)
        try:
            answer = self._http.request("POST", self._url, headers=headers, body=body, deadline=now + TIMEOUT)
        except (NotSent, AnswerLost) as error:
            raise HTTPClientError(error=error) from None
        return _read(method, answer)


def _read(method: str, answer: Response) -> dict[str, Any]:
    """Return what an answer says, with its headers as botocore has them."""
    headers = {name.lower(): value for name, value in answer.headers.items()}
    checked = headers.get("x-amz-crc32")
    if checked is not None and int(checked) != zlib.crc32(answer.body):
        raise HTTPClientError(error="the answer is damaged")
    try:
        said: dict[str, Any] = json.loads(answer.body or b"{}", object_hook=_bytes)
    except ValueError:
        said = {}
    said["ResponseMetadata"] = {"HTTPStatusCode": answer.status, "HTTPHeaders": headers}
    if answer.status == 200:  # noqa: PLR2004 - OK
        return said
    code = str(said.pop("__type", "")).rpartition("#")[2]
    if not code:  # no DynamoDB, such as a proxy or a load balancer before it
        code = "ServiceUnavailable" if answer.status >= 500 else str(answer.status)  # noqa: PLR2004 - a server's fault
    said["Error"] = {"Code": code, "Message": said.pop("message", said.pop("Message", ""))}
    raise ClientError(said, method)  # type: ignore[arg-type]


def _plain(value: object) -> object:
    """Return what JSON has no form for as DynamoDB takes it."""
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no attribute value")


def _bytes(value: dict[str, Any]) -> dict[str, Any]:
    """Return an attribute value of bytes decoded, and any other part of an answer as it is."""
    packed = value.get("B")
    return {"B": b64decode(packed)} if isinstance(packed, str) and len(value) == 1 else value
