"""How far something has come: a bar on a terminal, a line for every tenth elsewhere, nothing beside JSON."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

from cli.output import clean, say

ROUNDING: Final = 1e-9
"""Three tenths are a little less than 0.3 to a computer."""
REFRESH: Final = 0.005
"""Share after which a bar is drawn anew: no eye sees less."""


FIRST: Final[Mapping[str, str]] = {
    "another_list": "another list of the account is read first",
    "another_export": "another export of the account is made first",
}
"""`waiting_for` of a list or an export, as the API names it, in words."""


def first_words(found: Mapping[str, Any]) -> str:
    """Return what a list or an export waits for, as the API describes it; empty if it waits for nothing."""
    return FIRST.get(str(found.get("waiting_for")), "")


class Meter(Protocol):
    """Shows how far something has come."""

    def __call__(self, share: float, text: str) -> None:
        """Show a share of 0 to 1, and a few words."""
        ...


@contextmanager
def meter(title: str, *, terminal: bool, quiet: bool = False) -> Iterator[Meter]:
    """Show something's progress for a while; the last picture stays.

    Args:
        terminal: whether somebody looks.
        quiet: show nothing.
    """
    if quiet:
        yield lambda _share, _text: None
    elif terminal:
        yield from _bar(clean(title))
    else:
        yield _Lines(title)


def _bar(title: str) -> Iterator[Meter]:
    from rich.console import Console  # noqa: PLC0415 - only a bar loads rich
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[words]}", markup=False),
    )
    with Progress(*columns, console=Console(), auto_refresh=False) as shown:
        task = shown.add_task(title, total=1.0, words="")
        last = (-1.0, "")

        def show(share: float, text: str) -> None:
            nonlocal last
            if share < 1 and abs(share - last[0]) < REFRESH and text == last[1]:
                return
            last = (share, text)
            shown.update(task, completed=share, words=clean(text), refresh=True)

        yield show


class _Lines:
    """A line for every tenth."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._last = -1

    def __call__(self, share: float, text: str) -> None:
        tenth = int(share * 10 + ROUNDING)
        if tenth > self._last:
            say(f"{self._title}: {share:.0%}  {text}")
            self._last = tenth


def size_of(count: int) -> str:
    """Return a number of bytes for people."""
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:  # noqa: PLR2004 - SI prefixes
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
