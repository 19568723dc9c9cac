"""`python -m tests.mutants.runner TREE`: runs tests of a copy of the tree, each in a child that has imported its code.

To import moto, boto3 and the code itself takes longer than most of the tests do. So this process imports them, and for
each line of JSON on its input, `{"arguments": […], "anew": […], "seconds": …}`, forks a child. The child forgets the
modules `anew`, which are then imported from their files again, and runs pytest. The answer is a line with the exit
code, negative for a child that was killed. Before the first answer comes the line `READY`: until then this process
imports, and would keep a sabotage that it met.
"""

import gc
import importlib
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Final

from tests.imports import name_of

PRELOAD: Final = (
    "aiosmtpd.smtp",
    "aws_lambda_powertools",
    "boto3.session",
    "botocore.client",
    "hypothesis.strategies",
    "moto.dynamodb",
    "moto.s3",
    "moto.secretsmanager",
    "moto.sqs",
    "openapi_spec_validator",
    "openpyxl",
    "pdb",
    "postmarker.core",
    "pydantic",
    "pytest",
    "quick_moto",
    "tests.fakes.descriptions",
    "twilio.rest",
)
CODE: Final = ("shared", "functions", "cli")
"""Folders of the tree whose modules are imported."""
READY: Final = "ready"
"""The first line of the output."""
OURS: Final = frozenset({"benchmarks", "cli", "examples", "functions", "infra", "shared", "simulator", "tests"})
FORK: Final = multiprocessing.get_context("fork")
"""A child of it has what this process has imported; its end is waited for without asking again and again."""


def main(tree: str) -> None:
    """Serve until the input ends."""
    os.chdir(tree)
    sys.path[0] = os.environ["PYTHONPATH"] = tree
    for name in [m for m in sys.modules if m.partition(".")[0] in OURS]:
        del sys.modules[name]
    for name in (*PRELOAD, *(name_of(file, Path(tree)) for file in modules(Path(tree)))):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a child that looks for garbage copies no page of it
    _say(READY)
    for line in sys.stdin:
        wanted = json.loads(line)
        ended = run(_child, wanted["arguments"], wanted["anew"], seconds=wanted["seconds"])
        _say(str(ended))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def modules(tree: Path) -> list[Path]:
    """Return the files of a tree's modules that are imported before any test."""
    files = (file for folder in CODE for file in (tree / folder).rglob("*.py"))
    return sorted(file for file in files if file.name != "__main__.py")


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


def _child(arguments: Sequence[str], anew: Collection[str]) -> None:
    """Run pytest as a new interpreter would that was started in the tree; does not return."""
    code = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        sys.dont_write_bytecode = True
        forget(anew)
        code = int(importlib.import_module("pytest").main(list(arguments)))
    finally:
        os._exit(code)


def forget(names: Collection[str]) -> None:
    """Forget modules, so that the next import reads them from their files."""
    for name in names:
        if sys.modules.pop(name, None):
            package, _, last = name.rpartition(".")
            if parent := sys.modules.get(package):
                vars(parent).pop(last, None)
    sys.path_importer_cache.clear()


if __name__ == "__main__":
    main(sys.argv[1])
