"""A sheet of a workbook as lines of CSV, in which each row keeps its number."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Final
from zipfile import ZipFile

from shared.domain.workbooks import bounds
from shared.domain.workbooks.bounds import WorkbookCode, WorkbookError, check, damaged, opened, too_large
from shared.domain.workbooks.ods import OdsSheets
from shared.domain.workbooks.xlsx import book_of, xlsx_rows

BATCH: Final = 256
"""Rows of CSV that are given at once."""


@dataclass(slots=True)
class Sheets:
    """The sheets of a workbook, once all of it is read. `chosen`: the one that was read."""

    names: Sequence[str] = ()
    chosen: str = ""


def is_workbook(file: IO[bytes]) -> bool:
    """Return whether a file is a workbook that can be read; other ZIP files and old workbooks are not.

    Raises:
        WorkbookError: it may be one, but is too large to be looked at.
    """
    archive = opened(file)
    if archive is None:
        return False
    archive.close()
    return True


def csv_of(file: IO[bytes], sheet: str, sheets: Sheets | None = None) -> Iterator[str]:
    """Yield a sheet of a workbook as CSV, some rows at a time. An empty row between others is a blank line.

    Args:
        file: the workbook; it stays open.
        sheet: the sheet's name; empty for the first one that a user sees.
        sheets: takes what sheets there are.

    Raises:
        WorkbookError: there is no such sheet, or the workbook is damaged or too large.
    """
    archive = opened(file)
    if archive is None:
        raise damaged("it is none")
    sheets = sheets if sheets is not None else Sheets()
    written = 0
    with archive:
        check(archive)
        for lines in _csv(_rows(archive, sheet, sheets)):
            written += len(lines)
            if written > bounds.MAX_WRITTEN:
                raise too_large()
            yield lines


def _rows(archive: ZipFile, sheet: str, sheets: Sheets) -> Iterator[Sequence[str]]:
    if bounds.XLSX not in archive.namelist():
        content = OdsSheets(archive, sheet)
        yield from content.rows()
        sheets.names, sheets.chosen = content.names, content.chosen
        _check_there(sheets, sheet)
        return
    book = book_of(archive)
    sheets.names, sheets.chosen = list(book.sheets), sheet or book.first
    _check_there(sheets, sheet)
    yield from xlsx_rows(archive, book, sheets.chosen)


def _check_there(sheets: Sheets, wanted: str) -> None:
    if wanted and wanted not in sheets.names:
        reason = f"has no sheet {wanted!r}; it has {', '.join(sheets.names)}"
        raise WorkbookError(WorkbookCode.NO_SUCH_SHEET, reason)
    if not sheets.names:
        raise WorkbookError(WorkbookCode.NO_SUCH_SHEET, "has no sheet")


def _csv(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield lines of CSV. Empty rows at the end, and empty cells behind the header's last one, are left out."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    width = number = empty = 0
    for row in rows:
        cells = _cells(row, width)
        if not cells:
            empty += 1
            continue
        number += empty + 1
        if number > bounds.MAX_ROWS:
            raise too_large()
        out.write("\r\n" * empty)
        empty = 0
        width = width or len(cells)
        writer.writerow(cells + [""] * (width - len(cells)))
        if number % BATCH == 0 or out.tell() > bounds.MAX_TEXT:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    if out.tell():
        yield out.getvalue()


def _cells(row: Sequence[str], width: int) -> list[str]:
    """Return the cells of a row without empty ones behind the header's last, none if all are empty; `width`: its."""
    cells = [_clean(cell) for cell in row]
    while len(cells) > width and not cells[-1].strip():
        cells.pop()
    return cells if any(cell.strip() for cell in cells) else []


def _clean(cell: str) -> str:
    """Return a cell without NUL, and with one kind of line end."""
    if "\r" in cell:
        cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    return cell.replace("\0", "") if "\0" in cell else cell
