"""The header of a list: its separator, the names of its columns, and which column holds the recipients."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from unicodedata import category

from shared.domain.content.templates import MAX_NAME, RECIPIENT

SEPARATORS: Final = (",", ";", "\t")
"""What may separate the columns, the likeliest first."""
MAX_COLUMNS: Final = 64
MAX_NAMED: Final = 10
"""Columns that an error names."""
MAX_SHOWN: Final = 40
"""Characters of each of them."""
_NUMBERED: Final = re.compile("column [0-9]+")
_PLACEHOLDER: Final = re.compile(f"[a-z0-9_]{{1,{MAX_NAME}}}")
DIGITS: Final = 7
"""Digits by which a cell looks like a phone number, not like the name of a column."""


class FileCode(StrEnum):
    """The stable code of a file that cannot be used at all."""

    NO_HEADER = "no_header"
    NO_ROWS = "no_rows"
    INVALID_HEADER = "invalid_header"
    INVALID_ENCODING = "invalid_encoding"
    EMPTY_COLUMN = "empty_column"
    DUPLICATE_COLUMN = "duplicate_column"
    MISSING_RECIPIENT = "missing_recipient"
    AMBIGUOUS_RECIPIENT = "ambiguous_recipient"
    TOO_MANY_COLUMNS = "too_many_columns"
    TOO_MANY_ROWS = "too_many_rows"
    INVALID_ROW = "invalid_row"


@dataclass(frozen=True, slots=True)
class FileFault:
    """Why a file cannot be used; `detail` is a sentence for people."""

    code: FileCode
    detail: str


@dataclass(frozen=True, slots=True)
class RecipientColumn:
    """Which column holds the recipients.

    Attributes:
        name: the column that the list's owner named, or empty.
        also: without it, names that count as `recipient` if no column has that name; as `name_key` returns them.
    """

    name: str = ""
    also: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """A header that was read.

    Attributes:
        names: the columns' names, trimmed and in lower case.
        recipient: index of the column that holds the recipients.
        separator: what separates the columns.
    """

    names: tuple[str, ...]
    recipient: int
    separator: str


def column_name(text: str) -> str:
    """Return a column's name without blanks around it, in lower case, and without invisible characters."""
    return "".join(c for c in text if category(c) != "Cf").strip().lower()


def usable(name: str) -> bool:
    """Return whether a placeholder can have a column's name."""
    return _PLACEHOLDER.fullmatch(name) is not None


def name_key(text: str) -> str:
    """Return what is the same for names that differ in case, spaces, underscores and hyphens only."""
    return "".join(c for c in column_name(text) if c not in "_-" and not c.isspace())


def read_header(split: Callable[[str], list[str] | FileFault], wanted: RecipientColumn) -> Header | FileFault:
    """Read a header with the first separator that gives it a column of recipients.

    Args:
        split: returns the header's cells for a separator, or why there are none.
        wanted: which column holds the recipients.

    Returns:
        The header, or what is wrong with it. If no separator fits, that is said of the one with the most columns.
    """
    faults: list[tuple[int, FileFault]] = []
    for separator in SEPARATORS:
        cells = split(separator)
        names = () if isinstance(cells, FileFault) else tuple(map(column_name, cells))
        found = cells if isinstance(cells, FileFault) else _header(names, separator, wanted)
        if isinstance(found, Header):
            return found
        faults.append((max(1, len(names)), found))
    return max(faults, key=lambda x: x[0])[1]


def _header(names: tuple[str, ...], separator: str, wanted: RecipientColumn) -> Header | FileFault:
    names = _numbered(names)
    at = recipient_at(names, wanted)
    if isinstance(at, FileFault):
        return at if at.code is FileCode.MISSING_RECIPIENT else _unfit(names) or at
    return _unfit(names) or Header(names, at, separator)


def _numbered(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names in which columns without one, behind the last that has one, have their number: `column 3`."""
    named = max((i for i, name in enumerate(names, 1) if name), default=0)
    return names[:named] + tuple(f"column {i}" for i in range(named + 1, len(names) + 1))


def recipient_at(names: Sequence[str], wanted: RecipientColumn) -> int | FileFault:
    """Return the index of the column that holds the recipients, or why there is none.

    Args:
        names: the columns, as `column_name` returns them.
        wanted: which column it is.
    """
    exact = column_name(wanted.name) if wanted.name else RECIPIENT
    if exact in names:
        return names.index(exact)
    alike = {name_key(wanted.name)} if wanted.name else set(wanted.also)
    found = [i for i, name in enumerate(names) if name_key(name) in alike]
    if len(found) == 1:
        return found[0]
    if found:
        detail = f"{_listed([names[i] for i in found])} can each be the column of recipients. Say which one it is."
        return FileFault(FileCode.AMBIGUOUS_RECIPIENT, detail)
    return FileFault(FileCode.MISSING_RECIPIENT, f"The header has no column `{short(exact)}`. {_hint(names)}")


def _hint(names: Sequence[str]) -> str:
    """Return what the header has instead, without showing people who are where the header should be."""
    if any("@" in name or _is_number(name) for name in names):
        return "The first line holds recipients. Put the names of the columns above it."
    named = [name for name in names if name and not _NUMBERED.fullmatch(name)]
    if not named:
        return "None of its columns has a name."
    if len(named) == 1 < len(names):
        return f"Its only name is {_listed(named)}. If that is a title, remove it: the header must be the first line."
    return _found([name for name in names if name])


def _found(names: Sequence[str]) -> str:
    other = " They must be separated by commas, semicolons or tabs." if len(names) == 1 and "|" in names[0] else ""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"It has {_listed(names[:MAX_NAMED])}{more}.{other}"


def _is_number(name: str) -> bool:
    return sum(map(str.isdigit, name)) >= DIGITS and not any(map(str.isalpha, name))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{short(name)}`" for name in names)


def short(name: str) -> str:
    """Return a column's name as an error shows it."""
    return name if len(name) <= MAX_SHOWN else f"{name[:MAX_SHOWN]}…"


def _unfit(names: tuple[str, ...]) -> FileFault | None:
    """Return what is wrong with the names of columns; None if nothing is."""
    if len(names) > MAX_COLUMNS:
        detail = f"The header has {len(names)} columns; {MAX_COLUMNS} are allowed."
        return FileFault(FileCode.TOO_MANY_COLUMNS, detail)
    if "" in names:
        return FileFault(FileCode.EMPTY_COLUMN, f"Column {names.index('') + 1} has no name.")
    if len(set(names)) < len(names):
        twice = next(i for i, name in enumerate(names) if name in names[:i])
        detail = f"Column {twice + 1} has the name of column {names.index(names[twice]) + 1}."
        return FileFault(FileCode.DUPLICATE_COLUMN, detail)
    return None
