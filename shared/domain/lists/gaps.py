"""Gaps in a list's rows: missing values, and numbers that take no texts. Counted while read, shown before sending.

A value is lacking if its cell is empty or has only characters that show nothing: the message has a gap there. Rows
that are sent nothing do not count.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from shared.domain.characters.invisible import seen
from shared.frozen import dataclass

MAX_ROWS: Final = 10
"""Rows that are named of a column; all are counted. They take 75 kB at the most, of 512 columns."""
COUNTRY: Final = "\n"
"""In place of a column, before the code of a country: numbers of that country. No column's name begins so."""
LANDLINES: Final = ""
"""In place of a column: rows whose number takes no texts. A column without a name has no gaps."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A column of which rows lack the value.

    Attributes:
        column: its name, as in the list's columns, or LANDLINES.
        rows: how many rows lack it.
        first: numbers in the spreadsheet of the first of them, at most `MAX_ROWS`, ascending.
    """

    column: str
    rows: int
    first: tuple[int, ...]


def with_rows(known: Sequence[Gap], columns: Iterable[str], rows: Sequence[tuple[int, Sequence[str]]]) -> Sequence[Gap]:
    """Return gaps with those of more rows.

    Args:
        columns: names of the cells; one without a name is no value of the file.
        rows: number in the spreadsheet and cells of each, in the order of the file.
    """
    found = {gap.column: gap for gap in known}
    for name, cells in zip(columns, zip(*[cells for _, cells in rows], strict=False), strict=False):
        if name and not _full(cells):
            _add(found, name, [number for (number, _), cell in zip(rows, cells, strict=True) if not _shows(cell)])
    return tuple(found.values())


def with_landlines(known: Sequence[Gap], rows: Sequence[int]) -> Sequence[Gap]:
    """Return gaps with those of more rows whose number takes no texts.

    Args:
        rows: number in the spreadsheet of each, in the order of the file.
    """
    found = {gap.column: gap for gap in known}
    if rows:
        _add(found, LANDLINES, rows)
    return tuple(found.values())


def with_countries(known: Sequence[Gap], countries: Iterable[str]) -> Sequence[Gap]:
    """Return gaps with the countries of more numbers, which are no gaps, but are counted with them."""
    found = {gap.column: gap for gap in known}
    for country, count in Counter(countries).items():
        name = f"{COUNTRY}{country}"
        found[name] = Gap(name, found.get(name, Gap(name, 0, ())).rows + count, ())
    return tuple(found.values())


def countries_of(known: Iterable[Gap]) -> dict[str, int]:
    """Return country → numbers, as `with_countries` counted them."""
    return {gap.column[len(COUNTRY) :]: gap.rows for gap in known if gap.column.startswith(COUNTRY)}


def _add(found: dict[str, Gap], name: str, rows: Sequence[int]) -> None:
    before = found.get(name, Gap(name, 0, ()))
    found[name] = Gap(name, before.rows + len(rows), (*before.first, *rows)[:MAX_ROWS])


def _full(cells: Sequence[str]) -> bool:
    return all(cells) and not any(map(str.isspace, cells)) and (all(map(str.isascii, cells)) or all(map(seen, cells)))


def _shows(cell: str) -> bool:
    return bool(cell.strip()) and (cell.isascii() or seen(cell))


def document_of(gaps: Iterable[Gap]) -> dict[str, Any]:
    """Return gaps as JSON has them."""
    return {gap.column: [gap.rows, list(gap.first)] for gap in gaps}


def read(document: Mapping[str, Any]) -> tuple[Gap, ...]:
    """Return what `document_of` returned, also after a way through JSON."""
    return tuple(Gap(column, rows, tuple(first)) for column, (rows, first) in document.items())
