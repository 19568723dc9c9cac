"""Files of mails in S3: copied on a condition, and removed."""

import os
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from shared.adapters.s3.files import CONFIG
from shared.adapters.s3.mails import S3MailFiles
from shared.ports import FileChanged
from tests.fakes.clock import FakeClock
from tests.fakes.tables import mock_aws

DATA = b"From: a@b.example\r\n\r\n"


@pytest.fixture
def files() -> Iterator[S3MailFiles]:
    os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "testing"
    with mock_aws():
        client: Any = boto3.client("s3", region_name="eu-west-1", config=Config(**CONFIG))
        client.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        yield S3MailFiles(lambda: client, "bucket", FakeClock())


def test_a_copy_is_what_was_asked_for(files: S3MailFiles) -> None:
    files.put("mail-uploads/a b", DATA)
    facts = files.facts("mail-uploads/a b")
    assert facts is not None
    copied = files.copy("mail-uploads/a b", etag=facts.etag, to="contents/mails/x")
    assert copied.size == len(DATA)
    assert b"".join(files.read("contents/mails/x", etag=copied.etag, start=0)) == DATA


class Changed:
    """An S3 client that refuses to copy; `asked`: what for. moto takes no notice of the condition."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.asked: dict[str, Any] = {}

    def copy_object(self, **asked: Any) -> Any:
        self.asked = asked
        raise ClientError({"Error": {"Code": self.code, "Message": ""}}, "CopyObject")


@pytest.mark.parametrize("code", ["PreconditionFailed", "NoSuchKey"])
def test_a_file_that_has_changed_is_not_copied(code: str) -> None:
    client = Changed(code)
    files = S3MailFiles(lambda: client, "bucket", FakeClock())
    with pytest.raises(FileChanged):
        files.copy("mail-uploads/a", etag="abc", to="contents/mails/x")
    assert client.asked["CopySourceIfMatch"] == '"abc"'


def test_a_file_that_is_missing_is_not_copied(files: S3MailFiles) -> None:
    with pytest.raises(FileChanged):
        files.copy("mail-uploads/none", etag="abc", to="contents/mails/x")
    assert files.get("contents/mails/x") is None


def test_what_is_removed_is_gone(files: S3MailFiles) -> None:
    files.put("contents/mails/x", DATA)
    files.remove("contents/mails/x")
    files.remove("contents/mails/x")
    assert files.facts("contents/mails/x") is None
