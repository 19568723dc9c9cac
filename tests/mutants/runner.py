"""`python -m tests.mutants.runner`: runs tests of copies of the tree, each in a child that knows their imports already.

To import moto, boto3 and their like takes longer than most of the tests do. So this process imports them, and nothing
of the tree itself; a line of JSON on its input, `{"tree": …, "arguments": […], "seconds": …}`, has it fork a child
that runs pytest in that tree. The answer is a line with the exit code, negative for a child that was killed.
"""

import importlib
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

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
FORK: Final = multiprocessing.get_context("fork")
"""A child of it has what this process has imported; its end is waited for without asking again and again."""


def main() -> None:
    """Serve until the input ends."""
    for name in PRELOAD:
        importlib.import_module(name)
    for line in sys.stdin:
        wanted = json.loads(line)
        sys.stdout.write(f"{run(_child, wanted['tree'], wanted['arguments'], seconds=wanted['seconds'])}\n")
        sys.stdout.flush()


def run(target: Callable[..., object], *args: Any, seconds: float) -> int:
    """Run a function in a forked child and return its exit code: negative, a signal's number, if one killed it.

    A child that has not ended after `seconds` is killed: -SIGKILL.
    """
    child = FORK.Process(target=target, args=args)
    child.start()
    child.join(seconds)
    code = child.exitcode
    if code is not None:
        return code
    child.kill()
    child.join()
    return -signal.SIGKILL


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
