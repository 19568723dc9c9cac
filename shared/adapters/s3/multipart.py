"""Files that are put into the bucket in parts."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from shared.adapters.s3.files import faults
from shared.ports import FileChanged

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

CONTENT_TYPE: Final = "text/csv; charset=utf-8"
_LOST: Final = frozenset({"NoSuchUpload", "InvalidPart", "InvalidPartOrder"})


class S3Multipart:
    """`ports.Multipart` in a bucket, whose own rule removes uploads that are never completed.

    Args:
        client: makes a client with `files.CONFIG`.
    """

    def __init__(self, client: "Callable[[], S3Client]", bucket: str) -> None:
        self._make = client
        self._bucket = bucket
        self._client: S3Client | None = None

    def begin(self, name: str) -> str:
        with faults():
            return self._s3().create_multipart_upload(Bucket=self._bucket, Key=name, ContentType=CONTENT_TYPE)[
                "UploadId"
            ]

    def put(self, name: str, upload: str, number: int, data: bytes) -> str:
        with faults():
            try:
                return self._s3().upload_part(
                    Bucket=self._bucket, Key=name, UploadId=upload, PartNumber=number, Body=data
                )["ETag"]
            except ClientError as error:
                if error.response["Error"]["Code"] in _LOST:
                    raise FileChanged(name) from error
                raise

    def complete(self, name: str, upload: str, etags: Sequence[str]) -> None:
        """Make the file of its parts. If the upload is missing and the file exists, an earlier call succeeded."""
        parts = [{"PartNumber": n, "ETag": etag} for n, etag in enumerate(etags, 1)]
        with faults():
            try:
                self._s3().complete_multipart_upload(
                    Bucket=self._bucket,
                    Key=name,
                    UploadId=upload,
                    MultipartUpload={"Parts": parts},  # type: ignore[typeddict-item]
                )
            except ClientError as error:
                if error.response["Error"]["Code"] not in _LOST:
                    raise
                if not self._is_there(name):
                    raise FileChanged(name) from error

    def _is_there(self, name: str) -> bool:
        try:
            self._s3().head_object(Bucket=self._bucket, Key=name)
        except ClientError as error:
            if error.response["Error"]["Code"] in {"404", "NoSuchKey"}:
                return False
            raise
        return True

    def _s3(self) -> "S3Client":
        if self._client is None:
            self._client = self._make()
        return self._client
