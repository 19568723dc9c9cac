"""The tour of CONTRIBUTING.md is that of the code, and each place that the page names exists."""

import re
from pathlib import Path

import pytest

from tools import tour

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
NAMED = sorted({path.rstrip("*") for path in re.findall(r"`((?!\.local/)(?:[\w.-]+/)+[\w.-]*|\.ci/run)`", PAGE)})


def test_the_tour_is_that_of_the_marks_in_the_code() -> None:
    assert tour.page(PAGE) == PAGE, "run: make tour"
    assert tour.table().count("\n") > 25


@pytest.mark.parametrize("path", NAMED)
def test_a_file_or_folder_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_page_names_files_and_folders() -> None:
    assert {".ci/run", "tests/attacks/", "shared/engine/intake/"} <= set(NAMED)


def test_the_workflow_only_calls_what_ci_runs_everywhere() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert re.findall(r"^ +(?:- )?run: (.*)$", workflow, re.MULTILINE) == [".ci/run"]
