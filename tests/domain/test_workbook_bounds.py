"""Small workbooks that repeat texts, cells and rows: their memory and time are bounded, and lists say what is wrong."""

import io
import tracemalloc
from contextlib import suppress

import pytest

from shared.domain.lists import csv_rows
from shared.domain.lists.csv_rows import RowReader
from shared.domain.lists.header import MAX_COLUMNS, RecipientColumn
from shared.domain.workbooks import bounds
from shared.domain.workbooks.bounds import WorkbookError
from shared.domain.workbooks.table import csv_of
from tests.domain.test_workbooks import book, ods, ods_sheet, one_cell, reason, rows_of

REF = '<c t="s"><v>0</v></c>'
REPEATED = '<table:table-cell table:number-columns-repeated="{}"><text:p>{}</text:p></table:table-cell>'
OVERLONG = "x" * (bounds.MAX_TEXT + 1)


def peak_of(file: io.BytesIO) -> int:
    """Return the bytes of memory that reading a workbook takes, or being refused."""
    tracemalloc.start()
    with suppress(WorkbookError):
        for _ in csv_of(file, ""):
            pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_a_row_of_a_text_repeated_a_thousand_times_is_overlong_in_little_memory(kind: str) -> None:
    text = "x" * 65_536
    if kind == "xlsx":
        made = book(f"<row>{REF * 1023}</row>" * 3, strings=f"<si><t>{text}</t></si>")
    else:
        made = ods(ods_sheet(f"<table:table-row>{REPEATED.format(1023, text)}</table:table-row>" * 3))
    assert len(made.getvalue()) < 2000
    assert peak_of(made) < 16 * 1024**2
    assert rows_of(made) == [[OVERLONG]] * 3


def test_an_overlong_row_is_too_large_for_a_list_and_blocks_no_others() -> None:
    rows = f"{one_cell('email')}{one_cell('x' * 20_000)}<table:table-row>{REPEATED.format(5, 'y' * 7000)}"
    made = ods(ods_sheet(f"{rows}</table:table-row>{one_cell('ann@example.org')}"))
    reader = RowReader(wanted=RecipientColumn("email"))
    found = [*reader.feed("".join(csv_of(made, "")).encode()), *reader.finish()]
    assert [(row.number, row.code) for row in found] == [(1, "row_too_large"), (2, "row_too_large"), (3, "")]
    assert (bounds.MAX_TEXT, bounds.MAX_WIDTH) == (csv_rows.MAX_ROW, MAX_COLUMNS)


@pytest.mark.slow
def test_rows_that_a_block_repeats_are_held_within_bounds() -> None:
    strings = f"<si><t>{chr(0x1F600) * 32_000}</t></si>"
    assert peak_of(book(f"<row>{REF}</row>" * 100_000, strings=strings)) < 400 * 1024**2
    wide = '<row><c r="ALZ1"><v>1</v></c></row>'
    assert peak_of(book(wide * 100_000)) < 64 * 1024**2


def test_columns_beyond_those_of_a_list_are_counted_and_not_written() -> None:
    wide = f"<table:table-row>{REPEATED.format(900, 'x')}</table:table-row>"
    assert rows_of(ods(ods_sheet(one_cell("email") + wide))) == [["email"], ["x"] * (MAX_COLUMNS + 1)]
    assert len(rows_of(ods(ods_sheet(wide * 3)))[0]) == 900, "the header says how many there are"
    far = '<table:table-row><table:table-cell table:number-columns-repeated="700"/>' + one_cell("x")[17:]
    assert len(rows_of(ods(ods_sheet(one_cell("email") + far)))[1]) == MAX_COLUMNS + 1
    later = f"{wide}{one_cell('a' * 1000) * 1000}"
    assert len(rows_of(ods(ods_sheet(later)))) < 1000, "no list has such a header"


@pytest.mark.slow
def test_a_sheet_without_rows_shows_that_time_passes() -> None:
    made = ods(ods_sheet("<table:table-row/>" * 100_000))
    assert list(csv_of(made, "")).count("") > 20


def test_repeated_empty_rows_are_counted_not_written() -> None:
    empty = '<table:table-row table:number-rows-repeated="1048576"/>'
    assert "workbook_too_large" in reason(ods(ods_sheet(empty * 1000 + one_cell("x"))))
