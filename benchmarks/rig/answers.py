"""Answers in place of the far side of AWS's clients."""

from typing import Final

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_DEFAULT_REGION": "us-east-1",
}
"""Without which AWS's clients are not made."""


class Answer(AWSResponse):
    """An answer that is here already."""

    def __init__(self, url: str, body: bytes) -> None:
        headers = HTTPHeaders.from_dict({"content-type": "application/x-amz-json-1.0"})
        super().__init__(url, 200, headers, None)
        self._content = body


class NoBlobs:
    """A bucket that keeps nothing."""

    def put(self, name: str, data: bytes) -> None:
        """Store nothing."""

    def get(self, name: str) -> bytes | None:
        """Find nothing."""
        del name
        return None
