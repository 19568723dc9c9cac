"""`python -m tools.english`: check that pages and docstrings are plain English; the exit code is 1 if one is not.

`--all` prints every finding, also those that are still allowed; paths after it choose the pages. `--lower` writes the
lower counts that the pages reach into the file of allowed counts, and never a higher one (`make english`).
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.english.ratchet import ALLOWED, ROOT, check, counted, exceeded, load, lowered, pages, slack, store
from tools.english.rules import Finding


def main(arguments: list[str], *, root: Path = ROOT, file: Path = ALLOWED) -> int:
    """Return the exit code.

    Args:
        arguments: As on the command line.
        root: The checkout whose pages are checked.
    """
    asked = _parser().parse_args(arguments)
    if asked.all:
        _print({page: check(root, page) for page in asked.pages or pages(root)})
        return 0
    found = {page: check(root, page) for page in pages(root)}
    now, allowed = counted(found), load(file)
    if asked.lower:
        allowed = lowered(now, allowed)
        store(file, allowed)
    over, under = exceeded(now, allowed), slack(now, allowed)
    for page, rule, count, most in over:
        _print({page: [finding for finding in found[page] if finding.rule == rule]})
        sys.stdout.write(f"{page}: {rule}: {count} findings, {most} allowed\n")
    for page, rule, count, most in under:
        sys.stdout.write(f"{page}: {rule}: {count} findings, {most} allowed: run `make english` to lower the count\n")
    return 1 if over or under else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.english")
    parser.add_argument("--all", action="store_true", help="print every finding, also those that are allowed")
    parser.add_argument("--lower", action="store_true", help="lower the allowed counts to what the pages reach")
    parser.add_argument("pages", nargs="*", help="with --all: only these pages")
    return parser


def _print(found: Mapping[str, list[Finding]]) -> None:
    for page, broken in found.items():
        for finding in broken:
            sys.stdout.write(f"{page}:{finding.line}: {finding.rule}: {finding.text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
