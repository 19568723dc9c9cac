"""The texts that the cells of an .xlsx share: in a file, so that millions of them take little memory.

Source: ECMA-376 part 1, 18.4 (shared strings) and 22.9.2.19 (escaped characters).
"""

import mmap
import re
from array import array
from contextlib import ExitStack, closing
from tempfile import TemporaryFile
from typing import Final
from zipfile import ZipFile

from shared.domain.workbooks import bounds
from shared.domain.workbooks.bounds import damaged, too_large
from shared.domain.workbooks.parsing import read

MAIN: Final = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",
)
"""Namespaces of the elements: the usual one, and that of the strict form."""
_ESCAPED: Final = re.compile("_x([0-9A-Fa-f]{4})_")


def named(*names: str) -> dict[str, str]:
    """Return elements by their names as the parser gives them."""
    return {f"{space} {name}": name for space in MAIN for name in names}


def unescaped(text: str) -> str:
    """Return a text with its escaped characters (`_x000D_`) as they are."""
    return _ESCAPED.sub(_character, text) if "_x" in text else text


def _character(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return found[0] if 0xD800 <= code <= 0xDFFF else chr(code)  # noqa: PLR2004 - surrogates, no characters


class SharedStrings:
    """RichText by their numbers. To be closed."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._ends = array("Q", [0])
        self._map: mmap.mmap | None = None

    def add(self, text: str) -> None:
        """Append a text."""
        if len(self._ends) > bounds.MAX_SHARED:
            raise too_large()
        data = text.encode(errors="replace")
        self._file.write(data)
        self._ends.append(self._ends[-1] + len(data))

    def __getitem__(self, index: int) -> str:
        """Return the text of a number; WorkbookError if there is none."""
        if not 0 <= index < len(self._ends) - 1:
            raise damaged("a cell names a text that it does not have")
        start, end = self._ends[index], self._ends[index + 1]
        if start == end:
            return ""
        if self._map is None:
            self._file.flush()
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._map[start:end].decode()

    def close(self) -> None:
        """Give the file back."""
        if self._map is not None:
            self._map.close()
        self._file.close()


class RichText:
    """Collects the text of an element that has runs, without the phonetic ones."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._taking = False
        self._phonetic = 0

    def clear(self) -> None:
        """Begin anew."""
        self._parts, self._length, self._taking, self._phonetic = [], 0, False, 0

    def start(self, kind: str | None) -> None:
        """Begin an element inside."""
        if kind == "rPh":
            self._phonetic += 1
        elif kind == "t":
            self._taking = not self._phonetic

    def end(self, kind: str | None) -> None:
        """End an element inside."""
        if kind == "rPh":
            self._phonetic -= 1
        elif kind == "t":
            self._taking = False

    def text(self, text: str) -> None:
        """Take characters."""
        if self._taking and self._length <= bounds.MAX_TEXT:
            self._parts.append(text)
            self._length += len(text)

    @property
    def value(self) -> str:
        """The text so far."""
        return unescaped("".join(self._parts))


_NAMES: Final = named("si", "t", "rPh")


class _Reader:
    def __init__(self, strings: SharedStrings) -> None:
        self._strings = strings
        self._texts = RichText()

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        kind = _NAMES.get(name)
        if kind == "si":
            self._texts.clear()
        else:
            self._texts.start(kind)

    def text(self, text: str) -> None:
        self._texts.text(text)

    def end(self, name: str) -> None:
        kind = _NAMES.get(name)
        if kind == "si":
            self._strings.add(self._texts.value)
        else:
            self._texts.end(kind)


def shared_strings(archive: ZipFile, part: str) -> SharedStrings:
    """Return the texts of a workbook.

    Args:
        part: the part with the texts; empty if it has none.

    Raises:
        WorkbookError: they are damaged, or too many.
    """
    with ExitStack() as unless_read:
        strings = unless_read.enter_context(closing(SharedStrings()))
        if part:
            read(archive, part, _Reader(strings))
        unless_read.pop_all()
    return strings
