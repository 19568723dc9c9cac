"""Output for people and programs: text or JSON on stdout, everything else on stderr.

Text from the outside (names, providers' texts) is printed without control characters, so that no terminal obeys it.
"""

import json as codec
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from shared.lazy import lazy

if TYPE_CHECKING:
    from shared.adapters import clock as clocks
    from shared.ports import Clock
else:
    (clocks,) = lazy("shared.adapters", "clock")

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout: of a list, one document a line.")]
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


class Surroundings:
    """The surroundings that a test replaces: the time, and whether stdout is a terminal (None: ask it)."""

    def __init__(self, clock: "Clock | None" = None, *, terminal: bool | None = None) -> None:
        self.clock: Clock = clock or clocks.SystemClock()
        self._terminal = terminal

    @property
    def terminal(self) -> bool:
        """Whether somebody looks at stdout."""
        return sys.stdout.isatty() if self._terminal is None else self._terminal

    @property
    def asks(self) -> bool:
        """Whether somebody can be asked: questions are on stderr, their answers on stdin."""
        return sys.stdin.isatty() and sys.stderr.isatty() if self._terminal is None else self._terminal


def surroundings(ctx: typer.Context) -> Surroundings:
    """Return what the command was started with."""
    found = ctx.find_object(Surroundings)
    return found if found is not None else Surroundings()


def clean(value: object) -> str:
    """Return a value as one line of printable text."""
    return "".join(c if c.isprintable() else REPLACEMENT for c in str(value))


def say(text: str) -> None:
    """Print one line for people on stdout."""
    print(clean(text), flush=True)


def tell(text: str) -> None:
    """Print one line on stderr: progress, warnings, what to do next."""
    print(clean(text), file=sys.stderr, flush=True)


def emit(document: Any) -> None:
    """Print one JSON document on one line; non-ASCII text is escaped, so that any terminal and locale takes it."""
    print(codec.dumps(document, separators=(", ", ": ")), flush=True)


def emit_all(items: Iterable[Any]) -> None:
    """Print one JSON document a line for each item of a list; nothing for an empty one."""
    for item in items:
        emit(item)


def emit_or_say(answer: Mapping[str, object], *, json: bool, text: str) -> None:
    """Print an answer, for programs or for people.

    Args:
        answer: what `--json` prints.
    """
    if json:
        emit(answer)
    else:
        say(text)


def _cell(value: object) -> str:
    return clean("" if value is None else value)


def table(columns: Sequence[str], rows: Sequence[Mapping[str, object]], *, empty: str, header: bool = True) -> None:
    """Print aligned columns. Nothing is cut, so that the output can be piped.

    Args:
        columns: names of fields, in their order; `_` is shown as a space.
        rows: one mapping a line, from the field's name to its value.
        empty: printed to stderr if there are no rows.
        header: whether the first line names the columns.
    """
    if not rows:
        tell(empty)
        return
    cells = [[column.replace("_", " ") for column in columns]] if header else []
    cells += [[_cell(row[column]) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def tables(
    columns: Sequence[str],
    pages: Iterable[Sequence[Mapping[str, Any]]],
    *,
    json: bool,
    empty: str,
    row: Callable[[Any], Mapping[str, Any]] = dict,
) -> None:
    """Print items page by page, as they come: one JSON document each, or tables below one header.

    Args:
        columns: of a table; an item that lacks one has an empty cell.
        json: print the items themselves.
        empty: goes to stderr if there are none.
        row: what a table shows of an item.
    """
    shown = 0
    for items in pages:
        if json:
            emit_all(items)
        elif items:
            rows = [{column: cells.get(column) for column in columns} for cells in map(row, items)]
            table(columns, rows, empty="", header=not shown)
        shown += len(items)
    if not shown:
        tell(empty)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, whose plural ends with `s`: `1 message`, `2,000 messages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def moment(milliseconds: int) -> str | None:
    """Return Unix milliseconds as RFC 3339 UTC in whole seconds; None for 0, which stands for never."""
    if not milliseconds:
        return None
    return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
