"""`python -m tests.mutants.runner`: runs tests of copies of the tree, each in a child that knows their imports already.

To import moto, boto3 and their like takes longer than most of the tests do. So this process imports them, and nothing
of the tree itself; a line of JSON on its input, `{"tree": …, "arguments": […], "seconds": …}`, has it fork a child
that runs pytest in that tree. The answer is a line with the exit code, negative for a child that was killed.
"""

import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Final

PRELOAD: Final = (
    "aws_lambda_powertools",
    "boto3.session",
    "botocore.client",
    "hypothesis.strategies",
    "moto.dynamodb",
    "moto.s3",
    "moto.secretsmanager",
    "moto.sqs",
    "pydantic",
    "pytest",
)
OURS: Final = frozenset({"benchmarks", "cli", "functions", "infra", "shared", "simulator", "tests"})
POLL: Final = 0.02


def main() -> None:
    """Serve until the input ends."""
    for name in PRELOAD:
        importlib.import_module(name)
    for line in sys.stdin:
        wanted = json.loads(line)
        sys.stdout.write(f"{_run(wanted['tree'], wanted['arguments'], wanted['seconds'])}\n")
        sys.stdout.flush()


def _run(tree: str, arguments: Sequence[str], seconds: float) -> int:
    child = os.fork()
    if child == 0:
        _child(tree, arguments)
    until = time.monotonic() + seconds
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -signal.SIGKILL
        time.sleep(POLL)


def _child(tree: str, arguments: Sequence[str]) -> None:
    """Run pytest in a tree as a new interpreter would that was started there; does not return."""
    code = 1
    try:
        os.chdir(tree)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        sys.path[0] = os.environ["PYTHONPATH"] = tree
        sys.dont_write_bytecode = True
        for name in [m for m in sys.modules if m.partition(".")[0] in OURS]:
            del sys.modules[name]
        sys.path_importer_cache.clear()
        code = int(importlib.import_module("pytest").main(list(arguments)))
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
