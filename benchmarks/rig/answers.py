"""Answers in place of the far side of AWS's clients."""

from collections.abc import Callable
from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders


class Answer(AWSResponse):
    """An answer that is here already."""

    def __init__(self, url: str, body: bytes) -> None:
        headers = HTTPHeaders.from_dict({"content-type": "application/x-amz-json-1.0"})
        super().__init__(url, 200, headers, None)
        self._content = body


def answering(client: Any, answer: Callable[[str, Any], bytes]) -> None:
    """Have a client's calls answered at once, with the network left out.

    Args:
        answer: gets operation and request, and returns the body.
    """

    def before(request: Any, **_: Any) -> AWSResponse:
        operation = request.headers.get("X-Amz-Target", b"S3.PutObject").decode().partition(".")[2]
        return Answer(request.url, answer(operation, request))

    client.meta.events.register("before-send", before)


class NoBlobs:
    """A bucket that keeps nothing."""

    def put(self, name: str, data: bytes) -> None:
        """Store nothing."""

    def get(self, name: str) -> bytes | None:
        """Find nothing."""
        del name
        return None
