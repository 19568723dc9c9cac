"""Sabotages must keep up with the code that they sabotage; `make mutants` runs them."""

import ast
import signal
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.run import ROOT, Bench, Dependents, Misfit, judge, mutated
from tests.mutants.runner import forget

PROMISES = range(1, 15)
each = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)


@cache
def statements(file: str) -> list[ast.stmt]:
    """Return what a file of tests begins with at the left margin."""
    return ast.parse((ROOT / file).read_text(encoding="utf-8")).body


@each
def test_a_sabotage_applies_exactly_once_and_changes_shipped_code(mutant: Mutant) -> None:
    assert mutant.file.split("/")[0] in {"shared", "functions", "cli"}
    assert mutated(mutant) != (ROOT / mutant.file).read_text(encoding="utf-8")


@each
def test_a_sabotage_names_a_test_that_there_is(mutant: Mutant) -> None:
    file, _, name = mutant.test.partition("::")
    there = {node.name: node for node in statements(file) if isinstance(node, ast.FunctionDef)}
    found = there.get(name.partition("[")[0])
    assert found is not None
    cases = any("parametrize" in ast.unparse(x) for x in found.decorator_list)
    assert name.endswith("]") or not cases, "a sabotage is noticed by one case"


def test_every_promise_is_broken_by_a_sabotage_that_names_it() -> None:
    assert len(MUTANTS) >= 12
    assert len({m.name for m in MUTANTS}) == len(MUTANTS)
    assert {m.promise for m in MUTANTS} == set(PROMISES)


@pytest.mark.parametrize(("old", "new"), [("no such line", ""), ("import", ""), ("def pace(", "def pace((")])
def test_a_sabotage_that_does_not_fit_is_an_error(old: str, new: str) -> None:
    with pytest.raises(Misfit):
        mutated(replace(MUTANTS[0], file="shared/domain/lanes/pacing.py", old=old, new=new))


@pytest.mark.parametrize(
    ("code", "inside", "verdict"),
    [
        (1, '<failure message="AssertionError: assert 2 == 1"/>', "killed"),
        (1, '<failure message="assert 2 == 1"/>', "killed"),
        (1, '<failure message="Failed: DID NOT RAISE x"/>', "killed"),
        (1, "<failure message=\"KeyError: 'code'\"/>", "no assertion: KeyError"),
        (1, '<failure message="assert 2 == 1"/><failure message="assert 3 == 1"/>', "broke outside the test"),
        (1, '<error message="failed on setup"/>', "broke outside the test"),
        (0, "", "SURVIVED"),
        (2, '<error message="collection failure"/>', "pytest ended with 2"),
        (4, "", "pytest ended with 4"),
        (5, "", "pytest ended with 5"),
        (-signal.SIGKILL, "", "did not end"),
        (-signal.SIGTERM, "", "pytest ended with -15"),
    ],
)
def test_only_a_failed_assertion_kills(tmp_path: Path, code: int, inside: str, verdict: str) -> None:
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite><testcase>{inside}</testcase></testsuite></testsuites>")
    assert judge(code, report) == verdict


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("select.select, [], [], [], seconds=0.2", -signal.SIGKILL),
        ("signal.raise_signal, signal.SIGTERM, seconds=60", -signal.SIGTERM),
        ("os._exit, 3, seconds=60", 3),
    ],
    ids=["hangs", "is killed", "ends"],
)
def test_a_hanging_child_is_killed_in_time_and_each_end_is_reported(call: str, code: int) -> None:
    script = f"import os, select, signal; from tests.mutants.runner import run; print(run({call}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=60)
    assert int(done.stdout) == code


@pytest.mark.slow
def test_no_sabotage_is_applied_before_the_runner_has_imported_what_it_may_change(tmp_path: Path) -> None:
    base = tmp_path / "base"
    for name in ("shared/__init__.py", "tests/__init__.py", "tests/fakes/__init__.py", "tests/fakes/descriptions.py"):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).touch()
    (base / "shared/rule.py").write_text("import pathlib\npathlib.Path('imported').touch()\n")
    with Bench(base, tmp_path / "copy", Dependents(base)):
        assert (tmp_path / "copy" / "imported").exists()


def is_slow(test: str) -> bool:
    """Tell whether the first tier leaves a named test out."""
    file, _, name = test.partition("::")
    body = statements(file)
    function = next(x for x in body if isinstance(x, ast.FunctionDef) and x.name == name.partition("[")[0])
    whole = [x for x in body if isinstance(x, ast.Assign) and ast.unparse(x.targets[0]) == "pytestmark"]
    return any("pytest.mark.slow" in ast.unparse(x) for x in (*function.decorator_list, *whole))


def test_the_first_tier_notices_most_sabotages_and_some_of_each_kind() -> None:
    slow = {test for test in {m.test for m in MUTANTS} if is_slow(test)}
    noticed = [m for m in MUTANTS if m.test not in slow]
    assert len(noticed) >= 0.8 * len(MUTANTS)
    assert {m.promise for m in noticed} == set(PROMISES)
    assert {m.file.split("/")[1] for m in noticed} == {m.file.split("/")[1] for m in MUTANTS}


def test_a_changed_module_is_imported_anew_with_all_that_hold_something_of_it(tmp_path: Path) -> None:
    texts = {
        "shared/rule.py": "",
        "shared/use.py": "from shared.rule import x",
        "shared/apart.py": "",
        "shared/pack/__init__.py": "import shared.use",
        "shared/pack/inner.py": "",
        "functions/page.py": "def f():\n    from shared.pack import x",
        "tests/fakes/one.py": "import shared.rule",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    dependents = Dependents(tmp_path)
    anew = ["functions.page", "shared.pack", "shared.pack.inner", "shared.rule", "shared.use"]
    assert dependents.of("shared/rule.py") == anew
    assert dependents.of("functions/page.py") == ["functions.page"]
    assert dependents.of("tests/fakes/one.py") == [], "no runner has imported it"


def test_what_is_forgotten_is_imported_anew_also_by_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"forgotten_{tmp_path.name.replace('-', '_')}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / package / "rule.py").write_text("x = 1")
    monkeypatch.syspath_prepend(tmp_path)
    read = f"from {package} import rule; found = rule.x"
    before: dict[str, int] = {}
    exec(read, before)  # noqa: S102 - our own text
    (tmp_path / package / "rule.py").write_text("x = 22")
    forget([f"{package}.rule"])
    after: dict[str, int] = {}
    exec(read, after)  # noqa: S102
    assert (before["found"], after["found"]) == (1, 22)
    forget([f"{package}.rule", package])
