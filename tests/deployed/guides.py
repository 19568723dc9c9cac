"""Commands of the pages, as a reader types them.

A block of commands, or a line with some, that needs AWS itself is marked with its reason: `<!-- only on AWS: … -->`,
before the block or at the end of the line. Everything else has to run on the local cloud.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.local.paths import ROOT

DOCS: Final = ROOT / "docs"
FOLLOWED: Final = frozenset({"rehearse", "first-deploy", "hooks", "relay", "notifier-spool", "notices"})
"""Pages that tests/deployed/test_guides.py follows."""
FOLLOWED_ELSEWHERE: Final = frozenset({"tutorial", "mails", "digests-guide", "campaigns"})
"""Pages that have a test of their own."""
LOOKED_UP: Final = frozenset({"adding-a-provider", "operations", "deploying", "cli", "console"})
"""No guides. tests/docs/test_docs.py checks that their commands and options exist."""
PROGRAMS: Final = 'PATH="$PWD/programs:$PWD/.venv/bin:$PATH"\n'
"""Typed first in a checkout that has programs."""
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


def add_programs(folder: Path) -> None:
    """Put programs into a checkout: an `aws` that calls the emulator, and a `curl` that fails if the answer does."""
    programs = folder / "programs"
    programs.mkdir()
    for name, command in (
        ("aws", f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m tests.deployed.aws_cli'),
        ("curl", f'exec "{shutil.which("curl")}" --fail-with-body'),
    ):
        (programs / name).write_text(f'#!/bin/sh\n{command} "$@"\n', "utf-8")
        (programs / name).chmod(0o755)
