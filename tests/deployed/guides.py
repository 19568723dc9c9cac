"""Commands of the pages, as a reader types them.

A block of commands, or a line with some, that needs AWS itself is marked with its reason: `<!-- only on AWS: … -->`,
before the block or at the end of the line. Everything else has to run on the local cloud.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.local.paths import ROOT

DOCS: Final = ROOT / "docs"
MARK: Final = re.compile(r"<!-- only on AWS: (.+?) -->")
_PIECE: Final = re.compile(
    r"(?:^<!-- only on AWS: (?P<mark>[^\n]+?) -->\n\n?)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_SPAN: Final = re.compile(r"`((?:posthaste|aws|curl|\.venv/bin/\w+) [^`]*)`")


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands of a page.

    Attributes:
        text: what is typed.
        reason: why they run on AWS only; empty: they run on the local cloud.
    """

    text: str
    reason: str


def page(name: str) -> str:
    """Return the text of a page. `name`: below `docs/`, without its suffix."""
    return (DOCS / f"{name}.md").read_text("utf-8")


def blocks(text: str) -> list[Commands]:
    """Return the blocks of a page that are typed into a shell, in order."""
    return [Commands(x["text"], x["mark"] or "") for x in _PIECE.finditer(text) if x["kind"] == "sh"]


def spans(text: str) -> Iterator[Commands]:
    """Yield the commands that a page has in its sentences, in order."""
    for line in _PIECE.sub("", text).splitlines():
        mark = MARK.search(line)
        for command in _SPAN.findall(line):
            yield Commands(command, mark[1] if mark else "")


def local(text: str) -> list[str]:
    """Return the blocks of a page that run on the local cloud."""
    return [block.text for block in blocks(text) if not block.reason]


def filled(command: str, values: dict[str, str]) -> str:
    """Return a command with values for its placeholders, which are words in capitals."""
    return re.sub(r"(?<![$\w{])[A-Z][A-Z_]*(?![\w},])", lambda word: values.get(word[0], word[0]), command)


def with_aws(folder: Path) -> None:
    """Put an `aws` into a checkout that calls the emulator by its shell's environment."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "aws").write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m tests.deployed.aws_cli "$@"\n', "utf-8"
    )
    (programs / "aws").chmod(0o755)
