"""Files in the deployment's bucket: places for uploads, links to exports, reading by ranges."""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

from botocore.exceptions import ClientError, HTTPClientError, IncompleteReadError
from botocore.exceptions import ConnectionError as BotoConnectionError

from shared.adapters.aws import ClientOptions
from shared.adapters.s3.blobs import S3Blobs
from shared.adapters.sqs import is_transient
from shared.ports import Clock, FileChanged, FileFacts, Retriable

CONFIG: Final[ClientOptions] = {
    "signature_version": "s3v4",  # else botocore presigns for the global endpoint, which sends clients elsewhere
    "s3": {"addressing_style": "virtual"},
    "request_checksum_calculation": "when_required",  # else a presigned PUT asks its client for a checksum
    "response_checksum_validation": "when_required",
    "connect_timeout": 2,
    "read_timeout": 20,
    "retries": {"mode": "standard", "total_max_attempts": 3},
}
BLOCK: Final = 1024 * 1024
"""Bytes read at a time."""
RETRIES: Final = 5
"""Times that a broken stream is opened again without having brought a byte."""
PAUSE: Final = 0.1
"""Seconds before the first of them, doubled each time."""
_GONE: Final = frozenset({"NoSuchKey", "PreconditionFailed", "404", "412"})
_END: Final = frozenset({"InvalidRange", "416"})
_LOG: Final = logging.getLogger(__name__)


class S3Files(S3Blobs):
    """`ports.Files` in a bucket.

    Args:
        client: makes a client with `CONFIG`.
        clock: for the pauses between tries.
    """

    def __init__(self, client: Any, bucket: str, clock: Clock) -> None:
        super().__init__(client, bucket)
        self._clock = clock

    def place(self, name: str, *, content_type: str, seconds: int, size: int = 0) -> tuple[str, Mapping[str, str]]:
        """Return a URL to which a file may be put, and the headers that were signed with it.

        S3 takes one file. It answers a second PUT with 412, and one during the first with 409 (Amazon S3 User Guide,
        "Conditional writes"). A PUT of another size than the known one, or without a signed header, gets 403.
        """
        once = {"IfNoneMatch": "*", **({"ContentLength": size} if size else {})}
        url = self._s3().generate_presigned_url(
            "put_object",
            Params={"Bucket": self._bucket, "Key": name, "ContentType": content_type, **once},
            ExpiresIn=seconds,
            HttpMethod="PUT",
        )
        return url, {"Content-Type": content_type, "If-None-Match": "*"}

    def link(self, name: str, *, filename: str, seconds: int) -> str:
        """Return a URL for downloading a file, with the name for browsers as of RFC 6266."""
        plain = re.sub(r"[^ !#-\[\]-~]", "_", filename)
        disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
        return self._s3().generate_presigned_url(
            "get_object",
            Params={"Bucket": self._bucket, "Key": name, "ResponseContentDisposition": disposition},
            ExpiresIn=seconds,
        )

    def facts(self, name: str) -> FileFacts | None:
        try:
            with faults():
                answer = self._s3().head_object(Bucket=self._bucket, Key=name)
        except ClientError as error:
            if error.response["Error"]["Code"] in _GONE:
                return None
            raise
        return FileFacts(answer["ContentLength"], answer["ETag"].strip('"'))

    def read(self, name: str, *, etag: str, start: int) -> Iterator[bytes]:
        """Walk a file's bytes from an offset on. A stream that breaks is opened again at the same place."""
        at = start
        failed = 0
        while True:
            try:
                for block in self._stream(name, etag, at):
                    at += len(block)
                    failed = 0
                    yield block
            except Retriable:
                failed += 1
                if failed > RETRIES:
                    raise
                _LOG.warning("file opened again", extra={"file": name, "offset": at})
                self._clock.sleep(PAUSE * 2 ** (failed - 1))
            else:
                return

    def _stream(self, name: str, etag: str, at: int) -> Iterator[bytes]:
        try:
            with faults():
                answer = self._s3().get_object(Bucket=self._bucket, Key=name, IfMatch=f'"{etag}"', Range=f"bytes={at}-")
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in _END:
                return
            if code in _GONE:
                raise FileChanged(name) from None
            raise
        body = answer["Body"]
        try:
            while True:
                with faults():
                    block = body.read(BLOCK)
                if not block:
                    return
                yield block
        finally:
            body.close()

    def put(self, name: str, data: bytes) -> None:
        with faults():
            super().put(name, data)

    def get(self, name: str) -> bytes | None:
        with faults():
            return super().get(name)

    def remove(self, name: str) -> None:
        """Remove a file; nothing happens if there is none. The bucket keeps what was removed for a week."""
        with faults():
            self._s3().delete_object(Bucket=self._bucket, Key=name)


@contextmanager
def faults() -> Iterator[None]:
    """Turn faults of the moment into Retriable, within the block."""
    try:
        yield
    except ClientError as error:
        if is_transient(error):
            raise Retriable(str(error)) from error
        raise
    except (BotoConnectionError, HTTPClientError, IncompleteReadError) as error:
        raise Retriable(str(error)) from error
