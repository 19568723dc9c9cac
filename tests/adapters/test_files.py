"""Files in S3: what is presigned, and a stream that breaks."""

import io
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
import requests
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.response import StreamingBody

from shared.adapters.s3 import files as module
from shared.adapters.s3.files import CONFIG, S3Files
from shared.ports import FileChanged, Retriable
from tests.fakes.clock import FakeClock
from tests.fakes.tables import mock_aws

DATA = bytes(range(256)) * 40


@pytest.fixture
def bucket() -> Iterator[Any]:
    os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "testing"
    with mock_aws():
        client = boto3.client("s3", region_name="eu-west-1", config=Config(**CONFIG))
        client.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        yield client


def test_a_place_takes_one_put_with_its_headers(bucket: Any) -> None:
    files = S3Files(lambda: bucket, "bucket", FakeClock())
    url, headers = files.place("uploads/a/b/c", content_type="text/csv", seconds=900)
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    assert parts.netloc == "bucket.s3.eu-west-1.amazonaws.com", "the region's own endpoint: no client follows a PUT"
    assert parts.path == "/uploads/a/b/c"
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert query["X-Amz-Expires"] == ["900"]
    signed = "content-type;host;if-none-match"
    assert query["X-Amz-SignedHeaders"] == [signed], "nothing that a client would have to compute"
    tries = [requests.put(url, data=x, headers=dict(headers), timeout=5).status_code for x in (DATA, b"another")]
    assert tries == [200, 412]
    assert files.get("uploads/a/b/c") == DATA


def test_a_place_for_a_file_of_a_known_size_takes_one_of_it(bucket: Any) -> None:
    files = S3Files(lambda: bucket, "bucket", FakeClock())
    url, headers = files.place("uploads/x", content_type="text/csv", seconds=900, size=len(DATA))
    signed = parse_qs(urlsplit(url).query)["X-Amz-SignedHeaders"]
    assert signed == ["content-length;content-type;host;if-none-match"]
    assert headers == {"Content-Type": "text/csv", "If-None-Match": "*"}, "every client sends the length by itself"
    assert [requests.put(url, data=DATA, headers=dict(headers), timeout=5).status_code for _ in range(2)] == [200, 412]


def test_a_link_gives_a_file_its_name(bucket: Any) -> None:
    files = S3Files(lambda: bucket, "bucket", FakeClock())
    files.put("exports/x", DATA)
    url = files.link("exports/x", filename='Größe "1"\r\n.csv', seconds=60)
    answer = requests.get(url, timeout=5)
    assert answer.content == DATA
    asked = parse_qs(urlsplit(url).query)["response-content-disposition"]
    assert asked == ["attachment; filename=\"Gr__e _1___.csv\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22%0D%0A.csv"]


class Broken(io.RawIOBase):
    """A body that ends after some bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def read(self, amt: int | None = -1) -> bytes:
        return self._data.read(amt)


class Flaky:
    """An S3 client whose streams give `good` bytes each and then break; the errors come first, one a call."""

    def __init__(self, good: int, errors: list[Exception] | None = None) -> None:
        self.good = good
        self.errors = errors or []
        self.ranges: list[str] = []

    def get_object(self, *, Range: str, IfMatch: str, **_: Any) -> Any:  # noqa: N803 - botocore's names
        assert IfMatch == '"tag"'
        self.ranges.append(Range)
        if self.errors:
            raise self.errors.pop(0)
        start = int(Range.removeprefix("bytes=").removesuffix("-"))
        if start == len(DATA):
            raise refused("InvalidRange", 416)
        rest = DATA[start:]
        return {"Body": StreamingBody(Broken(rest[: self.good]), len(rest))}  # type: ignore[arg-type] # all it reads


def refused(code: str, status: int) -> ClientError:
    return ClientError(
        {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "GetObject",
    )


def test_a_stream_that_breaks_is_opened_again_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 1000)
    client = Flaky(3500)
    blocks = list(S3Files(lambda: client, "bucket", FakeClock()).read("f", etag="tag", start=5))
    assert b"".join(blocks) == DATA[5:]
    assert client.ranges == ["bytes=5-", "bytes=3505-", "bytes=7005-"]


def test_a_file_that_gives_nothing_is_given_up_after_some_tries() -> None:
    clock = FakeClock()
    began = clock.now()
    client = Flaky(0)
    with pytest.raises(Retriable):
        list(S3Files(lambda: client, "bucket", clock).read("f", etag="tag", start=0))
    assert len(client.ranges) == module.RETRIES + 1
    assert 2 < clock.now() - began < 5


def test_faults_of_the_moment_are_retriable_and_others_are_not() -> None:
    clock = FakeClock()
    passing: list[Exception] = [EndpointConnectionError(endpoint_url="x"), refused("SlowDown", 503)]
    client = Flaky(len(DATA), passing)
    assert b"".join(S3Files(lambda: client, "bucket", clock).read("f", etag="tag", start=0)) == DATA
    for error, expected in (
        (refused("AccessDenied", 403), ClientError),
        (refused("PreconditionFailed", 412), FileChanged),
        (refused("NoSuchKey", 404), FileChanged),
    ):
        with pytest.raises(expected):
            list(S3Files(lambda: Flaky(1, [error]), "bucket", clock).read("f", etag="tag", start=0))  # noqa: B023
