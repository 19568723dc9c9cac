"""Applies sabotages to copies of the tree and runs the one test that each must turn red; the checkout is not touched.

A kill is a test that ran and whose assertion failed. A test that could not be collected, that broke on something
else than an assertion or that did not end tells nothing about the promise, and counts as survived.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from xml.etree import ElementTree as ET

from tests.imports import graph, name_of
from tests.mutants.mutant import Mutant
from tests.mutants.runner import CODE, modules

ROOT: Final = Path(__file__).resolve().parents[2]
TIMEOUT: Final = 120.0
"""Seconds for one test; each takes a few."""
REPORT: Final = "mutants.xml"
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


def arguments(tree: Path, tests: Iterable[str]) -> list[str]:
    """Return the words after `pytest` that run tests of a copy; its JUnit report is `REPORT`."""
    return ["-q", "--no-header", "-p", "no:cacheprovider", f"--junit-xml={tree / REPORT}", *tests]


def environment() -> dict[str, str]:
    """Return the environment of pytest, without what would change it here."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV", "PYTHON"))}


def prepare(base: Path, mutants: Sequence[Mutant]) -> str:
    """Make the copy that all others are copied from, and run every named test in it; returns what is wrong, or "".

    Raises:
        Misfit: a sabotage does not fit.
    """
    copy_tree(base)
    for mutant in mutants:
        mutated(mutant, base)
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-j", "0", *CODE], cwd=base, check=True)
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
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments(base, dict.fromkeys(m.test for m in mutants))],
        cwd=base,
        env={**environment(), "PYTHONPATH": str(base)},  # before the checkout that is installed in the environment
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode else ""


class Dependents:
    """Which modules of a tree import which, directly or not.

    Args:
        tree: with the modules that a runner imports.
    """

    def __init__(self, tree: Path) -> None:
        texts = {name_of(file, tree): file.read_text("utf-8") for file in modules(tree)}
        self._importers: dict[str, set[str]] = {name: set() for name in texts}
        for name, imports in graph(texts).items():
            self._importers[name] |= {x for x in texts if x.startswith(f"{name}.")}  # inside a package
            for used in imports:
                self._importers[used].add(name)

    def of(self, file: str) -> list[str]:
        """Return the modules that hold something of a file, itself among them; none if no runner imports it."""
        found, waiting = set[str](), [name_of(ROOT / file)]
        while waiting:
            name = waiting.pop()
            if name in self._importers and name not in found:
                found.add(name)
                waiting += self._importers[name]
        return sorted(found)


class Bench:
    """A copy of the tree in which one sabotage after the other is tried; a context manager.

    Args:
        base: the prepared copy.
        place: where this one is made.
        dependents: of the modules of the tree.
    """

    def __init__(self, base: Path, place: Path, dependents: Dependents) -> None:
        shutil.copytree(base, place)
        self._place = place
        self._dependents = dependents
        self._runner = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.runner", str(place)],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        self._answer()  # it has imported its code, which no sabotage may be in
        return self

    def __exit__(self, *_exc: object) -> None:
        self._runner.communicate()

    def sabotage(self, mutant: Mutant, *, twice: bool) -> Result:
        """Sabotage the copy, run the named test there, and mend the copy.

        Args:
            mutant: the sabotage.
            twice: first run the test without it. It must pass although modules are imported anew.
        """
        began = time.monotonic()
        anew = self._dependents.of(mutant.file)
        if twice and self._test(mutant.test, anew):
            return Result(mutant, "fails without", time.monotonic() - began)
        target, report = self._place / mutant.file, self._place / REPORT
        before, right = target.stat(), target.read_bytes()
        report.unlink(missing_ok=True)
        target.write_text(mutated(mutant, self._place), encoding="utf-8")
        later = before.st_mtime_ns + 2 * 10**9
        os.utime(target, ns=(later, later))  # whatever its size, the compiled file beside it is stale
        try:
            code = self._test(mutant.test, anew)
            return Result(mutant, judge(code, report), time.monotonic() - began)
        finally:
            target.write_bytes(right)
            os.utime(target, ns=(before.st_mtime_ns, before.st_mtime_ns))

    def _test(self, test: str, anew: Sequence[str]) -> int:
        if self._runner.stdin is None:
            raise RuntimeError("the runner has no pipes")
        wanted = {"arguments": arguments(self._place, [test]), "anew": anew, "seconds": TIMEOUT}
        self._runner.stdin.write(json.dumps(wanted) + "\n")
        self._runner.stdin.flush()
        return int(self._answer())

    def _answer(self) -> str:
        answer = self._runner.stdout.readline() if self._runner.stdout else ""
        if not answer:
            raise RuntimeError("the runner has ended")
        return answer.strip()


def judge(code: int, report: Path) -> str:
    """Return "killed", or why a run of one test is no kill."""
    if code == -signal.SIGKILL:
        return "did not end"
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
