"""Limits of a workbook, checked before any part is unpacked. Source: docs/adr/0155."""

from enum import StrEnum
from typing import IO, Final
from zipfile import BadZipFile, ZipFile, ZipInfo

MAX_ROWS: Final = 1_048_576
"""Rows of a sheet: what a spreadsheet program can hold."""
MAX_CELLS: Final = 1024
"""Cells of a row: a list has fewer columns."""
MAX_TEXT: Final = 32 * 1024
"""Characters of a row, and so of a cell: a list's row has as many bytes at most."""
MAX_WIDTH: Final = 512
"""Columns of a list."""
MAX_HELD: Final = 32 * 1024**2
"""Characters and cells that are held at once, of the rows of a block of 64 KB: 3,000 cells of 8 KB fit into one."""
MAX_UNPACKED: Final = 2 * 1024**3
"""Bytes to which all parts unpack."""
MAX_STRINGS: Final = 256 * 1024**2
"""Bytes of the part with the texts that cells share."""
MAX_SHARED: Final = 16_000_000
"""Texts that cells share: each takes 8 bytes of memory."""
MAX_PART: Final = 16 * 1024**2
"""Bytes of any other part: styles, names, relations."""
MAX_PARTS: Final = 10_000
MAX_DIRECTORY: Final = 2 * 1024**2
"""Bytes of the ZIP file's directory, which is held in memory as objects."""
MAX_WRITTEN: Final = 2 * 1024**3
"""Characters of CSV."""
XLSX: Final = "xl/workbook.xml"
ODS: Final = "content.xml"
MAGIC: Final = b"PK\x03\x04"
"""How a ZIP file begins."""
_END: Final = b"PK\x05\x06"
_END_SIZE: Final = 22
_END_64: Final = b"PK\x06\x06"
_BEFORE_END_64: Final = 56 + 20
"""Bytes of the 64-bit end record and its locator, which precede the end record."""
_TAIL: Final = _BEFORE_END_64 + _END_SIZE + 65_535
"""Sources of these: PKWARE APPNOTE 4.3.14 to 4.3.16."""


class WorkbookCode(StrEnum):
    """The stable code of a workbook that cannot be used."""

    TOO_LARGE = "workbook_too_large"
    UNREADABLE = "workbook_unreadable"
    NO_SUCH_SHEET = "no_such_sheet"


class WorkbookError(Exception):
    """A workbook cannot be used.

    Args:
        reason: completes a sentence that begins with the workbook: `is too large`.
    """

    def __init__(self, code: WorkbookCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def too_large(reason: str = "is too large") -> WorkbookError:
    """Return the error of a workbook over a bound."""
    return WorkbookError(WorkbookCode.TOO_LARGE, f"{reason}: save it as CSV UTF-8")


def damaged(reason: str) -> WorkbookError:
    """Return the error of a workbook that is none; `reason`: what is wrong with it."""
    return WorkbookError(WorkbookCode.UNREADABLE, f"cannot be read as a workbook: {reason}. Save it as CSV UTF-8")


def opened(file: IO[bytes]) -> ZipFile | None:
    """Return a workbook's parts; None if the file is none.

    Raises:
        WorkbookError: its directory is too large to be checked.
    """
    file.seek(0)
    if file.read(len(MAGIC)) != MAGIC:
        return None
    if _directory_size(file) > MAX_DIRECTORY:
        raise too_large("has too many parts")
    try:
        archive = ZipFile(file)
    except (BadZipFile, ValueError, RuntimeError, OSError):  # RuntimeError: a form of ZIP that Python does not read
        return None
    names = archive.namelist()
    return archive if XLSX in names or (ODS in names and "mimetype" in names) else None


def _directory_size(file: IO[bytes]) -> int:
    """Return the most bytes that a ZIP file's directory may have by any of its end records."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    tail = file.read()
    found, at = 0, tail.find(_END)
    while at >= 0:
        found = max(found, int.from_bytes(tail[at + 12 : at + 16], "little") % 0xFFFF_FFFF)
        long = at - _BEFORE_END_64
        if long >= 0 and tail[long : long + 4] == _END_64:
            found = max(found, int.from_bytes(tail[long + 40 : long + 48], "little"))
        at = tail.find(_END, at + 1)
    return found


def check(archive: ZipFile) -> None:
    """Refuse a workbook that could fill memory or disk. No part unpacks to more than it declares.

    Raises:
        WorkbookError: it is too large, or protected by a password.
    """
    parts = [x for x in archive.infolist() if x.filename.endswith((".xml", ".rels"))]
    large = any(x.file_size > _most(x) for x in parts)
    if len(archive.infolist()) > MAX_PARTS or large or sum(x.file_size for x in parts) > MAX_UNPACKED:
        raise too_large("unpacks to more than a list may have")
    if any(x.flag_bits & 1 for x in parts):
        raise WorkbookError(WorkbookCode.UNREADABLE, "is protected by a password: save it as CSV UTF-8")


def _most(part: ZipInfo) -> int:
    if part.filename.startswith("xl/worksheets/") or part.filename == ODS:
        return MAX_UNPACKED
    return MAX_STRINGS if part.filename == "xl/sharedStrings.xml" else MAX_PART
