"""A person's rows are taken out of archived files, all versions of them, and nothing else is."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from shared.adapters.s3 import archive_eraser
from shared.adapters.s3.archive_eraser import Archived
from shared.domain.exports import header, rows
from tests.fakes.tables import mock_aws

BUCKET = "b-archived"
ANN = "Ann@example.org"
NAME = "archive/acc_1/2026/11/21/j1.csv"


def row(recipient: str, *values: str) -> list[str | int]:
    return ["j1", "0.0", recipient, "sent", "sent", "", 1, "ses", "id-1", "2026-11-21T00:00:00.000Z", *values]


def sheet(*lines: list[str | int]) -> bytes:
    return header(["name", "note"]) + rows(lines)


FOUND = sheet(row("ben@example.org", "Ben", "a\r\nb\u2028c"), row(ANN, "Ann", "x"), row("eve@example.org", "E", ANN))
LEFT = sheet(row("ben@example.org", "Ben", "a\r\nb\u2028c"), row("erased", "", ""), row("eve@example.org", "E", ANN))


@pytest.fixture
def s3() -> Iterator[Any]:
    with mock_aws():
        client: Any = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket=BUCKET)
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield client


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part of a copy has a row."""
    monkeypatch.setattr(archive_eraser, "PART", 40)
    monkeypatch.setattr("moto.s3.models.S3_UPLOAD_PART_MIN_SIZE", 1)


def bodies(s3: Any, name: str = NAME) -> list[bytes]:
    found = s3.list_object_versions(Bucket=BUCKET, Prefix=name).get("Versions", [])
    return [s3.get_object(Bucket=BUCKET, Key=x["Key"], VersionId=x["VersionId"])["Body"].read() for x in found]


def erase(s3: Any, **more: Any) -> Archived:
    read: list[int] = []
    made = Archived(s3, BUCKET, {"ann@example.org"}, **more)
    made.erase(read.append)
    assert sum(read) > 0
    return made


def test_their_rows_are_blanked_in_each_file_and_no_version_keeps_them(s3: Any) -> None:
    other = sheet(row("eve@example.org", "E", ""))
    for body in (FOUND, other, FOUND):
        s3.put_object(Bucket=BUCKET, Key=NAME, Body=body)
    s3.put_object(Bucket=BUCKET, Key="archive/acc_2/2026/11/21/j2.csv", Body=other)
    s3.put_object(Bucket=BUCKET, Key="elsewhere.csv", Body=FOUND)
    looked = erase(s3, dry=True)
    assert bodies(s3) == [FOUND, other, FOUND]
    made = erase(s3)
    assert bodies(s3) == [LEFT, other]
    assert (made.rows, made.files, made.accounts, made.kept) == (1, 1, {"acc_1"}, [])
    assert (looked.rows, looked.files) == (1, 1)
    assert s3.head_object(Bucket=BUCKET, Key=NAME)["ContentType"] == "text/csv; charset=utf-8"
    assert bodies(s3, "archive/acc_2") == [other]
    assert bodies(s3, "elsewhere.csv") == [FOUND]
    assert erase(s3).rows == 0


@pytest.mark.slow
def test_a_file_that_was_written_meanwhile_is_not_replaced(s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key=NAME, Body=FOUND)
    head = s3.head_object

    def late(**wanted: Any) -> Any:
        s3.head_object = head
        s3.put_object(Bucket=BUCKET, Key=NAME, Body=FOUND)
        return head(**wanted)

    s3.head_object = late
    made = erase(s3)
    assert len(made.kept) == 1
    assert bodies(s3)[0] == FOUND
    assert erase(s3).kept == []
    assert bodies(s3) == [LEFT]


@pytest.mark.slow
def test_a_crash_between_the_writes_is_completed_by_the_next_run(s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key=NAME, Body=FOUND)
    made = Archived(s3, BUCKET, {"ann@example.org"})
    delete = s3.delete_object

    def dead(**_wanted: Any) -> Any:
        raise KeyboardInterrupt

    s3.delete_object = dead
    with pytest.raises(KeyboardInterrupt):
        made.erase(lambda _size: None)
    s3.delete_object = delete
    assert bodies(s3) == [LEFT, FOUND]
    erase(s3)
    assert bodies(s3) == [LEFT]


def by_calls(s3: Any, rows_a_call: int) -> tuple[int, int, list[str]]:
    """Erase by calls that end after some rows each; return how many there were, and what they report."""
    place, calls, found, kept = "", 0, 0, list[str]()
    while place or not calls:
        asked = iter(range(rows_a_call))
        made = Archived(s3, BUCKET, {"ann@example.org"})
        place = made.erase(lambda _size: None, after=place, enough=lambda asked=asked: next(asked, None) is None)  # type: ignore[misc]
        calls, found, kept = calls + 1, found + made.rows, kept + made.kept
        assert calls < 200
    return calls, found, kept


@pytest.mark.usefixtures("small_parts")
@pytest.mark.slow
@pytest.mark.parametrize("rows_a_call", [0, 1, 2, 5])
def test_calls_that_end_within_a_file_continue_there(s3: Any, rows_a_call: int) -> None:
    other = sheet(row("eve@example.org", "E", ""))
    for name in (NAME, "archive/acc_2/2026/11/21/j2.csv"):
        for body in (other, FOUND, other, FOUND):
            s3.put_object(Bucket=BUCKET, Key=name, Body=body)
    s3.put_object(Bucket=BUCKET, Key="archive/acc_3/2026/11/21/j3.csv", Body=FOUND)
    calls, found, kept = by_calls(s3, rows_a_call)
    assert (found, kept, calls > 3) == (3, [], True)
    for account in (NAME, "archive/acc_2"):
        assert bodies(s3, account) == [LEFT, other, other]
    assert bodies(s3, "archive/acc_3") == [LEFT]
    assert by_calls(s3, rows_a_call)[1] == 0


@pytest.mark.usefixtures("small_parts")
@pytest.mark.slow
def test_a_call_whose_answer_was_lost_is_repeated(s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key=NAME, Body=FOUND)
    places = [""]
    while len(places) < 2 or places[-1]:
        for again in (False, True):
            asked = iter((False, True))
            made = Archived(s3, BUCKET, {"ann@example.org"})
            place = made.erase(lambda _size: None, after=places[-1], enough=lambda asked=asked: next(asked, True))  # type: ignore[misc]
            if again:
                places.append(place)
    assert bodies(s3) == [LEFT]


@pytest.mark.usefixtures("small_parts")
@pytest.mark.slow
def test_a_file_that_is_written_between_calls_is_not_replaced(s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key=NAME, Body=FOUND)
    place = ""
    while 'upload": ""' in place or not place:
        asked = iter((False, False, True))
        place = Archived(s3, BUCKET, {"ann@example.org"}).erase(
            lambda _size: None,
            after=place,
            enough=lambda asked=asked: next(asked, True),  # type: ignore[misc]
        )
    s3.put_object(Bucket=BUCKET, Key=NAME, Body=FOUND)
    made = Archived(s3, BUCKET, {"ann@example.org"})
    assert (made.erase(lambda _size: None, after=place), len(made.kept)) == ("", 1)
    assert bodies(s3)[0] == FOUND
    erase(s3)
    assert bodies(s3) == [LEFT]
