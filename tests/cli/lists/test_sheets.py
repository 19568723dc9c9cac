"""Workbooks become CSV: the cells as people read them, the rows with their numbers, and nothing unbounded."""

import contextlib
import csv
import zipfile
from collections.abc import Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from cli.errors import Misused
from cli.lists.sources import as_csv
from shared.domain.workbooks import bounds
from shared.domain.workbooks.broken import NOT_STORED
from tests.cli.fakes import Answer, FakeApi, Run
from tests.cli.scripts import campaign, job, listed, place, preview, sent
from tests.tiers import examples

SPACES = {
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
}


def xlsx(folder: Path, **tables: Sequence[Sequence[Any]]) -> Path:
    book = Workbook(write_only=True)
    for name, rows in tables.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made = folder / "people.xlsx"
    book.save(made)
    return made


def ods_file(folder: Path, content: str) -> Path:
    made = folder / "people.ods"
    names = " ".join(f'xmlns:{name}="{space}"' for name, space in SPACES.items())
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", f"<office:document-content {names}>{content}</office:document-content>")
    return made


def table(rows: Sequence[Sequence[str]], name: str = "People") -> str:
    cells = ["".join(f"<table:table-cell>{_p(cell)}</table:table-cell>" for cell in row) for row in rows]
    inner = "".join(f"<table:table-row>{row}</table:table-row>" for row in cells)
    return f"<table:table table:name={quoteattr(name)}>{inner}</table:table>"


def _p(cell: str) -> str:
    return "".join(f"<text:p>{escape(line)}</text:p>" for line in cell.split("\n")) if cell else ""


def text_of(file: Path, sheet: str = "") -> str:
    with as_csv(file, encoding="", sheet=sheet, ask=None) as path:
        return path.read_bytes().decode()


def rows_of(file: Path, sheet: str = "") -> list[list[str]]:
    return list(csv.reader(text_of(file, sheet).splitlines(keepends=True)))


def test_cells_of_a_workbook_are_read_as_people_see_them(folder: Path) -> None:
    at = datetime(2026, 5, 12, 9, 30)  # noqa: DTZ001 - a workbook knows no zones
    row = ["a@example.org", 491701234567, 4.91701234567e11, 1.5, True, at, date(2026, 5, 12), time(9, 30), None, "x\ny"]
    made = xlsx(folder, Sheet1=[["email", *"abcdefghi"], row])
    assert rows_of(made)[1] == [
        *("a@example.org", "491701234567", "491701234567", "1.5", "TRUE"),
        *("2026-05-12 09:30:00", "2026-05-12", "09:30:00", "", "x\ny"),
    ]


def test_empty_rows_keep_the_numbers_and_empty_columns_are_left_out(folder: Path) -> None:
    rows = [["email", "name", None, None], [], ["a@x.org", None, None, None], ["b@x.org", "B", " ", None]]
    assert text_of(xlsx(folder, S=rows)) == "email,name\r\n\r\na@x.org,\r\nb@x.org,B\r\n"


def test_cells_of_an_open_document_are_read_as_people_see_them(folder: Path) -> None:
    content = (
        '<table:table table:name="A&amp;B"><table:table-row>'
        "<table:table-cell><text:p>email</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-repeated="2"><text:p>n</text:p></table:table-cell>'
        '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
        '<table:table-row table:number-rows-repeated="2"><table:table-cell/></table:table-row>'
        '<table:table-row table:number-rows-repeated="2"><table:table-cell>'
        "<office:annotation><text:p>a note</text:p></office:annotation>"
        "<text:p>a<text:span>nn@</text:span>x.org</text:p></table:table-cell>"
        '<table:table-cell office:value-type="float" office:value="49170.0"><text:p>49,170</text:p></table:table-cell>'
        '<table:table-cell office:value-type="date" office:date-value="2026-05-12T00:00:00"/></table:table-row>'
        '<table:table-row><table:table-cell><text:p>b<text:s text:c="2"/>c<text:tab/>d</text:p><text:p>e</text:p>'
        "</table:table-cell></table:table-row>"
        '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row></table:table>'
    )
    assert text_of(ods_file(folder, content)) == (
        "email,n,n\r\n\r\n\r\n" + "ann@x.org,49170,2026-05-12\r\n" * 2 + '"b  c\td\ne",,\r\n'
    )


CELL = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cn", "Cc"]), max_size=8).map(str.strip)


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=8))
@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_table_comes_out_as_it_went_in(folder: Path, rows: list[list[str]], kind: str) -> None:
    rows = [["a@example.org", *row] for row in [["b", "c"], *rows]]
    made = xlsx(folder, S=rows) if kind == "xlsx" else ods_file(folder, table(rows))
    if kind == "xlsx":  # a text that begins with = is a formula there, and a lone one is none
        rows = [[(NOT_STORED if cell.startswith("=") and len(cell) > 1 else cell) for cell in row] for row in rows]
    if kind == "ods":
        rows = [[" ".join(cell.split(" ")) for cell in row] for row in rows]
    assert rows_of(made) == rows


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_the_first_sheet_is_read_or_the_one_that_is_named(
    folder: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = [["email"], ["a@x.org"]], [["email"], ["b@x.org"]]
    if kind == "xlsx":
        made = xlsx(folder, One=first, Two=second)
    else:
        made = ods_file(folder, table(first, "One") + table(second, "Two"))
    assert rows_of(made) == first
    assert "reading the sheet One; to read another: --sheet NAME (One, Two)" in capsys.readouterr().err
    assert rows_of(made, "Two") == second
    with pytest.raises(Misused, match="has no sheet 'Three'; it has One, Two"):
        rows_of(made, "Three")


@pytest.mark.parametrize(
    ("limit", "amount"), [("MAX_ROWS", 3), ("MAX_WRITTEN", 20), ("MAX_UNPACKED", 300), ("MAX_PARTS", 1)]
)
@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_workbook_over_a_limit_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, limit: str, amount: int
) -> None:
    rows = [["email"], *([f"person{i}@example.org"] for i in range(9))]
    made = xlsx(folder, S=rows) if kind == "xlsx" else ods_file(folder, table(rows))
    assert rows_of(made) == rows
    monkeypatch.setattr(bounds, limit, amount)
    with pytest.raises(Misused, match="save it as CSV UTF-8"):
        rows_of(made)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(folder: Path) -> None:
    made = xlsx(folder, S=[["email"], ["a@x.org"]])
    with zipfile.ZipFile(made, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/theme/large.xml", b" " * (bounds.MAX_PART + 1))
    assert made.stat().st_size < bounds.MAX_PART // 100
    with pytest.raises(Misused, match="unpacks to more"):
        rows_of(made)


def test_repeated_rows_and_cells_of_a_few_bytes_do_not_fill_the_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = '<table:table-cell table:number-columns-repeated="{}"><text:p>x</text:p></table:table-cell>'
    row = '<table:table-row table:number-rows-repeated="{}">{}</table:table-row>'
    row = f'<table:table table:name="S">{row}</table:table>'
    monkeypatch.setattr(bounds, "MAX_WRITTEN", 10_000)
    with pytest.raises(Misused, match="too large"):
        rows_of(ods_file(folder, row.format("999999999", cell.format(64))))
    with pytest.raises(Misused, match="cannot be read"):
        rows_of(ods_file(folder, row.format("1", cell.format(bounds.MAX_CELLS + 1))))
    with pytest.raises(Misused, match="cannot be read"):
        rows_of(ods_file(folder, row.format("-1", cell.format(1))))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused(folder: Path, encoding: str) -> None:
    made = folder / "people.ods"
    text = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("mimetype", "x")
        archive.writestr("content.xml", text.encode(encoding))
    with pytest.raises(Misused, match="document type"):
        rows_of(made)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 100_000), value=st.integers(0, 255))
@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_damaged_workbook_is_read_or_refused(folder: Path, kind: str, at: int, value: int) -> None:
    rows = [["email", "name"], ["a@x.org", "Ann"]]
    made = xlsx(folder, S=rows) if kind == "xlsx" else ods_file(folder, table(rows))
    data = bytearray(made.read_bytes())
    data[at % len(data)] = value
    made.write_bytes(data)
    with contextlib.suppress(Misused), as_csv(made, encoding="", sheet="", ask=None) as path:
        assert path == made or path.read_bytes().decode()


def test_a_sheet_of_a_csv_file_is_a_mistake(folder: Path) -> None:
    (folder / "list.csv").write_text("email\na@x.org\n")
    with pytest.raises(Misused, match="leave out --sheet"):
        rows_of(folder / "list.csv", "One")


def test_a_workbook_is_sent_as_the_list_that_it_shows(run: Run, api: FakeApi, folder: Path) -> None:
    (folder / "sms.txt").write_text("Hi {{ name }}")
    xlsx(folder, People=[["Mobile", "Name"], [491701234567, "Zoë"]])
    ready = listed("ready", rows=1, accepted=1)
    put = Answer(raw=b"", headers={"ETag": '"e1"'})
    api.answers(
        campaign(status=201), place(api), put, listed("queued", status=202), ready, preview(), sent(), job("LOGGED")
    )
    done = run("campaign", "run", "people.xlsx", "--channel", "sms", "--text", "sms.txt", "--yes", "--region", "de")
    assert done.code == 0, done.err
    assert api.asked[0].json["name"] == "people.xlsx"
    assert api.asked[2].body == "Mobile,Name\r\n491701234567,Zoë\r\n".encode()


@pytest.mark.parametrize(
    ("words", "rows", "said"),
    [
        ((), "\r\n\r\n", "2 rows are hidden by a filter or by hand, and left out; to send to such rows:"),
        (("--keep-hidden-rows",), "b@x.org,B\r\nc@x.org,C\r\n", "and sent to all the same"),
    ],
)
def test_rows_that_a_filter_hides_are_named_before_anything_is_sent(
    run: Run, api: FakeApi, folder: Path, words: tuple[str, ...], rows: str, said: str
) -> None:
    (folder / "mail.html").write_text("Hi {{ name }}")
    made = Workbook()
    for row in [["email", "name"], ["a@x.org", "A"], ["b@x.org", "B"], ["c@x.org", "C"], ["d@x.org", "D"]]:
        made.active.append(row)
    for hidden in (3, 4):
        made.active.row_dimensions[hidden].hidden = True
    made.save(folder / "people.xlsx")
    put = Answer(raw=b"", headers={"ETag": '"e1"'})
    ready = listed("ready", rows=2, accepted=2)
    api.answers(
        campaign(status=201), place(api), put, listed("queued", status=202), ready, preview(), sent(), job("LOGGED")
    )
    mail = ("--template", "mail.html", "--subject", "Hi", "--from", "news@example.com")
    done = run("campaign", "run", "people.xlsx", *mail, "--yes", *words)
    assert (done.code, said in done.err) == (0, True), done.err
    assert api.asked[2].body == f"email,name\r\na@x.org,A\r\n{rows}d@x.org,D\r\n".encode()
