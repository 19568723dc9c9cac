"""Large contents in the deployment's bucket."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client


class S3Blobs:
    """Bytes under names. The client is made for the first large content, which most processes never have."""

    def __init__(self, client: "Callable[[], S3Client]", bucket: str) -> None:
        self._make = client
        self._bucket = bucket
        self._client: S3Client | None = None

    def put(self, name: str, data: bytes) -> None:
        """Store bytes; repeating it is safe."""
        self._s3().put_object(Bucket=self._bucket, Key=name, Body=data)

    def get(self, name: str) -> bytes | None:
        """Return bytes, None if there are none (any more)."""
        try:
            return self._s3().get_object(Bucket=self._bucket, Key=name)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] in {"NoSuchKey", "404"}:
                return None
            raise

    def _s3(self) -> "S3Client":
        if self._client is None:
            self._client = self._make()
        return self._client
