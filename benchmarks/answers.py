"""What stands in for the far side of AWS's clients."""

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders


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
