"""Each test is in a tier, the first one says what it leaves, and what changed chooses the tests that reach it."""

import itertools
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from infra.settings import ROOT
from tests import changed, proofs, quick, tiers
from tests.imports import graph
from tests.outcomes import Outcome

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
HERE = re.findall(r"^HERE := (.*)$", MAKEFILE, re.MULTILINE)[0]
SELECTIONS = [x.replace("$(HERE)", HERE) for x in re.findall(r"\$\(PYTEST\) -m \"?([^-\"\n]*?)\"? [$t-]", MAKEFILE)]
"""What the targets of the Makefile choose by marks."""


ALONE = ("-c", "pyproject.toml", "--rootdir", str(ROOT), "-p", "no:cacheprovider", "-p", "tests.conftest")
"""Options for tests that are elsewhere."""


def chooses(selection: str, marks: set[str]) -> bool:
    """Tell whether `-m` chooses a test with those marks; its grammar is Python's."""
    known = dict.fromkeys(("slow", "hypothesis", "deployed", "browser"), False) | dict.fromkeys(marks, True)
    return bool(eval(selection, {}, known))  # noqa: S307 - our own Makefile


def test_whatever_its_marks_a_test_is_in_the_first_tier_or_in_the_rest_that_ci_runs() -> None:
    rest = [x for x in SELECTIONS if x != HERE]
    assert sorted(rest) == ["browser", "browser", "deployed", f"{HERE} and (slow or hypothesis)"]
    for count in range(5):
        for marks in itertools.combinations(("slow", "hypothesis", "deployed", "browser"), count):
            assert any(chooses(x, {*marks}) for x in (tiers.QUICK_TESTS, *rest)), marks


def test_ci_runs_the_target_of_each_choice() -> None:
    targets = re.findall(r"^(test-\w+):.*\n(?:\t.*\n)*?\t.*\$\(PYTEST\) -m", MAKEFILE, re.MULTILINE)
    steps = " ".join(re.findall(r"^step make (.*)$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)).split()
    for gathering in ("test-rest", "test-browser"):
        assert gathering in steps
        steps += re.findall(rf"^{gathering}: ([^#]*)", MAKEFILE, re.MULTILINE)[0].split()
    assert sorted({*targets} - {*steps}) == ["test-unit"], "of which `make test` has the rest"


def test_the_first_tier_is_all_without_a_cloud_that_is_not_slow_and_its_properties_come_again() -> None:
    assert chooses(tiers.QUICK_TESTS, {"hypothesis"})
    assert not chooses(tiers.QUICK_TESTS, {"slow"})
    assert chooses(f"{HERE} and (slow or hypothesis)", {"hypothesis"})
    assert not chooses(f"{HERE} and (slow or hypothesis)", set())


def test_the_first_tier_looks_for_its_tests_in_every_file() -> None:
    git = shutil.which("git") or "git"
    listed = subprocess.run(
        [git, "ls-files", "tests/**/test_*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(listed.stdout.split()) <= set(quick.files())
    assert "tests/deployed/test_lists.py" in quick.files(), "which needs no cloud"


def test_a_file_with_tests_in_a_browser_names_their_mark_itself() -> None:
    assert "grep -rl 'mark\\.browser' tests --include='test_*.py'" in MAKEFILE, "how test-pages finds its files"
    files = [x for x in (ROOT / "tests").rglob("*.py") if "mark.browser" in x.read_text("utf-8")]
    assert {x.name for x in files if not x.name.startswith("test_")} == set()


@pytest.mark.slow
def test_files_are_shared_out_and_what_came_of_all_is_added_up(tmp_path: Path) -> None:
    texts = {"fails": "assert 0", "passes": "pass", "slow": "pass", "passes_too": "pass", "more": "pass"}
    for name, body in texts.items():
        mark = "import pytest\n@pytest.mark.slow\n" if name == "slow" else ""
        (tmp_path / f"test_{name}.py").write_text(f"{mark}def test_it(): {body}\n")
    names = [str(tmp_path / f"test_{name}.py") for name in texts]
    code, outcome = quick.shared(names, tmp_path / "reports", *ALONE)
    assert (code, outcome.ended, outcome.left) == (1, Counter(passed=3, failed=1), Counter(slow=1))
    assert quick.shared(names[2:3], tmp_path / "reports", *ALONE)[0] == 0
    late = quick.shared(names, tmp_path / "reports", "--seconds=0", *ALONE)
    assert (late[0], late[1].ended, late[1].left) == (0, Counter(), Counter(late=4, slow=1))


@pytest.mark.slow
def test_a_property_draws_a_fifth_of_its_examples_in_the_quick_profile() -> None:
    load = "from tests import tiers; tiers.register(); tiers.settings.load_profile(tiers.QUICK)"
    code = f"{load}; print(*map(tiers.examples, (100, 300, 12, 3, 1)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "20 60 2 1 1\n"


def test_some_cases_are_slow() -> None:
    plain, marked = tiers.some_slow(["a", "b"], {"b"})
    assert plain == "a"
    assert (marked.values, [mark.name for mark in marked.marks]) == (("b",), ["slow"])


TESTS = """
import pytest
def test_passes(): pass
def test_fails(): assert False
@pytest.fixture
def broken(): raise ValueError
def test_breaks(broken): pass
@pytest.mark.slow
def test_slow(): pass
@pytest.mark.deployed
@pytest.mark.slow
def test_deployed(): pass
"""


@pytest.mark.slow
def test_what_came_of_a_run_is_counted_with_what_it_left_out(tmp_path: Path) -> None:
    file, found = tmp_path / "test_some.py", tmp_path / "found.json"
    file.write_text(TESTS)
    words = [*quick.PYTEST, *ALONE, "-p", "tests.outcomes", "--outcome", str(found), str(file)]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    outcome = Outcome.read(found)
    assert (done.returncode, outcome.ended) == (1, Counter(passed=1, failed=1, error=1)), done.stdout.decode()
    assert outcome.left == Counter(slow=1, deployed=1)


def test_the_last_line_says_what_passed_how_long_it_took_and_what_is_left(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    file.write_text(json.dumps([{"passed": 5, "failed": 1}, {"slow": 5, "browser": 2}]))
    line = quick.closing(Outcome.read(file), 1, 12.6)
    assert line.startswith("5 passed, 1 failed in 13 s; main job on a local cloud: failed; left to make test-all: 7 ")
    assert "7 tests (2 browser, 5 slow)" in line


def test_lines_of_progress_are_printed_at_once_and_the_others_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    script = "print('one'); print('... [ 50%]'); print('two'); raise SystemExit(3)"
    process = quick.Process([sys.executable, "-c", script])
    assert process.ended() == 3
    assert capsys.readouterr().out == "... [ 50%]\none\ntwo\n"


TEXTS = {
    "shared.rule": "",
    "shared.use": "from shared import rule",
    "shared.page": "FILE = 'page.html'",
    "functions.api": "def f():\n    from shared.use import x",
    "tests.conftest": "import shared.rule",
    "tests.api.conftest": "import functions.api",
    "tests.api.test_api": "",
    "tests.test_rule": "import shared.rule",
    "tests.test_page": "import shared.page",
}


@pytest.mark.parametrize(
    ("files", "tests"),
    [
        (["shared/rule.py"], ["tests.test_rule", "tests.api.test_api"]),
        (["shared/use.py"], ["tests.api.test_api"]),
        (["shared/templates/page.html"], ["tests.test_page"]),
        (["shared/templates/unnamed.html"], ["tests.test_page", "tests.test_rule", "tests.api.test_api"]),
        (["tests/test_rule.py"], ["tests.test_rule"]),
        (["tests/conftest.py"], ["tests.api.test_api", "tests.test_page", "tests.test_rule"]),
        (["tests/api/conftest.py"], ["tests.api.test_api"]),
        (["shared/gone.py"], []),
        (["LICENSE"], []),
    ],
    ids=" ".join,
)
def test_what_changed_is_followed_to_its_tests_the_nearest_first(files: list[str], tests: list[str]) -> None:
    assert changed.reached(files, TEXTS) == tests


def test_imports_are_found_wherever_they_are() -> None:
    assert graph(TEXTS)["functions.api"] == {"shared.use"}


def test_every_proof_is_a_target_and_its_last_line_is_its_figure() -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    assert set(proofs.PROOFS) <= targets
    printed = "kills\n12 kills, 0 faults\n\n[  65.7 s] stop emulator (0.4 s)\nmake: *** [Makefile:1: x] Error 1\n"
    assert proofs.figure_of(printed) == "12 kills, 0 faults"


@pytest.mark.parametrize(("code", "verdict"), [(0, "ok"), (3, "FAILED")])
def test_a_proof_has_its_row_with_verdict_and_figure(tmp_path: Path, code: int, verdict: str) -> None:
    found = proofs.prove("model", [sys.executable, "-c", f"print('7 states'); raise SystemExit({code})"], tmp_path)
    assert found.row().split() == ["model", verdict, f"{found.seconds:.0f}", "s", "7", "states"]
    assert (tmp_path / "model.log").read_text() == "7 states\n"
