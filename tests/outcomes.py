"""`-p tests.outcomes --outcome FILE`: a plugin that writes what came of a run into a file, as JSON.

With `--seconds N` no test begins later than that after the start of the run.
"""

import json
import math
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pytest


class Outcome:
    """What came of a run.

    Attributes:
        ended: tests by outcome, `error` among them.
        left: tests that the run left out, by the mark for which it did, or "late" if there was no time left.
    """

    def __init__(self, file: Path, seconds: float = math.inf) -> None:
        """`file`: where it is written. `seconds`: from now, after which no test begins."""
        self._file = file
        self._end = time.monotonic() + seconds
        self.ended: Counter[str] = Counter()
        self.left: Counter[str] = Counter()

    @classmethod
    def read(cls, file: Path) -> Self:
        """Return what was written; nothing if the run did not get so far."""
        found = cls(file)
        if file.exists():
            ended, left = json.loads(file.read_text("utf-8"))
            found.ended.update(ended)
            found.left.update(left)
        return found

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count each test that is left out."""
        self.left.update(
            next((name for name in ("deployed", "browser", "slow") if item.get_closest_marker(name)), "others")
            for item in items
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool | None:
        """Say that a test was run if there is no time for it."""
        if time.monotonic() < self._end:
            return None
        self.left["late"] += 1
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test once: by its call, or by what went wrong before or after."""
        if report.when == "call":
            self.ended[report.outcome] += 1
        elif not report.passed:
            self.ended["error" if report.failed else report.outcome] += 1

    def pytest_sessionfinish(self) -> None:
        """Write."""
        self._file.write_text(json.dumps([self.ended, self.left]), encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.addoption("--outcome", type=Path, help="a file for what came of the run")
    parser.addoption("--seconds", type=float, default=math.inf, help="after which no test begins")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the run, if that is asked for."""
    file: Path | None = config.getoption("--outcome")
    if file:
        config.pluginmanager.register(Outcome(file, config.getoption("--seconds")))
