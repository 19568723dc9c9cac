"""Sheets of an .ods, row by row, from its `content.xml`. Source: OASIS OpenDocument 1.3, part 3."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from zipfile import ZipFile

from shared.domain.workbooks import bounds
from shared.domain.workbooks.bounds import damaged
from shared.domain.workbooks.numbers import number_text
from shared.domain.workbooks.parsing import parsed

_TABLE: Final = "urn:oasis:names:tc:opendocument:xmlns:table:1.0 "
_TEXT: Final = "urn:oasis:names:tc:opendocument:xmlns:text:1.0 "
_OFFICE: Final = "urn:oasis:names:tc:opendocument:xmlns:office:1.0 "
_CELLS: Final = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
_SHEET: Final = f"{_TABLE}table"
_ROW: Final = f"{_TABLE}table-row"
_PARAGRAPH: Final = f"{_TEXT}p"
_NOTE: Final = f"{_OFFICE}annotation"
_TYPE: Final = f"{_OFFICE}value-type"
_SPACES: Final = {f"{_TEXT}s": " ", f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}
_VALUE: Final = f"{_OFFICE}value"
_VALUES: Final = {"float": _VALUE, "percentage": _VALUE, "currency": _VALUE, "date": f"{_OFFICE}date-value"}
"""Attribute with the value of a cell that is no text, by its type."""


class OdsSheets:
    """A spreadsheet that is read once.

    Args:
        archive: the spreadsheet.
        wanted: the sheet to read; empty for the first.
    """

    def __init__(self, archive: ZipFile, wanted: str) -> None:
        self._archive = archive
        self._reader = _Reader(wanted)

    @property
    def names(self) -> Sequence[str]:
        """The sheets that were met."""
        return self._reader.names

    @property
    def chosen(self) -> str:
        """The sheet that is read; empty if it was not met."""
        return self._reader.chosen

    def rows(self) -> Iterator[Sequence[str]]:
        """Yield the rows of the sheet; empty ones behind the last that has something are left out.

        Raises:
            WorkbookError: the spreadsheet is damaged.
        """
        for _ in parsed(self._archive, bounds.ODS, self._reader):
            yield from self._reader.taken()


class _Reader:
    """Collects the rows of one sheet as their elements come."""

    def __init__(self, wanted: str) -> None:
        self.names: list[str] = []
        self.chosen = ""
        self._wanted = wanted
        self._inside = False
        self._nested = 0  # tables within a cell
        self._rows: list[tuple[int, list[str]]] = []
        self._empty = 0  # rows that count only if another follows
        self._row: list[str] = []
        self._gap = 0  # cells that count only if another follows
        self._times = 1
        self._cell: Mapping[str, str] = {}
        self._text: list[str] | None = None
        self._length = 0
        self._notes = 0

    def taken(self) -> Iterator[Sequence[str]]:
        """Yield the rows that are complete."""
        rows, self._rows = self._rows, []
        for times, row in rows:
            for _ in range(times):
                yield row

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        if name == _SHEET:
            self._begin_table(attributes.get(f"{_TABLE}name", ""))
        elif not self._inside:
            return
        elif name == _ROW:
            self._row, self._gap = [], 0
            self._times = _count(attributes, f"{_TABLE}number-rows-repeated")
        elif name in _CELLS:
            self._cell, self._text = attributes, None
        elif name == _NOTE:
            self._notes += 1
        elif not self._notes:
            self._begin_text(name, attributes)

    def _begin_table(self, name: str) -> None:
        if self._inside:
            self._nested += 1
            return
        if len(self.names) > bounds.MAX_PARTS:
            raise damaged("too many sheets")
        self.names.append(name)
        self._inside = not self.chosen and name == (self._wanted or self.names[0])
        if self._inside:
            self.chosen = name

    def _begin_text(self, name: str, attributes: dict[str, str]) -> None:
        if name == _PARAGRAPH:
            if self._text is None:
                self._text, self._length = [], 0
            else:
                self._add("\n")
        elif name in _SPACES and self._text is not None:
            times = _count(attributes, f"{_TEXT}c") if name == f"{_TEXT}s" else 1
            self._add(_SPACES[name] * min(times, bounds.MAX_TEXT))

    def text(self, text: str) -> None:
        """Take characters."""
        if self._inside and self._text is not None and not self._notes:
            self._add(text)

    def _add(self, text: str) -> None:
        if self._text is not None and self._length <= bounds.MAX_TEXT:
            self._text.append(text)
            self._length += len(text)

    def end(self, name: str) -> None:
        """End an element."""
        if not self._inside:
            return
        if name == _SHEET:
            self._inside = self._nested > 0
            self._nested -= self._nested > 0
        elif name == _NOTE:
            self._notes -= 1
        elif name in _CELLS:
            self._end_cell()
        elif name == _ROW:
            self._end_row()

    def _end_cell(self) -> None:
        times = _count(self._cell, f"{_TABLE}number-columns-repeated")
        value = self._value()
        self._text = None
        if not value:
            self._gap += times
            return
        if len(self._row) + self._gap + times > bounds.MAX_CELLS:
            raise damaged("too many cells in a row")
        self._row += [""] * self._gap + [value] * times
        self._gap = 0

    def _value(self) -> str:
        attribute = _VALUES.get(self._cell.get(_TYPE, ""))
        stored = self._cell.get(attribute) if attribute else None
        if stored is None:
            return "".join(self._text or ())
        if attribute == _VALUE:
            return number_text(stored)
        return stored.removesuffix("T00:00:00").replace("T", " ")

    def _end_row(self) -> None:
        if not self._row:
            self._empty += self._times
            return
        if self._empty:
            self._rows.append((self._empty, []))
            self._empty = 0
        self._rows.append((self._times, self._row))


def _count(attributes: Mapping[str, str], name: str) -> int:
    """Return how often something is repeated, at least once."""
    found = attributes.get(name, "1")
    if not (found.isascii() and found.isdigit()):
        raise damaged("one of its numbers is none")
    return min(max(1, int(found[:9])), bounds.MAX_ROWS + 1)
