"""The header of a list: its separator, the names of its columns, and which column holds the recipients."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final
from unicodedata import category, normalize

from shared.domain.characters.invisible import without_invisible
from shared.domain.content.templates import MAX_NAME, RECIPIENT, UNSUBSCRIBE_URL
from shared.frozen import dataclass

SEPARATORS: Final = (",", ";", "\t")
"""The possible separators of columns, the likeliest first."""
MAX_COLUMNS: Final = 512
MAX_NAMED: Final = 10
"""Columns that an error names."""
MAX_SHOWN: Final = 40
"""Characters of each of them."""
_NUMBERED: Final = re.compile("column [0-9]+")
_PLACEHOLDER: Final = re.compile(f"[a-z0-9_]{{1,{MAX_NAME}}}")
_BETWEEN: Final = re.compile(r"[\W_]+")
"""Characters between the words of a name."""
_LETTERS: Final = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "\u0131": "i"}
)
"""Latin letters that are not a letter of ASCII with a mark."""
_RESERVED: Final = frozenset({RECIPIENT, UNSUBSCRIBE_URL})
"""Placeholders whose value is no column's that only looks like them."""
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
        names: the columns' names, as placeholders mean them (`placeholder_names`).
        recipient: index of the column that holds the recipients.
        separator: what separates the columns.
        named: the recipients' column as the file writes it, at most `MAX_SHOWN` characters.
    """

    names: tuple[str, ...]
    recipient: int
    separator: str
    named: str = ""


def column_name(text: str) -> str:
    """Return a column's name without blanks around it, in lower case, and without invisible characters."""
    return without_invisible(text).strip().lower()


def usable(name: str) -> bool:
    """Return whether a placeholder can have a column's name."""
    return _PLACEHOLDER.fullmatch(name) is not None


def placeholder_name(name: str) -> str:
    """Return the name by which a placeholder means a column: `first_name` for `first name`, `prenom` for `prénom`.

    Args:
        name: the column's, as `column_name` returns it; its own if a placeholder can have it, or can have none like it.
    """
    if usable(name):
        return name
    made = _plain(name)
    return made if usable(made) and made not in _RESERVED else name


def placeholder_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return columns by the names of their placeholders. A name that two columns could have is given to neither.

    Args:
        names: as `column_name` returns them. One that already is a placeholder's stays, even if others could have it.
    """
    made = [placeholder_name(name) for name in names]
    counts = Counter(made)
    return tuple(new if counts[new] == 1 else name for name, new in zip(names, made, strict=True))


def doubts(missing: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence about each missing variable that several columns could be.

    Args:
        missing: variables for which a list has no column.
    """
    alike = {variable: [name for name in columns if placeholder_name(name) == variable] for variable in missing}
    return tuple(
        f"{listed(names)} can each be the column `{variable}`. Name one of them so."
        for variable, names in alike.items()
        if len(names) > 1
    )


def why_absent(variable: str, columns: Sequence[str]) -> str:
    """Return a sentence about a variable for which a list has no column."""
    return next(iter(doubts((variable,), columns)), f"The list has no column “{variable}”.")


def _plain(name: str) -> str:
    """Return a name in small letters without marks, and with one underscore between words."""
    letters = normalize("NFKD", normalize("NFKD", name).casefold()).translate(_LETTERS)
    return _BETWEEN.sub("_", "".join(c for c in letters if category(c) != "Mn")).strip("_")


def name_key(text: str) -> str:
    """Return what is the same for names that differ in case, accents and what is between their words only."""
    return _plain(column_name(text)).replace("_", "")


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
        if isinstance(found, Header) and not isinstance(cells, FileFault):
            return replace(found, named=short(cells[found.recipient].strip()))
        if isinstance(found, Header):
            return found
        faults.append((max(1, len(names)), found))
    return max(faults, key=lambda x: x[0])[1]


def _header(names: tuple[str, ...], separator: str, wanted: RecipientColumn) -> Header | FileFault:
    found = _numbered(names)
    at = recipient_at(found, wanted)
    if isinstance(at, FileFault):
        return at if at.code is FileCode.MISSING_RECIPIENT else _unfit(found) or at
    return _unfit(found) or Header(_numbered(placeholder_names(names)), at, separator)


def _numbered(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names in which columns without one, behind the last that has one, have their number: `column 3`."""
    named = max((i for i, name in enumerate(names, 1) if name), default=0)
    return names[:named] + tuple(f"column {i}" for i in range(named + 1, len(names) + 1))


def recipient_at(names: Sequence[str], wanted: RecipientColumn) -> int | FileFault:
    """Return the index of the column that holds the recipients, or why there is none.

    Args:
        names: the columns, as `column_name` or `placeholder_names` returns them; both have it at the same index.
    """
    exact = column_name(wanted.name) if wanted.name else RECIPIENT
    for name in (exact, placeholder_name(exact)):
        if name in names:
            return names.index(name)
    alike = {name_key(wanted.name)} if wanted.name else set(wanted.also)
    found = [i for i, name in enumerate(names) if name_key(name) in alike]
    if len(found) == 1:
        return found[0]
    if found:
        detail = f"{listed([names[i] for i in found])} can each be the column of recipients. Say which one it is."
        return FileFault(FileCode.AMBIGUOUS_RECIPIENT, detail)
    return FileFault(FileCode.MISSING_RECIPIENT, f"The header has no column `{short(exact)}`. {_hint(names)}")


def _hint(names: Sequence[str]) -> str:
    """Return what the header has instead, without showing people who are where the header should be."""
    if any("@" in name or is_number(name) for name in names):
        return "The first line holds recipients. Put the names of the columns above it."
    named = _named(names)
    if not named:
        return "None of its columns has a name."
    if len(named) == 1 < len(names):
        return f"Its only name is {listed(named)}. If that is a title, say which row has the names of the columns."
    return _found([name for name in names if name])


def _named(names: Sequence[str]) -> list[str]:
    return [name for name in names if name and not _NUMBERED.fullmatch(name)]


def _found(names: Sequence[str]) -> str:
    other = " They must be separated by commas, semicolons or tabs." if len(names) == 1 and "|" in names[0] else ""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"It has {listed(names[:MAX_NAMED])}{more}.{other}"


def is_number(name: str) -> bool:
    """Return whether a cell looks like a phone number, not like the name of a column."""
    return sum(map(str.isdigit, name)) >= DIGITS and not any(map(str.isalpha, name))


def listed(names: Sequence[str]) -> str:
    """Return columns' names as an error shows them."""
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
