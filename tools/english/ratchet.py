"""Which pages are checked, and how often each may still break each rule.

The file of allowed counts only shrinks. A page that breaks a rule more often than allowed fails. So does an allowed
count that is too high, until `make english` lowers it.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Final

from tools.english.prose import Sentence, of_markdown, of_openapi, of_python
from tools.english.rules import Finding, findings

ROOT: Final = Path(__file__).parents[2]
ALLOWED: Final = Path(__file__).with_name("allowed.json")
CODE: Final = ("shared", "functions", "infra", "cli", "simulator", "benchmarks", "tools", "sdks/python", "packages")
"""Folders whose docstrings are checked."""
GENERATED: Final = "_generated"
"""A folder that no checkout has before it is set up."""
OPENAPI: Final = "functions/api/openapi.json"

_READERS: Final[Mapping[str, Callable[[str], Iterator[Sentence]]]] = {
    ".md": of_markdown,
    ".json": of_openapi,
    ".py": of_python,
}
Counts = Mapping[str, Mapping[str, int]]
"""Page → rule → how often the page breaks it."""


def pages(root: Path) -> list[str]:
    """Return the paths of what a user or a contributor reads, relative to the checkout: pages, then modules."""
    decisions = root / "docs" / "adr"
    docs = [page for page in (root / "docs").rglob("*.md") if decisions not in page.parents]
    top = [page for page in root.glob("*.md") if page.name != "CHANGELOG.md"]
    found = sorted(page.relative_to(root).as_posix() for page in [*top, *docs])
    return [*found, *([OPENAPI] if (root / OPENAPI).exists() else []), *modules(root)]


def modules(root: Path) -> list[str]:
    """Return the paths of the modules whose docstrings are checked, relative to the checkout."""
    found = (module for folder in CODE for module in (root / folder).rglob("*.py"))
    return sorted(x.relative_to(root).as_posix() for x in found if GENERATED not in x.parts)


def check(root: Path, page: str) -> list[Finding]:
    """Return what breaks a rule on a page, in the order of its lines."""
    text = (root / page).read_text("utf-8")
    read = _READERS[PurePath(page).suffix]
    return [finding for sentence in read(text) for finding in findings(sentence)]


def counted(found: Mapping[str, list[Finding]]) -> dict[str, dict[str, int]]:
    """Return how often each page breaks each rule; a rule that a page keeps is not in it."""
    return {
        page: dict(sorted(Counter(f.rule for f in broken).items())) for page, broken in sorted(found.items()) if broken
    }


def exceeded(now: Counts, allowed: Counts) -> list[tuple[str, str, int, int]]:
    """Return page, rule, count and allowed count where a page breaks a rule more often than it may."""
    return [
        (page, rule, count, allowed.get(page, {}).get(rule, 0))
        for page, rules in now.items()
        for rule, count in rules.items()
        if count > allowed.get(page, {}).get(rule, 0)
    ]


def slack(now: Counts, allowed: Counts) -> list[tuple[str, str, int, int]]:
    """Return page, rule, count and allowed count where the allowed count is too high."""
    return [
        (page, rule, now.get(page, {}).get(rule, 0), most)
        for page, rules in allowed.items()
        for rule, most in rules.items()
        if now.get(page, {}).get(rule, 0) < most
    ]


def lowered(now: Counts, allowed: Counts) -> dict[str, dict[str, int]]:
    """Return the allowed counts, none higher than before, and none higher than it must be."""
    both = {
        page: {rule: min(most, now[page][rule]) for rule, most in rules.items() if rule in now[page]}
        for page, rules in allowed.items()
        if page in now
    }
    return {page: rules for page, rules in both.items() if rules}


def load(file: Path) -> dict[str, dict[str, int]]:
    """Return the allowed counts of a file; none if it does not exist."""
    counts: dict[str, dict[str, int]] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return counts


def store(file: Path, counts: Counts) -> None:
    """Write the allowed counts, a line for each, so that two branches which lower different ones merge."""
    file.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n", "utf-8")
