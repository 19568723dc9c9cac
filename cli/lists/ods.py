"""Rows of an OpenDocument spreadsheet, from its `content.xml` as a stream. Source: OASIS OpenDocument 1.3, part 3."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from xml.parsers import expat
from zipfile import ZipFile

PART: Final = "content.xml"
BLOCK: Final = 64 * 1024
MAX_CELLS: Final = 1024
"""Cells of a row: a list has 64 columns."""
_TABLE: Final = "urn:oasis:names:tc:opendocument:xmlns:table:1.0 "
_TEXT: Final = "urn:oasis:names:tc:opendocument:xmlns:text:1.0 "
_OFFICE: Final = "urn:oasis:names:tc:opendocument:xmlns:office:1.0 "
_CELLS: Final = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
_SPACES: Final = {f"{_TEXT}s": " ", f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}
_VALUES: Final = {"float": "value", "percentage": "value", "currency": "value", "date": "date-value"}
"""Attribute with the value of a cell that is no text, by its type."""


class OdsError(Exception):
    """The content is not that of a spreadsheet."""


def ods_sheets(archive: ZipFile) -> list[str]:
    """Return the names of a spreadsheet's sheets.

    Raises:
        OdsError: it is damaged.
    """
    reader = _Reader("")
    for _ in _parsed(archive, reader):
        pass
    return reader.names


def ods_rows(archive: ZipFile, sheet: str) -> Iterator[Sequence[str]]:
    """Yield the rows of a sheet; empty ones behind the last that has something are left out.

    Args:
        archive: the spreadsheet.
        sheet: the sheet's name.

    Raises:
        OdsError: it is damaged.
    """
    return _parsed(archive, _Reader(sheet))


def _parsed(archive: ZipFile, reader: "_Reader") -> Iterator[Sequence[str]]:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        with archive.open(PART) as source:
            while block := source.read(BLOCK):
                parser.Parse(block, False)
                yield from reader.taken()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise OdsError(str(error)) from None
    yield from reader.taken()


class _Reader:
    """Collects the rows of one sheet as their elements come."""

    def __init__(self, sheet: str) -> None:
        self.names: list[str] = []
        self._sheet = sheet
        self._inside = False
        self._rows: list[tuple[int, list[str]]] = []
        self._empty = 0  # rows that count only if another follows
        self._row: list[str] = []
        self._gap = 0  # cells that count only if another follows
        self._times = 1
        self._cell: Mapping[str, str] = {}
        self._text: list[str] | None = None
        self._notes = 0

    def taken(self) -> Iterator[Sequence[str]]:
        """Yield the rows that are complete."""
        rows, self._rows = self._rows, []
        for times, row in rows:
            for _ in range(times):
                yield row

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        if name == f"{_TABLE}table":
            self.names.append(attributes.get(f"{_TABLE}name", ""))
            self._inside = bool(self._sheet) and self.names[-1] == self._sheet and self._sheet not in self.names[:-1]
        elif not self._inside:
            return
        elif name == f"{_TABLE}table-row":
            self._row, self._gap = [], 0
            self._times = _count(attributes, "number-rows-repeated")
        elif name in _CELLS:
            self._cell, self._text = attributes, None
        elif name == f"{_OFFICE}annotation":
            self._notes += 1
        elif not self._notes:
            self._begin_text(name, attributes)

    def _begin_text(self, name: str, attributes: dict[str, str]) -> None:
        if name == f"{_TEXT}p":
            self._text = [] if self._text is None else [*self._text, "\n"]
        elif name in _SPACES and self._text is not None:
            times = int(attributes.get(f"{_TEXT}c", "1")) if name == f"{_TEXT}s" else 1
            self._text.append(_SPACES[name] * min(times, BLOCK))

    def text(self, text: str) -> None:
        """Take characters."""
        if self._inside and self._text is not None and not self._notes:
            self._text.append(text)

    def end(self, name: str) -> None:
        """End an element."""
        if not self._inside:
            return
        if name == f"{_TABLE}table":
            self._inside = False
        elif name == f"{_OFFICE}annotation":
            self._notes -= 1
        elif name in _CELLS:
            self._end_cell()
        elif name == f"{_TABLE}table-row":
            self._end_row()

    def _end_cell(self) -> None:
        times = _count(self._cell, "number-columns-repeated")
        value = self._value()
        self._text = None
        if not value:
            self._gap += times
            return
        if len(self._row) + self._gap + times > MAX_CELLS:
            raise OdsError("too many cells in a row")
        self._row += [""] * self._gap + [value] * times
        self._gap = 0

    def _value(self) -> str:
        attribute = _VALUES.get(self._cell.get(f"{_OFFICE}value-type", ""))
        stored = self._cell.get(f"{_OFFICE}{attribute}") if attribute else None
        if stored is None:
            return "".join(self._text or ())
        if attribute == "value":
            return stored.removesuffix(".0")
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
    """Return how often a row or cell is repeated, at least once."""
    found = attributes.get(f"{_TABLE}{name}", "1")
    if not (found.isascii() and found.isdigit()):
        raise OdsError(f"{name} is no number")
    return max(1, int(found[:9]))
