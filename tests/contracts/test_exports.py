"""What is known of exports, and the parts of their files, in memory and on moto."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from shared.adapters.dynamo import keys
from shared.adapters.dynamo.jobs.exports import DynamoExports
from shared.adapters.s3.multipart import S3Multipart
from shared.domain.exports import GIVEN_UP, Export, ExportState
from shared.ports import Exports, FileChanged, Multipart, Retriable
from tests.contracts.conftest import ACCOUNT
from tests.fakes.clock import FakeClock
from tests.fakes.exports import FakeExports, FakeMultipart
from tests.fakes.faults import When
from tests.fakes.files import FakeFiles
from tests.fakes.tables import MotoStores, mock_aws

LARGE = 5 * 1024 * 1024
BUCKET = "posthaste-test"


def export(**changes: Any) -> Export:
    base = Export(
        id="e" * 26,
        account=ACCOUNT,
        run="r" * 26,
        jobs=("j1", "j2"),
        versions=(3, 1),
        begun_at=1_790_000_000_000,
        chunks=5,
        ttl=1_790_700_000,
        until=1_790_000_120_000,
        later=True,
        last=True,
    )
    return base.changed(**changes) if changes else base


@dataclass
class Kept:
    exports: Exports
    tap: Any


@pytest.fixture(params=["memory", "dynamo"])
def kept(request: pytest.FixtureRequest, clock: FakeClock) -> Kept:
    if request.param == "memory":
        fake = FakeExports()
        return Kept(fake, fake._tap)
    stores = MotoStores(request.getfixturevalue("moto_dynamo"), clock)
    return Kept(DynamoExports(stores.dynamo, stores.tables.records), stores.tap)


def test_an_export_is_read_as_it_was_written(kept: Kept) -> None:
    assert kept.exports.get("e" * 26) is None
    first = export()
    assert kept.exports.save(None, first)
    assert kept.exports.get(first.id) == first
    full = first.changed(
        state=ExportState.READY,
        job=1,
        chunk=2,
        done=4,
        rows=1800,
        columns=("first_name", "ort", "=x"),
        upload="u",
        parts=('"a"', '"b"'),
        owner="me",
        finished_at=1_790_000_060_000,
    )
    assert kept.exports.save(first, full)
    assert kept.exports.get(first.id) == full
    given_up = full.changed(state=ExportState.FAILED, starts=13, code=GIVEN_UP)
    assert kept.exports.save(full, given_up)
    assert kept.exports.get(first.id) == given_up


def test_an_export_of_an_earlier_version_has_no_starts_and_no_code(clock: FakeClock, moto_dynamo: Any) -> None:
    stores = MotoStores(moto_dynamo, clock)
    exports = DynamoExports(stores.dynamo, stores.tables.records)
    assert exports.save(None, export())
    assert not {"starts", "code"} & set(stores.dynamo.get(stores.tables.records, keys.export("e" * 26)) or {})
    found = exports.get("e" * 26)
    assert found is not None
    assert (found.starts, found.code) == (0, "")


def test_of_two_writers_one_wins(kept: Kept) -> None:
    first = export()
    assert kept.exports.save(None, first)
    assert not kept.exports.save(None, export(owner="late"))
    assert kept.exports.save(first, first.changed(owner="a"))
    assert not kept.exports.save(first, first.changed(owner="b"))
    found = kept.exports.get(first.id)
    assert found is not None
    assert (found.owner, found.version) == ("a", 2)


def test_a_write_whose_answer_was_lost_counts(kept: Kept) -> None:
    kept.tap.arm(0, When.REPEATED)
    assert kept.exports.save(None, export())
    kept.tap.arm(0, When.REPEATED)
    assert kept.exports.save(export(), export(owner="me"))


# Files in parts


@dataclass
class Bucket:
    multipart: Multipart
    read: Callable[[str], bytes | None]


@pytest.fixture(scope="module")
def moto_s3() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket=BUCKET)
        yield client


@pytest.fixture(params=["memory", "s3"])
def bucket(request: pytest.FixtureRequest) -> Bucket:
    if request.param == "memory":
        files = FakeFiles()
        return Bucket(FakeMultipart(files), files.items.get)
    client = request.getfixturevalue("moto_s3")

    def read(name: str) -> bytes | None:
        found = client.list_objects_v2(Bucket=BUCKET, Prefix=name).get("Contents")
        body: bytes | None = client.get_object(Bucket=BUCKET, Key=name)["Body"].read() if found else None
        return body

    return Bucket(S3Multipart(lambda: client, BUCKET), read)


def test_a_file_is_there_when_its_parts_are_completed_and_not_before(bucket: Bucket) -> None:
    name = "exports/a/one.csv"
    upload = bucket.multipart.begin(name)
    etags = [bucket.multipart.put(name, upload, 1, b"a" * LARGE), bucket.multipart.put(name, upload, 2, b"end")]
    assert bucket.read(name) is None
    for _ in range(2):
        bucket.multipart.complete(name, upload, etags)
        assert bucket.read(name) == b"a" * LARGE + b"end"


def test_a_part_may_be_put_again(bucket: Bucket) -> None:
    name = "exports/a/two.csv"
    upload = bucket.multipart.begin(name)
    bucket.multipart.put(name, upload, 1, b"old")
    etag = bucket.multipart.put(name, upload, 1, b"new")
    bucket.multipart.complete(name, upload, [etag])
    assert bucket.read(name) == b"new"


def test_a_part_that_another_has_replaced_is_no_part_of_the_file(bucket: Bucket) -> None:
    name = "exports/a/three.csv"
    upload = bucket.multipart.begin(name)
    etag = bucket.multipart.put(name, upload, 1, b"ours")
    bucket.multipart.put(name, upload, 1, b"of one who came late")
    with pytest.raises(FileChanged):
        bucket.multipart.complete(name, upload, [etag])
    assert bucket.read(name) is None


def test_parts_that_have_gone_make_no_file_unless_it_is_there() -> None:
    """moto knows no upload that has gone; S3 says NoSuchUpload, also once it was completed."""
    files = FakeFiles()
    with pytest.raises(FileChanged):
        FakeMultipart(files).complete("exports/a/x.csv", "gone", ['"x"'])
    client = boto3.Session("testing", "testing", region_name="us-east-1").client("s3")
    multipart = S3Multipart(lambda: client, BUCKET)
    with Stubber(client) as stub:
        stub.add_client_error("complete_multipart_upload", "NoSuchUpload", http_status_code=404)
        stub.add_client_error("head_object", "404", http_status_code=404)
        with pytest.raises(FileChanged):
            multipart.complete("exports/a/x.csv", "gone", ['"x"'])
        stub.add_client_error("complete_multipart_upload", "NoSuchUpload", http_status_code=404)
        stub.add_response("head_object", {"ContentLength": 1})
        multipart.complete("exports/a/x.csv", "gone", ['"x"'])
        stub.add_client_error("upload_part", "NoSuchUpload", http_status_code=404)
        with pytest.raises(FileChanged):
            multipart.put("exports/a/x.csv", "gone", 1, b"x")
        stub.add_client_error("upload_part", "SlowDown", http_status_code=503)
        with pytest.raises(Retriable):
            multipart.put("exports/a/x.csv", "there", 1, b"x")
        stub.assert_no_pending_responses()


def test_it_is_a_csv_file(moto_s3: Any) -> None:
    multipart = S3Multipart(lambda: moto_s3, BUCKET)
    upload = multipart.begin("exports/a/five.csv")
    multipart.complete("exports/a/five.csv", upload, [multipart.put("exports/a/five.csv", upload, 1, b"x")])
    assert moto_s3.head_object(Bucket=BUCKET, Key="exports/a/five.csv")["ContentType"] == "text/csv; charset=utf-8"
