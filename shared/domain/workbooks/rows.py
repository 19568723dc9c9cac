"""Rows of a sheet, collected as their cells come. Their memory is bounded, for any number of repeated cells."""

from collections.abc import Iterator, Sequence
from typing import Final

from shared.domain.workbooks import bounds
from shared.domain.workbooks.bounds import damaged, too_large

OVERLONG: Final = ("x" * (bounds.MAX_TEXT + 1),)
"""Takes the place of a row that is longer than a list's may be: the reader of lists refuses it as too large."""
_CELL: Final = 8
"""Bytes that a cell takes at least."""

Rows = Iterator[Sequence[str]]


class HiddenRow(tuple[str, ...]):
    """A row that the sheet's user does not see: a filter, a closed group or a person has hidden it."""

    __slots__ = ()


class Collected:
    """Takes the cells of one row after another."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, Sequence[str]]] = []
        self._held = 0
        self._number = 0
        self._empty = 0  # rows that count only if another follows
        self._row: list[str] = []
        self._size = 0

    @property
    def overlong(self) -> bool:
        """Whether the row is longer than it may be: its other cells do not count."""
        return self._size > bounds.MAX_TEXT

    def put(self, column: int, value: str, times: int = 1) -> None:
        """Put a value into the row.

        Args:
            column: from 0; cells before it that have no value are empty.
            value: not empty.
            times: columns that have it.

        Raises:
            WorkbookError: the row has more cells than it may have.
        """
        if column + times > bounds.MAX_CELLS:
            raise damaged("too many cells in a row")
        self._size += len(value) * times
        if self.overlong:
            return
        row = self._row
        if column > len(row):
            row += [""] * (column - len(row))
        row[column : column + times] = [value] * times

    def end(self, times: int = 1, *, hidden: bool = False) -> None:
        """End the row; empty ones count only if another follows.

        Args:
            times: rows that are the same.
            hidden: whether a user does not see them.

        Raises:
            WorkbookError: there are too many rows, or too much is held.
        """
        if not self._size:
            self.skip(times)
            return
        row: Sequence[str] = OVERLONG if self.overlong else self._row
        row = HiddenRow(row) if hidden else row
        self._held += _CELL if self.overlong else self._size + _CELL * len(row)
        self._number += self._empty + times
        if self._held > bounds.MAX_HELD or self._number > bounds.MAX_ROWS:
            raise too_large()
        if self._empty:
            self._rows.append((self._empty, ()))
        self._rows.append((times, row))
        self._row, self._size, self._empty = [], 0, 0

    def skip(self, times: int) -> None:
        """Count empty rows."""
        self._empty += times

    def taken(self) -> Rows:
        """Return the rows that are complete; a repeated one is the same object each time."""
        rows, self._rows, self._held = self._rows, [], 0
        return (row for times, row in rows for _ in range(times))
