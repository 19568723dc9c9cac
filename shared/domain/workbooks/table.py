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
from shared.domain.workbooks.rows import HiddenRow, Rows
from shared.domain.workbooks.xlsx import book_of, xlsx_rows

BATCH: Final = 64 * 1024
"""Characters of CSV that are given at once, and a row more."""


@dataclass(slots=True)
class Sheets:
    """The sheets of a workbook, once all of it is read.

    Attributes:
        chosen: the one that was read.
        hidden: rows below its header that its user does not see.
    """

    names: Sequence[str] = ()
    chosen: str = ""
    hidden: int = 0


def is_workbook(file: IO[bytes]) -> bool:
    """Return whether a file is a workbook that can be read; other ZIP files and old workbooks are not.

    Raises:
        WorkbookError: it may be one, but is too large to be checked.
    """
    archive = opened(file)
    if archive is None:
        return False
    archive.close()
    return True


def csv_of(file: IO[bytes], sheet: str, sheets: Sheets | None = None, *, keep_hidden: bool = False) -> Iterator[str]:
    """Yield a sheet of a workbook as CSV, some rows at a time. An empty row between others is a blank line.

    Long work without a row yields an empty text now and then, so that its caller sees the time.

    Args:
        file: the workbook; it stays open.
        sheet: the sheet's name; empty for the first one that a user sees.
        sheets: takes what sheets there are.
        keep_hidden: whether rows that its user does not see are written; else each is a blank line.

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
        for lines in _csv(_blocks(archive, sheet, sheets), sheets, keep_hidden=keep_hidden):
            written += len(lines)
            if written > bounds.MAX_WRITTEN:
                raise too_large()
            yield lines


def _blocks(archive: ZipFile, sheet: str, sheets: Sheets) -> Iterator[Rows]:
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


def _csv(blocks: Iterable[Rows], sheets: Sheets, *, keep_hidden: bool) -> Iterator[str]:
    """Yield lines of CSV. Empty rows at the end, and empty cells behind the header's last one, are left out.

    Of a header with more columns than a list may have no other row follows: it makes the list fail.
    """
    lines = _Lines(sheets, keep_hidden=keep_hidden)
    for block in blocks:
        for row in block:
            lines.add(row)
            if lines.full:
                yield lines.taken()
        yield lines.taken()
        if lines.width > bounds.MAX_WIDTH:
            return


class _Lines:
    """Lines of CSV that are not given yet. `width`: cells of the header; 0 until there is one."""

    def __init__(self, sheets: Sheets, *, keep_hidden: bool) -> None:
        """`sheets` takes how many rows are hidden."""
        self.width = 0
        self._sheets = sheets
        self._keep_hidden = keep_hidden
        self._out = io.StringIO(newline="")
        self._write = csv.writer(_Same()).writerow
        self._empty = 0
        self._row: Sequence[str] = ()
        self._line = ""

    @property
    def full(self) -> bool:
        """Whether there is enough to be given."""
        return self._out.tell() > BATCH

    def add(self, row: Sequence[str]) -> None:
        """Add a row; one that is repeated is written as it was. The header counts also if it is hidden."""
        hidden = self.width > 0 and isinstance(row, HiddenRow)
        if row is not self._row:
            self._row, self._line = row, self._written(row)
        if hidden and self._line:
            self._sheets.hidden += 1
        if not self._line or (hidden and not self._keep_hidden):
            self._empty += 1
            return
        self._out.write("\r\n" * self._empty + self._line)
        self._empty = 0

    def taken(self) -> str:
        """Return the lines."""
        text = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return text

    def _written(self, row: Sequence[str]) -> str:
        cells = _cells(row, self.width)
        if not cells:
            return ""
        self.width = self.width or len(cells)
        line: str = self._write(cells + [""] * (self.width - len(cells)))
        return line


class _Same:
    """Has the writer return what it would write."""

    def write(self, text: str) -> str:
        return text


def _cells(row: Sequence[str], width: int) -> list[str]:
    """Return the cells of a row without empty ones behind the header's last, none if all are empty; `width`: its."""
    end = len(row)
    while end and not _clean(row[end - 1]).strip():
        end -= 1
    if not end:
        return []
    wide = bounds.MAX_WIDTH + 1
    if width and end > wide:  # more cells than a list may have
        row, end = [*row[: bounds.MAX_WIDTH], "x"], wide
    return [_clean(cell) for cell in row[: max(end, min(width, len(row)))]]


def _clean(cell: str) -> str:
    """Return a cell without NUL, and with one kind of line end."""
    if "\r" in cell:
        cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    return cell.replace("\0", "") if "\0" in cell else cell
