"""Rows of which a cell says that its value is missing are reported and not sent, whatever the kind of file."""

import csv
import io
from typing import Final

import pytest

from shared.domain.jobs import chunks
from shared.domain.lists.csv_rows import RowReader
from shared.domain.workbooks.broken import ERRORS, NOT_STORED, UNKNOWN
from shared.engine.work import WorkResult
from tests.domain.test_workbooks import book, ods, ods_sheet
from tests.fakes.intake import Intake

CALC: Final = 'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'


def xlsx_cell(inner: str, attributes: str = "") -> bytes:
    """Return a workbook in which a cell, given by its XML, is a person's name; another person has one."""
    text = '<c t="inlineStr"><is><t>{}</t></is></c>'
    rows = [("recipient", text.format("name")), ("ann@example.org", f"<c {attributes}>{inner}</c>")]
    rows.append(("bob@example.org", text.format("Bob")))
    return book("".join(f"<row>{text.format(first)}{second}</row>" for first, second in rows)).getvalue()


def ods_cell(shown: str, attributes: str = "") -> bytes:
    """Return the same as an open document."""
    cell = "<table:table-cell {}><text:p>{}</text:p></table:table-cell>"
    rows = [("recipient", cell.format("", "name")), ("ann@example.org", cell.format(f"{CALC} {attributes}", shown))]
    rows.append(("bob@example.org", cell.format("", "Bob")))
    inner = "".join(f"<table:table-row>{cell.format('', first)}{second}</table:table-row>" for first, second in rows)
    return ods(ods_sheet(inner.replace("<text:p></text:p>", ""))).getvalue()


def csv_cell(text: str) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows([["recipient", "name"], ["ann@example.org", text], ["bob@example.org", "Bob"]])
    return out.getvalue().encode()


FORMULA: Final = 'table:formula="of:=VLOOKUP(1;2;3)"'
STRING: Final = 'office:value-type="string" office:string-value=""'
UNCALCULATED: Final = (
    "The formula in the column `name` has no stored value. Open the workbook in a spreadsheet program and save it."
)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (xlsx_cell("<v>#N/A</v>", 't="e"'), "The column `name` has the error #N/A."),
        (xlsx_cell("<f>1/0</f><v>#DIV/0!</v>", 't="e"'), "The column `name` has the error #DIV/0!."),
        (xlsx_cell("<v>#NEW!</v>", 't="e"'), f"The column `name` has the error {UNKNOWN}."),
        (xlsx_cell("", 't="e"'), f"The column `name` has the error {UNKNOWN}."),
        (xlsx_cell("<is><t>#REF!</t></is>", 't="inlineStr"'), "The column `name` has the error #REF!."),
        (xlsx_cell("<f>A1</f><v></v>"), UNCALCULATED),
        (xlsx_cell("<f>A1</f>"), UNCALCULATED),
        (ods_cell("#N/A", f'{FORMULA} {STRING} calcext:value-type="error"'), "The column `name` has the error #N/A."),
        (
            ods_cell("Err:508", f'{FORMULA} {STRING} calcext:value-type="error"'),
            "The column `name` has the error Err:508.",
        ),
        (ods_cell("#X", f'{FORMULA} calcext:value-type="error"'), f"The column `name` has the error {UNKNOWN}."),
        (
            ods_cell("#REF!", f'{FORMULA} office:value-type="float" office:value="0"'),
            "The column `name` has the error #REF!.",
        ),
        (ods_cell("", FORMULA), UNCALCULATED),
        (csv_cell("#N/A"), "The column `name` has the error #N/A."),
        (csv_cell("#BEZUG!"), "The column `name` has the error #BEZUG!."),
        (csv_cell("########"), "The column `name` has ####: it was too narrow for its value when the file was saved."),
    ],
)
def test_a_cell_without_its_value_makes_its_row_invalid(data: bytes, why: str) -> None:
    intake = Intake()
    upload = intake.take(data)
    assert intake.serve() == [WorkResult.READY]
    end = intake.now(upload)
    assert end.checkpoint is not None
    assert (end.checkpoint.counts.accepted, end.checkpoint.counts.invalid) == (1, 1)
    (problem,), _ = intake.uploads.problems(end, after=0, limit=10)
    assert (problem.sheet_row, problem.code, problem.detail, problem.value) == (2, "error_cell", why, "")
    ((person,),) = (chunks.unpack(x.data) for x in intake.chunks(upload))
    assert person.address == "bob@example.org"


@pytest.mark.parametrize(
    "data",
    [
        xlsx_cell("<f>IF(1,&quot;&quot;)</f><v></v>", 't="str"'),
        xlsx_cell(""),
        ods_cell("", f'{FORMULA} office:value-type="string" office:string-value=""'),
        ods_cell(""),
        csv_cell(""),
        *map(csv_cell, ("#1", "##", "N/A", "#N/A of 3", "Error", "#SALE!")),
    ],
)
def test_an_empty_value_and_texts_that_only_look_alike_are_sent(data: bytes) -> None:
    intake = Intake()
    upload = intake.take(data)
    assert intake.serve() == [WorkResult.READY]
    ((ann, _),) = (chunks.unpack(x.data) for x in intake.chunks(upload))
    assert not ERRORS & set(ann.values.values())


def test_an_error_in_the_column_of_recipients_is_named() -> None:
    reader = RowReader()
    rows = reader.feed(b"recipient,name\n#REF!,Ann\n")
    assert [(row.code, row.detail) for row in rows] == [("error_cell", "The column `recipient` has the error #REF!.")]


def test_an_error_in_a_column_that_no_message_can_use_changes_nothing() -> None:
    reader = RowReader()
    rows = reader.feed("recipient,имя,\nann@example.org,#N/A,#N/A\n".encode())
    assert [(row.code, row.cells) for row in rows] == [("", ["ann@example.org", "#N/A", "#N/A"])]


@pytest.mark.parametrize("many", [1, 100])
def test_errors_are_found_among_many_rows_as_in_few(many: int) -> None:
    reader = RowReader()
    rows = reader.feed(b"recipient,name\n" + (b"a@x.org,A\n" * 20 + b"b@x.org,#NAME?\n") * many)
    assert [row.number for row in rows if row.code] == [21 * i for i in range(1, many + 1)]


def test_what_a_workbook_is_given_is_known_when_its_csv_is_read() -> None:
    assert {UNKNOWN, NOT_STORED} <= ERRORS
