"""Applies sabotages to copies of the tree and runs the one test that each must turn red; the checkout is not touched.

A kill is a test that ran and whose assertion failed. A test that could not be collected, that broke on something
else than an assertion or that did not end tells nothing about the promise, and counts as survived.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from tests.mutants.mutant import Mutant

ROOT: Final = Path(__file__).resolve().parents[2]
TIMEOUT: Final = 120.0
"""Seconds for one test; each takes a few."""
PLUGINS: Final = ("-p", "pytest_timeout", "-p", "_hypothesis_pytestplugin")
"""What the tests and the settings in pyproject.toml need."""
RED: Final = 1
"""pytest's exit code when tests ran and some failed."""
ASSERTED: Final = ("assert", "AssertionError", "Failed: DID NOT RAISE")
"""How a failed assertion's message begins in a JUnit report."""


class Misfit(Exception):
    """A sabotage does not fit the code any more."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a sabotage: `verdict` is "killed" or says why not; `seconds` of the test run."""

    mutant: Mutant
    verdict: str
    seconds: float

    @property
    def killed(self) -> bool:
        """True if the named test failed by an assertion."""
        return self.verdict == "killed"


def mutated(mutant: Mutant, root: Path = ROOT) -> str:
    """Return the sabotaged text of a mutant's file.

    Raises:
        Misfit: the old text does not stand there exactly once, or the new one is no Python.
    """
    text = (root / mutant.file).read_text(encoding="utf-8")
    count = text.count(mutant.old)
    if count != 1:
        raise Misfit(f"{mutant.name}: the old text stands {count} times in {mutant.file}")
    made = text.replace(mutant.old, mutant.new)
    try:
        compile(made, mutant.file, "exec")
    except SyntaxError as error:
        raise Misfit(f"{mutant.name}: line {error.lineno} of {mutant.file} would not compile") from None
    return made


def copy_tree(to: Path) -> None:
    """Copy what git would store of the working tree, changed and new files included."""
    git = shutil.which("git") or "git"
    listed = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, target = ROOT / name, to / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def pytest(tree: Path, tests: Iterable[str], *, keep_bytecode: bool) -> tuple[int, Path, str]:
    """Run tests of a copy; returns the exit code, the JUnit report's path and what was printed."""
    report = tree / "mutants.xml"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV", "PYTHON"))}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # to import them all takes longer than most of the tests
    env["PYTHONPATH"] = str(tree)  # before the checkout that is installed in the environment
    if not keep_bytecode:
        env["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            *PLUGINS,
            f"--junit-xml={report}",
            *tests,
        ],
        cwd=tree,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    return done.returncode, report, done.stdout


def prepare(base: Path, mutants: Sequence[Mutant]) -> str:
    """Make the copy that all others are copied from, and run every named test in it; returns what is wrong, or "".

    Raises:
        Misfit: a sabotage does not fit.
    """
    copy_tree(base)
    for mutant in mutants:
        mutated(mutant, base)
    where = subprocess.run(
        [sys.executable, "-c", "import functions, shared; print(functions.__file__, shared.__file__)"],
        cwd=base,
        env={**os.environ, "PYTHONPATH": str(base)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if where.count(str(base)) != len(("functions", "shared")):
        return "the copy's code is not what its tests would import"
    code, _, said = pytest(base, dict.fromkeys(m.test for m in mutants), keep_bytecode=True)
    return said if code else ""


def sabotage(mutant: Mutant, base: Path, place: Path) -> Result:
    """Copy the tree to `place`, sabotage it, run the named test there, and remove the copy."""
    shutil.copytree(base, place)
    try:
        target = place / mutant.file
        before = target.stat().st_mtime
        target.write_text(mutated(mutant, place), encoding="utf-8")
        os.utime(target, (before + 2, before + 2))  # whatever its size, the compiled file beside it is stale
        began = time.monotonic()
        try:
            code, report, _ = pytest(place, [mutant.test], keep_bytecode=False)
            verdict = judge(code, report)
        except subprocess.TimeoutExpired:
            verdict = "did not end"
        return Result(mutant, verdict, time.monotonic() - began)
    finally:
        shutil.rmtree(place)


def judge(code: int, report: Path) -> str:
    """Return "killed", or why a run of one test is no kill."""
    if code == 0:
        return "SURVIVED"
    if code != RED:
        return f"pytest ended with {code}"
    root = ET.parse(report).getroot()  # noqa: S314 - our own pytest wrote it
    failures = [str(f.get("message", "")) for f in root.iter("failure")]
    if root.find(".//error") is not None or len(failures) != 1:
        return "broke outside the test"
    if not failures[0].startswith(ASSERTED):
        return f"no assertion: {failures[0].partition(':')[0]}"
    return "killed"
