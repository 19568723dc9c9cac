"""Commands of the pages, as a reader types them.

A block of commands, or a line with some, that needs AWS itself is marked with its reason: `<!-- only on AWS: … -->`,
before the block or at the end of the line. Everything else has to run on the local cloud.
"""

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Final

from infra.local.paths import ROOT

DOCS: Final = ROOT / "docs"
PROGRAMS: Final = 'PATH="$PWD/programs:$PWD/.venv/bin:$PATH"\n'
"""Typed first in a checkout that has programs."""
MARK: Final = re.compile(r"<!-- only on AWS: (.+?) -->")
SHELL: Final = "sh"
"""The language of blocks that are typed."""
UNTYPED: Final = {
    "make up\n": "the cloud of the tests is up before they begin",
    "make down\n": "the cloud of the tests is needed by other tests",
    "make run ": "it stays up until Ctrl-C; make demo checks the same newsletter in CI",
    "make test ": "it is what runs the tests",
    "make wheel ": "tests/cli/test_wheel.py builds the package, installs it and uses it",
    "posthaste campaign list --json | jq ": "jq is no package of this repository",
    ".venv/bin/pytest -q tests/providers -k example\n": "the reader writes the provider that it tests",
    "curl -s https://api.github.com/": "it asks GitHub",
    "posthaste restore copy ": "tests/deployed/losses.py runs it, with copies that it makes",
    "# in the old cell\nposthaste account depart ": "tests/cli/test_moving_cells.py moves an account",
    "posthaste account depart ACCOUNT account.jsonl --again": "the same",
    "npx cdk deploy --app ": "tests/infra/test_router.py reads the settings that it gives",
    "aws sts get-session-token ": "it needs a person's second factor",
}
"""How blocks begin that no test types → the reason."""
TYPED: Final = {
    "README": "test_guides",
    "campaigns": "../api/test_guide",
    "cli": "test_guides",
    "digests-guide": "test_digests",
    "first-deploy": "test_guides",
    "hooks": "test_guides",
    "mails": "test_mails",
    "notices": "test_guides",
    "notifier-spool": "test_guides",
    "operations": "test_runbooks",
    "providers/twilio": "test_guides",
    "rehearse": "test_guides",
    "relay": "test_guides",
    "senders": "test_guides",
    "shop": "../api/test_shop_guide",
    "staging": "test_guides",
    "tutorial": "test_tutorial",
}
"""Pages → the module, from this folder, that types their blocks. `test_runbooks` types all pages of runbooks."""
RUN: Final = {
    "adding-a-provider": "it is the type of a provider's entry, and calls nothing",
    "coming-from-sendgrid": "tests/deployed/test_coming.py runs each program",
    "doors": "tests/api/test_door_page.py runs each program",
    "notices": "tests/deployed/test_guides.py runs both functions",
    "sdks": "tests/deployed/test_sdks.py runs each program",
}
"""Pages with programs → what runs these."""
OUTPUT: Final = frozenset({"json", "text"})
"""The languages of blocks that show an answer, or a file."""
_FENCE: Final = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<kind>[^`]*)$")
_SPAN: Final = re.compile(r"`((?:posthaste|aws|curl|\.venv/bin/\w+) [^`]*)`")


@dataclass(frozen=True, slots=True)
class Fence:
    """A block of a page between two fences, also one that is indented.

    Attributes:
        kind: its language, as it is written behind the first fence.
        text: what is between the fences, without the indent.
        reason: why its commands run on AWS only; empty: they run on the local cloud.
        begin: the place of the first fence in the page, as the number of its line.
        end: the line after the last fence.
    """

    kind: str
    text: str
    reason: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands of a page.

    Attributes:
        text: what is typed.
        reason: why they run on AWS only; empty: they run on the local cloud.
    """

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Step:
    """A block of commands, and the answer that the page shows: `kind` is `json` or `text`; empty: there is none."""

    commands: str
    kind: str = ""
    answer: str = ""


def page(name: str) -> str:
    """Return the text of a page. `name`: below `docs/`, without its suffix; `README` is the one of the checkout."""
    return (ROOT / "README.md" if name == "README" else DOCS / f"{name}.md").read_text("utf-8")


def fences(text: str) -> list[Fence]:
    """Return the blocks of a page, in order.

    Raises:
        ValueError: if a fence has no end.
    """
    found = []
    lines = text.splitlines(keepends=True)
    place = 0
    while place < len(lines):
        first = _FENCE.match(lines[place].rstrip())
        if first is None:
            place += 1
            continue
        closing = [n for n, line in enumerate(lines[place + 1 :], place + 1) if line.strip() == first["ticks"]]
        if not closing:
            raise ValueError(f"line {place + 1}: the block has no end")
        inside = "".join(line.removeprefix(first["indent"]) for line in lines[place + 1 : closing[0]])
        found.append(Fence(first["kind"].strip(), inside, _mark_above(lines, place), place, closing[0] + 1))
        place = closing[0] + 1
    return found


def _mark_above(lines: Sequence[str], place: int) -> str:
    """Return the reason in the line above a block, or above the empty line there."""
    above = [line.strip() for line in lines[max(place - 2, 0) : place] if line.strip()]
    mark = MARK.fullmatch(above[-1]) if above else None
    return mark[1] if mark else ""


def blocks(text: str) -> list[Commands]:
    """Return the blocks of a page that are typed into a shell, in order."""
    return [Commands(fence.text, fence.reason) for fence in fences(text) if fence.kind == SHELL]


def steps(text: str) -> list[Step]:
    """Return the blocks of a page that run on the local cloud, in order, each with its answer.

    The answer is the next block, if no heading is between.
    """
    found = []
    lines = text.splitlines()
    parts = fences(text)
    for part, following in zip_longest(parts, parts[1:]):
        if part.kind != SHELL or part.reason or part.text.startswith(tuple(UNTYPED)):
            continue
        between = lines[part.end : following.begin] if following else []
        if following and following.kind in OUTPUT and not any(line.startswith("#") for line in between):
            found.append(Step(part.text, following.kind, following.text))
        else:
            found.append(Step(part.text))
    return found


def spans(text: str) -> Iterator[Commands]:
    """Yield the commands that a page has in its sentences, in order."""
    inside = {n for fence in fences(text) for n in range(fence.begin, fence.end)}
    for n, line in enumerate(text.splitlines()):
        mark = MARK.search(line)
        for command in _SPAN.findall(line) if n not in inside else ():
            yield Commands(command, mark[1] if mark else "")


def local(text: str) -> list[str]:
    """Return the blocks of a page that run on the local cloud."""
    return [block.text for block in blocks(text) if not block.reason]


def filled(command: str, values: dict[str, str]) -> str:
    """Return a command with values for its placeholders, which are words in capitals."""
    return re.sub(r"(?<![$\w{])[A-Z][A-Z_]*(?![\w},])", lambda word: values.get(word[0], word[0]), command)


def add_programs(folder: Path, forked: Mapping[str, Sequence[str]]) -> None:
    """Put programs into a checkout: those that are forked, and a `curl` that fails if the answer does.

    Args:
        folder: the checkout.
        forked: what begins `posthaste`, and an `aws` that calls the emulator.
    """
    programs = folder / "programs"
    programs.mkdir()
    curl = [shutil.which("curl") or "curl", "--fail-with-body"]
    for name, words in {**forked, "curl": curl}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', "utf-8")
        (programs / name).chmod(0o755)
