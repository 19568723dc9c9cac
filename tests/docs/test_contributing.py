"""The tour of CONTRIBUTING.md: each place that it names exists, and has what the tour says is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
TOUR = re.findall(r"^\| [^|]+ \| `([^`]+)` \| `(\w+)` \|$", PAGE, re.MULTILINE)
NAMED = sorted({path.rstrip("*") for path in re.findall(r"`((?!\.local/)(?:[\w.-]+/)+[\w.-]*|\.ci/run)`", PAGE)})


@pytest.mark.parametrize(("file", "name"), TOUR)
def test_a_place_of_the_tour_has_what_it_is_visited_for(file: str, name: str) -> None:
    assert re.search(rf"\b{name}\b", (ROOT / file).read_text("utf-8"))


@pytest.mark.parametrize("path", NAMED)
def test_a_file_or_folder_that_is_named_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_tour_has_at_least_ten_places() -> None:
    assert len(TOUR) >= 10
    assert {"shared/providers/sendgrid/send.py", "shared/engine/intake/accept.py"} <= {file for file, _ in TOUR}
    assert {".ci/run", "tests/attacks/", "shared/engine/intake/"} <= set(NAMED)


def test_the_workflow_only_calls_what_ci_runs_everywhere() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert re.findall(r"^ +(?:- )?run: (.*)$", workflow, re.MULTILINE) == [".ci/run"]
