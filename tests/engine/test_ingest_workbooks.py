"""Uploaded workbooks: read as the CSV of the same rows, whatever happens on the way; useless ones say why."""

import csv
import io
import zipfile
from typing import Any

import pytest
from openpyxl import Workbook

from shared.domain.campaigns.campaign import UploadState
from shared.domain.jobs import chunks
from shared.domain.workbooks import bounds
from shared.engine.lists import converting
from shared.engine.work import WorkResult
from tests.engine.reading import DATA, Frozen, cut_short, result, small
from tests.fakes.faults import When
from tests.fakes.intake import Intake


def xlsx(data: bytes = DATA, sheets: tuple[str, ...] = ("People",)) -> bytes:
    """Return a workbook with the rows of a CSV file in each of its sheets."""
    book = Workbook(write_only=True)
    for name in sheets:
        sheet = book.create_sheet(name)
        for row in csv.reader(io.StringIO(data.decode())):
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


BOOK = xlsx()


def wanted(**options: Any) -> Any:
    """Return what is stored of the same rows as CSV."""
    intake = small()
    upload = intake.take(DATA, **options)
    assert intake.serve() == [WorkResult.READY]
    return result(intake, upload)


def test_a_workbook_becomes_the_list_that_it_shows() -> None:
    intake = small()
    upload = intake.take(BOOK)
    assert intake.serve() == [WorkResult.READY]
    assert result(intake, upload) == wanted()
    end = intake.now(upload)
    assert (end.state, end.size, end.progress) == (UploadState.READY, len(BOOK), 1.0)
    assert intake.files.items[end.csv].replace(b"\r\n", b"\n") == DATA
    assert intake.files.items[upload.blob] == BOOK
    problems, _ = intake.uploads.problems(end, after=0, limit=1)
    assert (problems[0].row, problems[0].sheet_row) == (4, 5)


def calls() -> int:
    intake = small()
    upload = intake.take(BOOK)
    before = len(intake.tap.calls)
    intake.work(upload)
    return len(intake.tap.calls) - before


@pytest.mark.slow
@pytest.mark.parametrize("when", list(When))
def test_killed_at_any_call_it_makes_the_same(when: When) -> None:
    expected = wanted()
    for nth in range(calls()):
        intake = small()
        upload = intake.take(BOOK)
        cut_short(intake, upload, nth, when)
        assert result(intake, upload) == expected, nth


def test_it_is_made_into_csv_once_however_often_reading_is_interrupted() -> None:
    expected = wanted()
    intake = small()
    upload = intake.take(BOOK)
    while intake.now(upload).state is not UploadState.READY:
        intake.work(upload, seconds=0.001)
        intake.clock.advance(1000)
    assert result(intake, upload) == expected
    assert intake.tap.calls.count("multipart.begin") == 1


def test_one_that_stood_still_while_another_read_the_list_changes_nothing() -> None:
    expected = wanted()
    for name in ("multipart.begin", "multipart.put", "multipart.complete"):
        intake = small()
        upload = intake.take(BOOK)
        did: list[WorkResult] = []
        Frozen(intake, name, 1, lambda intake=intake, upload=upload, did=did: did.append(intake.work(upload)))
        assert intake.work(upload) is WorkResult.LOST
        assert did == [WorkResult.READY]
        assert result(intake, upload) == expected


def test_the_named_sheet_is_read() -> None:
    book = Workbook()
    book.active.title = "One"
    for name in ("Two", "Three"):
        sheet = book.create_sheet(name)
        sheet.append(["recipient"])
        sheet.append([f"{name.lower()}@example.org"])
    out = io.BytesIO()
    book.save(out)
    intake = Intake()
    upload = intake.take(out.getvalue(), sheet="Three")
    assert intake.serve() == [WorkResult.READY]
    assert b"three@example.org" in intake.files.items[intake.now(upload).csv]
    lost = intake.take(out.getvalue(), sheet="Four")
    assert intake.serve() == [WorkResult.FAILED]
    end = intake.now(lost)
    assert (end.code, end.detail) == ("no_such_sheet", "The workbook has no sheet 'Four'; it has One, Two, Three.")


def bomb() -> bytes:
    """Return a small workbook that unpacks to much more than it may."""
    out = io.BytesIO(BOOK)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/theme/large.xml", b" " * (bounds.MAX_PART + 1))
    return out.getvalue()


def protected() -> bytes:
    data = bytearray(BOOK)
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        data[at + 8] |= 1
        at = data.find(b"PK\x01\x02", at + 1)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "code", "detail"),
    [
        (bomb(), "workbook_too_large", "unpacks to more"),
        (protected(), "workbook_unreadable", "password"),
        (
            BOOK[:4] + BOOK[4:].replace(b"PK\x03\x04", b"PK\x03\x05"),
            "workbook_unreadable",
            "",
        ),
        (xlsx(b"name\nann\n"), "missing_recipient", ""),
        (xlsx(b""), "no_header", ""),
    ],
    ids=["bomb", "protected", "damaged", "no recipients", "empty"],
)
def test_a_useless_workbook_says_why(data: bytes, code: str, detail: str) -> None:
    intake = Intake()
    intake.files.block = 1 << 16
    upload = intake.take(data)
    assert intake.serve() == [WorkResult.FAILED]
    end = intake.now(upload)
    assert (end.state, end.code) == (UploadState.FAILED, code)
    assert detail in end.detail


def test_a_title_and_empty_rows_above_the_header_of_a_workbook_are_passed_over() -> None:
    intake = small()
    upload = intake.take(xlsx(b"Report of May,,\n\n,,\nName,E-Mail,City\nann,ann@example.com,Rome\nben,nobody,Oslo\n"))
    assert intake.serve() == [WorkResult.READY]
    end = intake.now(upload)
    assert end.heading == (4, "E-Mail")
    assert end.columns == ("name", "e_mail", "city")
    assert [x.sheet_row for x in intake.uploads.problems(end, after=0, limit=9)[0]] == [6]
    again = intake.take(xlsx(b"E-Mail,x\nMail,y\nann@example.com,z\n"), header_row=2, column="mail")
    assert intake.serve() == [WorkResult.READY]
    assert intake.now(again).heading == (2, "Mail")


def test_a_file_that_is_too_large_or_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    intake = small()
    slow = intake.take(BOOK)
    assert intake.work(slow, seconds=-1) is WorkResult.FAILED
    assert (intake.now(slow).code, "too long" in intake.now(slow).detail) == ("workbook_too_large", True)
    intake = small()
    monkeypatch.setattr(converting, "MAX_PACKED", len(BOOK) - 1)
    large = intake.take(BOOK)
    assert intake.serve() == [WorkResult.FAILED]
    assert intake.now(large).code == "workbook_too_large"
    assert "multipart.begin" not in intake.tap.calls


def test_a_large_list_goes_to_the_bucket_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = wanted()
    monkeypatch.setattr(converting, "PART", 100)
    monkeypatch.setattr("shared.domain.workbooks.table.BATCH", 3)
    intake = small()
    upload = intake.take(BOOK)
    assert intake.serve() == [WorkResult.READY]
    assert intake.tap.calls.count("multipart.put") > 5
    assert result(intake, upload) == expected


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_an_export_of_contacts_is_sent_with_all_its_columns(kind: str) -> None:
    names = ["Title", "First Name", "E-mail Address", *(f"Business Street {i}" for i in range(2, 90)), "Web Page"]
    data = f"{','.join(names)}\r\n,Ann,ann@example.org{',' * 89}\r\n".encode()
    intake = Intake()
    upload = intake.take(data if kind == "csv" else xlsx(data))
    assert intake.serve() == [WorkResult.READY]
    ((person,),) = (chunks.unpack(x.data) for x in intake.chunks(upload))
    assert (person.address, person.values["first_name"]) == ("ann@example.org", "Ann")
