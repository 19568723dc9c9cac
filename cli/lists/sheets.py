"""Workbooks (.xlsx, .ods) made into CSV, row by row, in bounded memory and disk space.

No part of a workbook is trusted: what it unpacks to, its rows and what is written are bounded, and a document type
declaration is refused. Source: docs/adr/0145.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from cli.errors import CommandError, Misused
from cli.lists.ods import ods_rows, ods_sheets

MAX_ROWS: Final = 1_048_576
"""Rows of a sheet: what a spreadsheet program can hold."""
MAX_UNPACKED: Final = 2 * 1024**3
"""Bytes to which all parts that are read unpack."""
MAX_STRINGS: Final = 256 * 1024**2
"""Bytes of the texts that cells share: they are held in memory."""
MAX_PART: Final = 16 * 1024**2
"""Bytes of any other part that is held in memory: styles, names, relations."""
MAX_PARTS: Final = 10_000
MAX_WRITTEN: Final = 2 * 1024**3
"""Bytes of CSV."""
EXACT: Final = 10**15
"""Whole numbers up to here have all their digits in a workbook."""
_ZIP: Final = b"PK\x03\x04"
_XLSX: Final = "xl/workbook.xml"
_ODS: Final = "content.xml"
_DECLARED: Final = re.compile(rb"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)
HEAD: Final = 4096
"""Bytes of a part in which a document type would be declared."""


def is_workbook(file: Path) -> bool:
    """Return whether a file is a workbook that can be read; other ZIP files and old workbooks are not."""
    try:
        with file.open("rb") as source:
            if source.read(len(_ZIP)) != _ZIP:
                return False
        with ZipFile(file) as archive:
            names = archive.namelist()
            return _XLSX in names or (_ODS in names and "mimetype" in names)
    except (BadZipFile, OSError):
        return False


def write_csv(file: Path, sheet: str, target: Path, tell: Callable[[str], None]) -> None:
    """Write a sheet of a workbook as CSV in UTF-8. An empty row becomes a blank line, so that rows keep their numbers.

    Args:
        file: the workbook.
        sheet: its name; empty for the first one.
        target: the file to write.
        tell: called with the sheet that is read, if there are others.

    Raises:
        Misused: there is no such sheet, the workbook is damaged, or it is too large.
    """
    try:
        with ZipFile(file) as archive:
            _check(archive)
        with target.open("w", encoding="utf-8", newline="") as sink:
            for line in _lines(file, sheet, tell):
                sink.write(line)
    except CommandError:
        raise
    except OSError as error:
        raise Misused(f"cannot copy {file}: {error.strerror}") from None
    except Exception as error:  # noqa: BLE001 - of a damaged workbook its readers raise whatever they stumble over
        raise Misused(f"{file} cannot be read as a workbook: {type(error).__name__}\nsave it as CSV UTF-8") from None


def _lines(file: Path, sheet: str, tell: Callable[[str], None]) -> Iterator[str]:
    with ZipFile(file) as archive:
        names, rows_of = _opened(file, archive)
        if sheet and sheet not in names:
            raise Misused(f"{file} has no sheet {sheet!r}; it has {', '.join(names)}")
        if not names:
            raise Misused(f"{file} has no sheet")
        name = sheet or names[0]
        if len(names) > 1 and not sheet:
            tell(f"reading the sheet {name}; to read another: --sheet NAME ({', '.join(names)})")
        written = 0
        for number, line in enumerate(_csv(rows_of(name)), 1):
            written += len(line)
            if number > MAX_ROWS or written > MAX_WRITTEN:
                raise Misused(f"{file} is too large: save it as CSV UTF-8")
            yield line


def _opened(file: Path, archive: ZipFile) -> tuple[Sequence[str], Callable[[str], Iterator[Sequence[str]]]]:
    """Return a workbook's sheets, and what returns the rows of one."""
    if _XLSX not in archive.namelist():
        return ods_sheets(archive), lambda name: ods_rows(archive, name)
    import openpyxl  # noqa: PLC0415 - other commands read no workbook

    book: Any = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    return [x.title for x in book.worksheets], lambda name: _xlsx_rows(book[name])


def _xlsx_rows(sheet: Any) -> Iterator[Sequence[str]]:
    sheet.reset_dimensions()  # some programs write others than the sheet has
    for row in sheet.iter_rows(values_only=True):
        yield [_text(value) for value in row]


def _check(archive: ZipFile) -> None:
    """Refuse a workbook that could fill memory or disk. What a part unpacks to is never more than it declares."""
    parts = [x for x in archive.infolist() if x.filename.endswith((".xml", ".rels"))]
    large = any(x.file_size > _most(x) for x in parts)
    if len(archive.infolist()) > MAX_PARTS or large or sum(x.file_size for x in parts) > MAX_UNPACKED:
        raise Misused(f"{archive.filename} unpacks to more than a list may have: save it as CSV UTF-8")
    for part in parts:
        _check_part(archive, part)


def _check_part(archive: ZipFile, part: ZipInfo) -> None:
    if part.flag_bits & 1:
        raise Misused(f"{archive.filename} is protected by a password: save it as CSV UTF-8")
    with archive.open(part) as source:
        if _DECLARED.search(source.read(HEAD).replace(b"\0", b"")):
            raise Misused(f"{archive.filename} declares a document type, which no spreadsheet program does")


def _most(part: ZipInfo) -> int:
    if part.filename.startswith("xl/worksheets/") or part.filename == _ODS:
        return MAX_UNPACKED
    return MAX_STRINGS if part.filename == "xl/sharedStrings.xml" else MAX_PART


def _csv(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield lines of CSV. Empty cells behind the header's last one are left out."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    width = 0
    for row in rows:
        cells = [cell.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "") for cell in row]
        while len(cells) > width and not cells[-1].strip():
            cells.pop()
        if any(cell.strip() for cell in cells):
            width = width or len(cells)
            writer.writerow([*cells, *[""] * (width - len(cells))])
        else:
            out.write("\r\n")
        yield out.getvalue()
        out.seek(0)
        out.truncate()


def _text(value: Any) -> str:
    """Return a cell of .xlsx as people read it; a formula has the value that was stored with it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
    return value.isoformat() if isinstance(value, date | time) else str(value)
