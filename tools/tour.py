"""`make tour`: writes the table "I want to change" of CONTRIBUTING.md from marks in the code.

A mark is a comment on the line before a name: `# change: the longest cell of an uploaded list`.
"""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "CONTRIBUTING.md"
FOLDERS: Final = ("shared", "functions", "infra", "cli")
HEAD: Final = "| I want to change | file | name in it |\n|---|---|---|\n"
_MARK: Final = re.compile(r"^ *# change: (.+)\n(?: *@.*\n)* *(?:class |def )?(\w+)", re.MULTILINE)
_TABLE: Final = re.compile(rf"{re.escape(HEAD)}(?:\|.*\n)*")


def table(root: Path = ROOT) -> str:
    """Return a row for each mark in the code, by folder and file."""
    files = sorted(file for folder in FOLDERS for file in (root / folder).rglob("*.py"))
    found = ((file.relative_to(root), _MARK.findall(file.read_text(encoding="utf-8"))) for file in files)
    return HEAD + "".join(f"| {what} | `{file}` | `{name}` |\n" for file, marks in found for what, name in marks)


def page(text: str, root: Path = ROOT) -> str:
    """Return a page with its table as the code is now."""
    return _TABLE.sub(lambda _: table(root), text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
