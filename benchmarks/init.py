"""The time of a cold start: the part left to the first event, and the part that the init phase does before it.

`python -m benchmarks.init`: processor time, medians over processes that start in turns. In the init phase a function
has a whole processor. Afterwards it has its share by memory (0.29 at 512 MB), so the first event takes that many times
longer. `--without-bytecode` compiles every module anew, as a function does whose asset has no bytecode.
"""

import json
import subprocess
import sys
import tempfile
from statistics import median
from typing import Final

from benchmarks.rig.runner import script
from benchmarks.starts import ROOT, environment
from shared import contracts
from shared.contracts import ON_LAMBDA

NAMES: Final = ("send", "log", "track", "webhooks", "api")
PROGRAM: Final = """
import importlib, json, sys, time
from benchmarks.rig.cases import CASES
began = time.process_time()
importlib.import_module(sys.argv[1])
ready = time.process_time()
CASES[sys.argv[2]]()
print(json.dumps([ready - began, time.process_time() - ready]))
"""


def once(name: str, *, early: bool, bytecode: bool) -> tuple[float, float]:
    """Return the milliseconds of the init phase and of what the first event makes, in a process of its own."""
    module = contracts.HANDLERS[name].rpartition(".")[0]
    with tempfile.TemporaryDirectory() as empty:
        extra = {ON_LAMBDA: name} if early else {}
        if not bytecode:
            extra |= {"PYTHONPYCACHEPREFIX": empty, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", PROGRAM, module, name]
        done = subprocess.run(command, cwd=ROOT, env=environment() | extra, capture_output=True, text=True, check=True)
    init, event = json.loads(done.stdout.splitlines()[-1])
    return init * 1000, event * 1000


def run(*, rounds: int, without_bytecode: bool) -> None:
    """Print a row for each function, the median of so many rounds."""
    for name in NAMES:
        taken: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        for _ in range(rounds):
            for early, found in taken.items():
                found.append(once(name, early=early, bytecode=not without_bytecode))
        said = [
            f"{'early' if early else 'late '}: init {median(i for i, _ in found):4.0f} ms, "
            f"first event {median(e for _, e in found):4.0f} ms"
            for early, found in taken.items()
        ]
        print(f"{name:9} {'; '.join(said)}")


if __name__ == "__main__":
    script("init", __doc__, run, rounds=5, without_bytecode=False)
