"""The places of a list's rows in its file, and the position from which its reader continues."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from shared.frozen import dataclass


class RowCode(StrEnum):
    """The stable code of a row that cannot be read."""

    ROW_TOO_LARGE = "row_too_large"
    WRONG_FIELD_COUNT = "wrong_field_count"
    UNCLOSED_QUOTE = "unclosed_quote"
    STRAY_CARRIAGE_RETURN = "stray_carriage_return"
    NUL_BYTE = "nul_byte"
    INVALID_UTF8 = "invalid_utf8"
    ERROR_CELL = "error_cell"


class Row(NamedTuple):
    """One row below the header that is not blank. A tuple, since there are millions.

    Attributes:
        number: 1 for the first row below the header; blank lines are not counted.
        start: byte offset at which it begins.
        end: byte offset at which the next one begins; of an endless row, where its reader gave up.
        cells: as many as the header has; empty if there is a code.
        code: `RowCode` of a row that cannot be read, or empty.
        detail: a sentence for people, that quotes nothing of the row.
        endless: the row is longer than `csv_rows.MAX_LOOK`, and from `end` on is skipped to its line end.
        lines_until: byte offset, beyond `start`, up to which rows end at any line end; or 0.
        blanks: blank lines above it, and lines above the header.
    """

    number: int
    start: int
    end: int
    cells: list[str]
    code: str = ""
    detail: str = ""
    endless: bool = False
    lines_until: int = 0
    blanks: int = 0

    @property
    def sheet_row(self) -> int:
        """The row's number in a spreadsheet, where the header and blank lines count."""
        return self.number + self.blanks + 1


@dataclass(frozen=True, slots=True)
class Position:
    """The position from which a reader continues: `row` rows lie before byte `offset`. Other fields are as in `Row`.

    `skipping` is true inside of an endless row; the header is empty until it is read. `header_row` is its number in a
    spreadsheet, 0 if an earlier version has read it, and `named` the recipients' column as the file writes it.
    """

    offset: int = 0
    row: int = 0
    header: tuple[str, ...] = ()
    skipping: bool = False
    lines_until: int = 0
    separator: str = ","
    blanks: int = 0
    header_row: int = 0
    named: str = ""

    def before(self, row: Row) -> "Position":
        """Return the position at which a row of the same file begins."""
        return self._at(row, row.start, row.number - 1, skipping=False, lines_until=row.lines_until)

    def after(self, row: Row) -> "Position":
        """Return the position at which the row after it begins."""
        until = row.lines_until if row.lines_until > row.end else 0
        return self._at(row, row.end, row.number, skipping=row.endless, lines_until=until)

    def _at(self, row: Row, offset: int, number: int, *, skipping: bool, lines_until: int) -> "Position":
        here = (offset, number, self.header, skipping, lines_until, self.separator, row.blanks)
        return Position(*here, self.header_row, self.named)


def is_blank(cells: Iterable[str]) -> bool:
    """Return whether a row has nothing but blanks."""
    return not any(map(str.strip, cells))


def largest(cells: Iterable[str]) -> int:
    """Return the bytes of the largest cell."""
    return max(map(len, map(str.encode, cells)))
