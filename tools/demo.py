"""`make demo-page`: put what `make demo` prints, from standard input, into the README; print it too."""

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FIRST, LAST = "<!-- demo: renewed by `make demo-page` -->\n", "<!-- end of the demo -->\n"
STEP: Final = re.compile(r"^\[ *\d+\.\d s\]")
PROVEN: Final = "each exactly once"
"""The phrase in the summary of a run without a fault."""
SHOWN: Final = 3
"""Lines shown of a step's progress, at its beginning and at its end."""


def block(printed: str, root: Path = ROOT) -> str:
    """Return a run's output as a block of Markdown, from its first step on, with paths from the checkout.

    Args:
        printed: by `make demo`, with what its set-up prints.
        root: the checkout that it ran in.

    Raises:
        ValueError: it has no step, or its summary proves nothing.
    """
    lines = [line.rstrip() for line in printed.replace(f"{root}/", "").splitlines()]
    start = next((i for i, line in enumerate(lines) if STEP.match(line)), None)
    if start is None or not any(PROVEN in line for line in lines):
        raise ValueError("the demo did not succeed")
    return "```text\n" + "\n".join(_shortened(lines[start:])).rstrip() + "\n```\n"


def _shortened(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines, with `…` in place of the middle of a long progress, whose lines are indented."""
    for indented, some in groupby(lines, key=lambda line: line.startswith(" ")):
        group = list(some)
        if indented and len(group) > 2 * SHOWN:
            group[SHOWN:-SHOWN] = [f"{' ' * (len(group[0]) - len(group[0].lstrip()))}…"]
        yield from group


def renewed(page: str, text: str) -> str:
    """Return a page with a block of Markdown between the two marks.

    Args:
        page: the page, which has both marks.
    """
    before, rest = page.split(FIRST)
    _, after = rest.split(LAST)
    return f"{before}{FIRST}\n{text}\n{LAST}{after}"


def main(root: Path = ROOT) -> None:
    """Read standard input, pass it on, and write the README of a checkout."""
    lines = []
    for line in sys.stdin:
        sys.stdout.write(line)
        lines.append(line)
    page = root / "README.md"
    page.write_text(renewed(page.read_text("utf-8"), block("".join(lines), root)), "utf-8")


if __name__ == "__main__":
    main()
