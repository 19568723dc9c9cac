"""`make test`: the first tier of the tests, and beside it the main job on a local cloud. Ends with one line.

The tests are shared out, file by file, among a few processes that know nothing of each other. So each collects only
its own, and none waits for reports. pytest-xdist collects all tests in each process. The cloud mostly waits. One
process more than there are cores fills its waits, and those of tests, and evens out the ends.
"""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from infra.local.paths import ENV_LOCAL, ROOT
from tests import tiers
from tests.deployed.drill import amounts
from tests.outcomes import Outcome

CLOUD: Final = ROOT / ".local" / "quick"
"""The folder of its cloud, and of its reports."""
JOB: Final = (sys.executable, "-m", "infra.local", "with", "--", sys.executable, "-m", "tests.deployed.main_job")
PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-m", tiers.QUICK_TESTS, f"--hypothesis-profile={tiers.QUICK}")
PROCESSES: Final = (os.cpu_count() or 1) + 1
NO_TESTS: Final = 5
"""pytest's exit code where it runs none."""
PROGRESS: Final = re.compile(r"\[ *\d+%\]$")


def files() -> list[str]:
    """Return the files with tests, in order."""
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))


class Process:
    """A command in a process beside this one. Lines that show progress are printed at once, all others at its end.

    Args:
        words: the command.
        environment: variables besides those of this process.
    """

    def __init__(self, words: Sequence[str], **environment: str) -> None:
        self._kept: list[str] = []
        self._process = subprocess.Popen(
            words,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        if self._process.stdout is None:
            raise RuntimeError("the process has no pipe")
        with self._process.stdout as lines:
            for line in lines:
                if PROGRESS.search(line):
                    sys.stdout.write(line)
                    sys.stdout.flush()
                else:
                    self._kept.append(line)

    def ended(self) -> int:
        """Wait for its end, print what was kept, and return its exit code."""
        code = self._process.wait()
        self._reader.join()
        sys.stdout.write("".join(self._kept).strip("\n") + "\n")
        return code


def counted(outcome: Outcome) -> str:
    """Return in words how many tests passed, failed, or ended otherwise."""
    return ", ".join(f"{n} {name}" for name, n in {"passed": 0, "failed": 0, **outcome.ended}.items())


def closing(outcome: Outcome, job: int, seconds: float) -> str:
    """Return the last line: how many tests passed or did not, how long it took, and what is left to `make test-all`.

    Args:
        outcome: of the tests.
        job: exit code of the main job.
        seconds: from the start.
    """
    left = outcome.left
    return (
        f"{counted(outcome)} in {seconds:.0f} s; main job on a local cloud: {'failed' if job else 'passed'}; "
        f"left to make test-all: {left.total()} tests ({amounts(left)}), all that need a cloud, and most examples of "
        "properties"
    )


def shared(names: Sequence[str], folder: Path, *options: str) -> tuple[int, Outcome]:
    """Run files of tests in a few processes; return the first exit code that is not 0, and what came of all.

    Args:
        names: of the files; each process begins with the first ones.
        folder: of the reports of the processes.
        options: more of pytest's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shares = [names[number::PROCESSES] for number in range(min(PROCESSES, len(names)))]
    written = [folder / f"{number}.json" for number in range(len(shares))]
    for file in written:
        file.unlink(missing_ok=True)
    processes = [
        Process((*PYTEST, "-p", "tests.outcomes", "--outcome", str(file), *options, *share))
        for file, share in zip(written, shares, strict=True)
    ]
    codes = [process.ended() for process in processes]
    found = Outcome(folder)
    for outcome in map(Outcome.read, written):
        found.ended.update(outcome.ended)
        found.left.update(outcome.left)
    return next((code for code in codes if code not in (0, NO_TESTS)), 0), found


def main() -> int:
    """Run the tier; return the exit code of the tests, or of the main job if all of them pass."""
    began = time.monotonic()
    CLOUD.mkdir(parents=True, exist_ok=True)
    main_job = Process(JOB, **{ENV_LOCAL: str(CLOUD)})
    code, outcome = shared(files(), CLOUD)
    job = main_job.ended()
    sys.stdout.write(f"{closing(outcome, job, time.monotonic() - began)}\n")
    return code or job


if __name__ == "__main__":
    sys.exit(main())
