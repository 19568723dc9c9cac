"""The row with the names of columns: below titles and empty rows, or the one that the list's owner names.

Rows of people above it would get nothing, so the search ends at the first row that holds a recipient.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from shared.domain.lists.header import (
    SEPARATORS,
    FileCode,
    FileFault,
    Header,
    RecipientColumn,
    column_name,
    is_number,
    listed,
    read_header,
    short,
)
from shared.frozen import dataclass

MAX_HEADER_ROW: Final = 1_000
"""The last row that an owner may name."""
LOOKED_AT: Final = 30
"""Rows that may be the header, from the first that is not blank on."""
_DATE: Final = re.compile(r"\d{1,4}([./ -])\d{1,2}\1\d{1,4}([ T][\d:.+Z]+)?")
"""A cell that has the digits of a number, and is none."""
_ENDS: Final = frozenset({FileCode.MISSING_RECIPIENT, FileCode.INVALID_HEADER})
"""Faults of rows that need not be the header."""

Split = Callable[[str], list[str] | FileFault]
"""Returns a row's cells for a separator, or why there are none."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A row that is no header. `names`: its cells, as names of columns."""

    number: int
    fault: FileFault
    names: tuple[str, ...]

    @property
    def width(self) -> int:
        return sum(map(bool, self.names))

    @property
    def words(self) -> str:
        if _has_recipient(self.names):
            return f"Row {self.number} holds recipients."
        return f"Row {self.number} has {listed([name for name in self.names if name][:10])}."


class HeaderSearch:
    """Looks at a file's rows, one after the other, until one has the names of columns."""

    def __init__(self, wanted: RecipientColumn, row: int = 0) -> None:
        """Begin a search.

        Args:
            wanted: which column holds the recipients.
            row: the row that has the names, as a spreadsheet numbers it; 0: it is found out.
        """
        self._wanted = wanted
        self._row = row
        self._seen: list[_Seen] = []

    def passes(self, number: int) -> bool:
        """Tell whether a row is above the one that the owner named."""
        return number < self._row

    def blank(self, number: int) -> FileFault | None:
        """Return what is wrong if a row is blank."""
        return FileFault(FileCode.NO_HEADER, f"Row {number} is blank.") if number == self._row else None

    def take(self, number: int, split: Split) -> Header | FileFault | None:
        """Look at a row that is not blank.

        Args:
            number: as a spreadsheet shows it.

        Returns:
            The header, or why the file cannot be used, or None: a row below may have the names.
        """
        found = read_header(split, self._wanted)
        if number == self._row:
            return found
        names = _names(split)
        if self._seen and _has_recipient(names):
            return self._fault(number, names)
        if isinstance(found, Header) or found.code not in _ENDS:
            return found
        if found.code is FileCode.INVALID_HEADER:
            return self._fault() if self._seen else found
        self._seen.append(_Seen(number, found, names))
        last = _has_recipient(names) or number - self._seen[0].number + 1 == LOOKED_AT
        return self._fault() if last else None

    def ended(self, rows: int) -> FileFault:
        """Return why a file without a header cannot be used; `rows`: how many it has."""
        if self._row and rows:
            return FileFault(FileCode.NO_HEADER, f"The file has no row {self._row}: it ends at row {rows}.")
        return self._fault() if self._seen else FileFault(FileCode.NO_HEADER, "The file is empty.")

    def _fault(self, number: int = 0, names: tuple[str, ...] = ()) -> FileFault:
        """Return what the first rows have; `names`: of a row that holds recipients, which ended the search."""
        first = self._seen[0]
        likely = max(self._seen, key=lambda x: x.width)
        if names and len(names) > likely.width:
            likely = _Seen(number, first.fault, names)
        if likely is first or (len(first.names) == 1 and "|" in first.names[0]):
            return first.fault
        column = short(column_name(self._wanted.name)) if self._wanted.name else "recipient"
        detail = f"No row down to row {likely.number} has a column `{column}`. {first.words} {likely.words}"
        return FileFault(FileCode.MISSING_RECIPIENT, detail)


def _names(split: Split) -> tuple[str, ...]:
    """Return a row's cells by the separator that gives it most."""
    cells = [x for x in map(split, SEPARATORS) if not isinstance(x, FileFault)]
    widest: list[str] = max(cells, key=len, default=[])
    return tuple(map(column_name, widest))


def _has_recipient(names: Sequence[str]) -> bool:
    """Return whether a row has a cell that is an address or a number."""
    return any(("@" in x and " " not in x) or (is_number(x) and not _DATE.fullmatch(x)) for x in names)
