"""Sheets of an .xlsx, row by row. Source: ECMA-376 part 1, 18.2 (workbook), 18.3 (worksheets), 18.8 (styles)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import join, normpath
from typing import Final
from zipfile import ZipFile

from shared.domain.workbooks import bounds
from shared.domain.workbooks.bounds import XLSX, damaged, too_large
from shared.domain.workbooks.broken import NOT_STORED, error_text
from shared.domain.workbooks.numbers import Shown, number_text, shown_by
from shared.domain.workbooks.parsing import parsed, read
from shared.domain.workbooks.rows import Collected, Rows
from shared.domain.workbooks.strings import RichText, SharedStrings, named, shared_strings, unescaped

_RELATIONS: Final = "xl/_rels/workbook.xml.rels"
_HIDDEN: Final = ("hidden", "veryHidden")
_MAX_LETTERS: Final = 3
_BOOK: Final = named("workbookPr", "sheet")
_STYLES: Final = named("numFmt", "cellXfs", "xf")
_SHEET: Final = named("row", "c", "f", "v", "is", "t", "rPh")
_TRUE: Final = ("1", "true")


@dataclass(slots=True)
class Book:
    """The contents of a workbook, as its own parts declare them.

    Attributes:
        sheets: name of each sheet with rows → its part, in their order.
        hidden: names of those that a user does not see.
        strings: the part with the shared texts; empty if there is none.
        formats: how the cells of each style show numbers.
        from_1904: whether days are counted from 1904.
    """

    sheets: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    strings: str = ""
    formats: list[Shown] = field(default_factory=list)
    from_1904: bool = False

    @property
    def first(self) -> str:
        """The first sheet that a user sees, or the first."""
        return next((name for name in self.sheets if name not in self.hidden), next(iter(self.sheets), ""))


def book_of(archive: ZipFile) -> Book:
    """Return what a workbook says of itself.

    Raises:
        WorkbookError: it is damaged.
    """
    relations = _Relations()
    read(archive, _RELATIONS, relations)
    sheets = _Sheets(relations.parts)
    read(archive, XLSX, sheets)
    book = sheets.book
    book.strings = relations.of_kind("sharedStrings")
    if styles := relations.of_kind("styles"):
        formats = _Formats()
        read(archive, styles, formats)
        book.formats = formats.shown
    return book


class _Quiet:
    """Takes elements without text."""

    def end(self, name: str) -> None:
        """End an element."""

    def text(self, text: str) -> None:
        """Take characters."""


class _Relations(_Quiet):
    """Which parts belong to the workbook."""

    def __init__(self) -> None:
        self.parts: dict[str, tuple[str, str]] = {}  # id → kind, part

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name.endswith(" Relationship") and attributes.get("TargetMode") != "External":
            kind = attributes.get("Type", "").rpartition("/")[2]
            part = normpath(join("/xl", attributes.get("Target", ""))).lstrip("/")
            self.parts[attributes.get("Id", "")] = kind, part

    def of_kind(self, kind: str) -> str:
        return next((part for found, part in self.parts.values() if found == kind), "")


class _Sheets(_Quiet):
    def __init__(self, parts: Mapping[str, tuple[str, str]]) -> None:
        self.book = Book()
        self._parts = parts

    def start(self, name: str, attributes: dict[str, str]) -> None:
        kind = _BOOK.get(name)
        if kind == "workbookPr":
            self.book.from_1904 = attributes.get("date1904") in _TRUE
        elif kind == "sheet":
            link = next((value for key, value in attributes.items() if key.endswith(" id")), "")
            of, part = self._parts.get(link, ("", ""))
            title = attributes.get("name", "")
            if of == "worksheet":
                self.book.sheets.setdefault(title, part)
            if attributes.get("state") in _HIDDEN:
                self.book.hidden.add(title)


class _Formats(_Quiet):
    def __init__(self) -> None:
        self.shown: list[Shown] = []
        self._codes: dict[int, str] = {}
        self._inside = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        kind = _STYLES.get(name)
        if kind == "numFmt":
            self._codes[_count(attributes.get("numFmtId", ""))] = attributes.get("formatCode", "")
        elif kind == "cellXfs":
            self._inside = True
        elif kind == "xf" and self._inside:
            number = _count(attributes.get("numFmtId", "0"))
            self.shown.append(shown_by(number, self._codes.get(number, "")))

    def end(self, name: str) -> None:
        if _STYLES.get(name) == "cellXfs":
            self._inside = False


def xlsx_rows(archive: ZipFile, book: Book, sheet: str) -> Iterator[Rows]:
    """Yield the rows of each block of a sheet, also the empty ones between others.

    Args:
        book: what it says of itself.

    Raises:
        WorkbookError: it is damaged, or too large.
    """
    strings = shared_strings(archive, book.strings)
    try:
        rows = _Rows(book, strings)
        for _ in parsed(archive, book.sheets[sheet], rows):
            yield rows.taken()
    finally:
        strings.close()


class _Rows:
    """Collects the rows of a sheet as their elements come."""

    def __init__(self, book: Book, strings: SharedStrings) -> None:
        self._book = book
        self._strings = strings
        self._rows = Collected()
        self._number = 0
        self._column = 0
        self._type = ""
        self._style = ""
        self._formula = self._hidden = False
        self._inline = RichText()
        self._value: list[str] = []
        self._length = 0
        self._taking = False

    def taken(self) -> Rows:
        """Return the rows that are complete."""
        return self._rows.taken()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        kind = _SHEET.get(name)
        if kind == "c":
            self._type, self._style = attributes.get("t", "n"), attributes.get("s", "")
            self._column = _column(attributes["r"]) if "r" in attributes else self._column + 1
            if self._value:
                self._value = []
            self._length = 0
            self._formula = False
            if self._type == "inlineStr":
                self._inline.clear()
        elif kind == "v":
            self._taking = True
        elif kind == "row":
            self._begin_row(attributes.get("r", ""))
            self._hidden = attributes.get("hidden") in _TRUE
        elif kind == "f":
            self._formula = True
        else:
            self._inline.start(kind)

    def text(self, text: str) -> None:
        if not self._taking:
            self._inline.text(text)
        elif self._length <= bounds.MAX_TEXT:
            self._value.append(text)
            self._length += len(text)

    def end(self, name: str) -> None:
        kind = _SHEET.get(name)
        if kind == "v":
            self._taking = False
        elif kind == "c":
            self._end_cell()
        elif kind == "row":
            self._rows.end(hidden=self._hidden)
        else:
            self._inline.end(kind)

    def _begin_row(self, number: str) -> None:
        wanted = _count(number) if number else self._number + 1
        if wanted > bounds.MAX_ROWS:
            raise too_large()
        self._rows.skip(max(0, wanted - self._number - 1))
        self._number = max(wanted, self._number + 1)
        self._column = -1

    def _end_cell(self) -> None:
        if not self._rows.overlong and (value := self._shown()):
            self._rows.put(self._column, value)

    def _shown(self) -> str:
        """Return a cell as people read it; a formula has the value that was stored with it."""
        kind = self._type
        if kind == "inlineStr":
            return self._inline.value
        text = "".join(self._value)
        if kind == "s":
            return self._strings[_count(text)] if text else ""
        if kind == "e" or not text:
            return self._missing(text)
        if kind == "n":
            return number_text(text.strip(), self._format(), from_1904=self._book.from_1904)
        if kind == "b":
            return "TRUE" if text.strip() in _TRUE else "FALSE"
        if kind == "d":
            return text.removesuffix("Z").removesuffix("T00:00:00").replace("T", " ")
        return unescaped(text)

    def _missing(self, text: str) -> str:
        if self._type == "e":
            return error_text(text)
        return NOT_STORED if self._formula and self._type != "str" else ""

    def _format(self) -> Shown:
        style = self._style
        index = int(style) if style.isdecimal() else 0
        return self._book.formats[index] if index < len(self._book.formats) else Shown.NUMBER


_COLUMNS: Final[dict[str, int]] = {}


def _column(reference: str) -> int:
    """Return the index of a cell's column, from 0, by its reference: `C12` is in column 2."""
    letters = reference.rstrip("0123456789")
    found = _COLUMNS.get(letters)
    if found is None:
        if not (letters.isascii() and letters.isalpha() and len(letters) <= _MAX_LETTERS):
            raise damaged("a cell has no place")
        found = -1
        for letter in letters.upper():
            found = (found + 1) * 26 + ord(letter) - ord("A")
        _COLUMNS[letters] = found
    return found


def _count(text: str) -> int:
    """Return a number that counts something; WorkbookError if it is none."""
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 10):  # noqa: PLR2004 - digits
        raise damaged("one of its numbers is none")
    return int(text)
