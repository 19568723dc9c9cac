"""Sheets of an .ods, row by row, from its `content.xml`. Source: OASIS OpenDocument 1.3, part 3."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from zipfile import ZipFile

from shared.domain.workbooks import bounds
from shared.domain.workbooks.bounds import damaged
from shared.domain.workbooks.broken import ERRORS, NOT_STORED, error_text
from shared.domain.workbooks.numbers import number_text
from shared.domain.workbooks.parsing import parsed, read
from shared.domain.workbooks.rows import Collected, Rows

_TABLE: Final = "urn:oasis:names:tc:opendocument:xmlns:table:1.0 "
_TEXT: Final = "urn:oasis:names:tc:opendocument:xmlns:text:1.0 "
_OFFICE: Final = "urn:oasis:names:tc:opendocument:xmlns:office:1.0 "
_LOOK: Final = "urn:oasis:names:tc:opendocument:xmlns:style:1.0 "
_CALC: Final = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0 "
_STYLES: Final = "styles.xml"
_CELLS: Final = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
_SHEET: Final = f"{_TABLE}table"
_ROW: Final = f"{_TABLE}table-row"
_GROUP: Final = f"{_TABLE}table-row-group"
_DISPLAY: Final = f"{_TABLE}display"
_VISIBILITY: Final = f"{_TABLE}visibility"
_UNSEEN: Final = ("filter", "collapse")
"""Values of `_VISIBILITY` of rows that a filter or a person has hidden."""
_PARAGRAPH: Final = f"{_TEXT}p"
_NOTE: Final = f"{_OFFICE}annotation"
_TYPE: Final = f"{_OFFICE}value-type"
_SPACES: Final = {f"{_TEXT}s": " ", f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}
_ERROR: Final = f"{_CALC}value-type"
"""Attribute that is `error` of a cell that is one; programs without it show the error beside a value of 0."""
_FORMULA: Final = f"{_TABLE}formula"
_VALUE: Final = f"{_OFFICE}value"
_VALUES: Final = {"float": _VALUE, "percentage": _VALUE, "currency": _VALUE, "date": f"{_OFFICE}date-value"}
"""Attribute with the value of a cell that is no text, by its type."""


class OdsSheets:
    """A spreadsheet that is read once.

    Args:
        wanted: the sheet to read; empty for the first one that a user sees, or the first if all are hidden.
    """

    def __init__(self, archive: ZipFile, wanted: str) -> None:
        self._archive = archive
        self._reader = _Reader(wanted, _Styles())

    @property
    def names(self) -> Sequence[str]:
        """The sheets that were met."""
        return self._reader.names

    @property
    def chosen(self) -> str:
        """The sheet that is read; empty if it was not met."""
        return self._reader.chosen

    def rows(self) -> Iterator[Rows]:
        """Yield the rows of each block of the sheet; empty ones behind the last that has something are left out.

        Raises:
            WorkbookError: the spreadsheet is damaged.
        """
        if _STYLES in self._archive.namelist():
            read(self._archive, _STYLES, self._reader.styles)
        yield from self._read()
        if self._reader.all_hidden:
            self._reader = _Reader("", self._reader.styles, hidden=True)
            yield from self._read()

    def _read(self) -> Iterator[Rows]:
        for _ in parsed(self._archive, bounds.ODS, self._reader):
            yield self._reader.taken()


class _Styles:
    """Collects which styles hide a sheet: `table:display`, their own or that of the style that they extend."""

    def __init__(self) -> None:
        self._hidden: set[str] = set()
        self._name = ""

    def hide(self, style: str) -> bool:
        """Return whether a style hides the sheets that have it."""
        return style in self._hidden

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        if name == f"{_LOOK}style":
            self._name = attributes.get(f"{_LOOK}name", "") if attributes.get(f"{_LOOK}family") == "table" else ""
            if self._name and attributes.get(f"{_LOOK}parent-style-name") in self._hidden:
                self._hide()
        elif name == f"{_LOOK}table-properties" and self._name:
            display = attributes.get(_DISPLAY, "")
            if display == "false":
                self._hide()
            elif display:
                self._hidden.discard(self._name)

    def _hide(self) -> None:
        if len(self._hidden) > bounds.MAX_PARTS:
            raise damaged("too many styles")
        self._hidden.add(self._name)

    def end(self, name: str) -> None:
        """End an element."""
        if name == f"{_LOOK}style":
            self._name = ""

    def text(self, text: str) -> None:
        """Take characters."""


class _Reader:
    """Collects the rows of one sheet as their elements come."""

    def __init__(self, wanted: str, styles: _Styles, *, hidden: bool = False) -> None:
        """`hidden`: whether the first sheet is taken even if a user does not see it."""
        self.names: list[str] = []
        self.chosen = ""
        self.styles = styles
        self._wanted = wanted
        self._hidden = hidden
        self._taken = False
        self._inside = False
        self._nested = 0  # tables within a cell
        self._rows = Collected()
        self._column = 0
        self._times = 1
        self._unseen = False
        self._closed = 0  # groups around a row, from the outermost closed one on
        self._cell: Mapping[str, str] = {}
        self._text: list[str] | None = None
        self._length = 0
        self._notes = 0

    @property
    def all_hidden(self) -> bool:
        """Whether there are sheets, and none was taken since a user sees none of them."""
        return bool(self.names) and not (self._taken or self._wanted)

    def taken(self) -> Rows:
        """Return the rows that are complete."""
        return self._rows.taken()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        if name == _SHEET:
            self._begin_table(attributes)
        elif not self._inside:
            self.styles.start(name, attributes)
        elif name == _ROW:
            self._column = 0
            self._times = _count(attributes, f"{_TABLE}number-rows-repeated")
            self._unseen = self._closed > 0 or attributes.get(_VISIBILITY) in _UNSEEN
        elif name == _GROUP:
            self._closed += self._closed > 0 or attributes.get(_DISPLAY) == "false"
        elif name in _CELLS:
            self._cell, self._text = attributes, None
        elif name == _NOTE:
            self._notes += 1
        elif not self._notes:
            self._begin_text(name, attributes)

    def _begin_table(self, attributes: dict[str, str]) -> None:
        if self._inside:
            self._nested += 1
            return
        if len(self.names) > bounds.MAX_PARTS:
            raise damaged("too many sheets")
        name = attributes.get(f"{_TABLE}name", "")
        self.names.append(name)
        if self._wanted:
            fits = name == self._wanted
        else:
            fits = self._hidden or not self.styles.hide(attributes.get(f"{_TABLE}style-name", ""))
        if fits and not self._taken:
            self.chosen, self._inside, self._taken = name, True, True

    def _begin_text(self, name: str, attributes: dict[str, str]) -> None:
        if name == _PARAGRAPH:
            if self._text is None:
                self._text, self._length = [], 0
            else:
                self._add("\n")
        elif name in _SPACES and self._text is not None:
            times = _count(attributes, f"{_TEXT}c") if name == f"{_TEXT}s" else 1
            self._add(_SPACES[name] * min(times, bounds.MAX_TEXT + 1))

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
            self.styles.end(name)
        elif name == _SHEET:
            self._inside = self._nested > 0
            self._nested -= self._nested > 0
        elif name == _NOTE:
            self._notes -= 1
        elif name in _CELLS:
            self._end_cell()
        elif name == _ROW:
            self._rows.end(self._times, hidden=self._unseen)
        elif name == _GROUP:
            self._closed -= self._closed > 0

    def _end_cell(self) -> None:
        times = _count(self._cell, f"{_TABLE}number-columns-repeated")
        if not self._rows.overlong and (value := self._value()):
            self._rows.put(self._column, value, times)
        self._text = None
        self._column += times

    def _value(self) -> str:
        shown = "".join(self._text or ())
        if missing := self._missing(shown):
            return missing
        attribute = _VALUES.get(self._cell.get(_TYPE, ""))
        stored = self._cell.get(attribute) if attribute else None
        if stored is None:
            return shown
        if attribute == _VALUE:
            return number_text(stored)
        return stored.removesuffix("T00:00:00").replace("T", " ")

    def _missing(self, shown: str) -> str:
        """Return the text of a cell without a value; empty if it has one, or is empty."""
        cell = self._cell
        if cell.get(_ERROR) == "error" or (_FORMULA in cell and shown in ERRORS):
            return error_text(shown)
        return NOT_STORED if _FORMULA in cell and _TYPE not in cell and not shown else ""


def _count(attributes: Mapping[str, str], name: str) -> int:
    """Return how often something is repeated, at least once."""
    found = attributes.get(name, "1")
    if not (found.isascii() and found.isdigit()):
        raise damaged("one of its numbers is none")
    return min(max(1, int(found[:9])), bounds.MAX_ROWS + 1)
