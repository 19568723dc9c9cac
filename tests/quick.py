"""`make test`: the first tier of the tests, and beside it the main job on a local cloud. Ends with one line.

The tests are shared out, file by file, among a few processes that know nothing of each other. So each collects only
its own, and none waits for reports: pytest-xdist, which balances single tests, takes a quarter more of the processors
for tests that are all short. The cloud mostly waits. One process more than there are cores fills its waits, and those
of tests, and evens out the ends.
"""

import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
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
PROGRESS: Final = re.compile(r"\[ *\d+%\]$")


def files() -> list[str]:
    """Return the files with tests, in order, but for those that need a cloud."""
    found = (str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))
    return sorted(name for name in found if not name.startswith("tests/deployed/"))


def share(number: int, count: int) -> list[str]:
    """Return the files of one of `count` processes: of each folder about as many as the others have."""
    return files()[number::count]


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


def closing(outcomes: Iterable[Outcome], job: int, seconds: float) -> str:
    """Return the last line: how many tests passed or did not, how long it took, and what is left to `make test-all`.

    Args:
        outcomes: of all shares.
        job: exit code of the main job.
        seconds: from the start.
    """
    ended, left = Counter({"passed": 0, "failed": 0}), Counter[str]()
    for outcome in outcomes:
        ended.update(outcome.ended)
        left.update(outcome.left)
    tests = ", ".join(f"{n} {name}" for name, n in ended.items())
    return (
        f"{tests} in {seconds:.0f} s; main job on a local cloud: {'failed' if job else 'passed'}; "
        f"left to make test-all: {left.total()} tests ({amounts(left)}), all that need a cloud, and most examples of "
        "properties"
    )


def main() -> int:
    """Run the tier; return the exit code: the first of a process that is not 0."""
    began = time.monotonic()
    CLOUD.mkdir(parents=True, exist_ok=True)
    written = [CLOUD / f"{number}.json" for number in range(PROCESSES)]
    for file in written:
        file.unlink(missing_ok=True)
    job = Process(JOB, **{ENV_LOCAL: str(CLOUD)})
    shares = [
        Process((*PYTEST, "-p", "tests.outcomes", "--outcome", str(file), *share(number, PROCESSES)))
        for number, file in enumerate(written)
    ]
    codes = [process.ended() for process in (*shares, job)]
    sys.stdout.write(f"{closing(map(Outcome.read, written), codes[-1], time.monotonic() - began)}\n")
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
