"""The page of costs is what the meter printed, and the README says the same."""

import re
from pathlib import Path

import pytest

from benchmarks.__main__ import COST, MARK, ROOT, insert, printed


def test_what_was_printed_is_read_again_and_nothing_else_is_changed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"above\n\n{MARK}\n| old |\n{MARK}\nbelow\n", encoding="utf-8")
    insert(page, "| new |\n| 1 |")
    assert printed(page) == "| new |\n| 1 |"
    assert page.read_text("utf-8") == f"above\n\n{MARK}\n| new |\n| 1 |\n{MARK}\nbelow\n"


def test_a_page_without_its_markers_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{MARK} once", encoding="utf-8")
    with pytest.raises(ValueError, match=r"page\.md lacks its markers"):
        insert(page, "x")


def test_lines_add_up_and_the_readme_names_the_same_totals() -> None:
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in printed(COST).splitlines()]
    columns = list(zip(*rows[2:], strict=True))[1:]
    for *lines, total in columns:
        assert sum(map(float, lines)) == pytest.approx(float(total), abs=0.009)
    batched, single, together, _, campaign = (total for *_, total in columns)
    readme = re.search(r"## What it costs\n\n(.*)", (ROOT / "README.md").read_text("utf-8"))
    assert readme
    named = re.findall(r"\$(\d+\.\d\d)\b", readme[1])[:4]
    assert named == [batched, together, single, campaign]
