"""What a start must not do, counted: its time differs from machine to machine, what it loads does not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import starts

ROOT = Path(__file__).resolve().parents[2]
START = """
import gc, json, sys
counts = [0, 0, 0]
def count(phase, info):
    counts[info["generation"]] += phase == "start"
import functions
gc.callbacks.append(count)
from benchmarks.rig.cases import CASES
CASES[sys.argv[1]]()
ours = {
    (x.__module__, x.__qualname__): isinstance(x.__dict__["__dataclass_fields__"], dict)
    for name, module in list(sys.modules.items())
    if name.partition(".")[0] in {"shared", "functions"}
    for x in vars(module).values()
    if isinstance(x, type) and "__dataclass_fields__" in x.__dict__
}
print(json.dumps([counts, sorted(sys.modules), sum(ours.values()), len(ours)]))
"""
HEAVY = {
    "pydantic",
    "phonenumbers",
    "jinja2",
    "shared.domain.lists.uploads",
    "shared.domain.campaigns.campaign",
    "shared.domain.exports",
}


WHOLE = {"send": 50, "log": 30, "track": 30, "webhooks": 30, "api": 85}
"""Dataclasses that a start makes whole at most, of some 300 that the API defines: half a millisecond each."""


def started(name: str) -> tuple[tuple[int, int, int], set[str], int, int]:
    """Return the looks for garbage, the modules, and the dataclasses: those made whole, and all."""
    done = subprocess.run(
        [sys.executable, "-c", START, name],
        cwd=ROOT,
        env=starts.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    looks, modules, whole, defined = json.loads(done.stdout.splitlines()[-1])
    return looks, set(modules), whole, defined


@pytest.mark.slow
@pytest.mark.parametrize("name", list(WHOLE))
def test_a_start_neither_loads_nor_makes_what_it_does_not_use_nor_looks_for_garbage(name: str) -> None:
    looks, modules, whole, defined = started(name)
    assert name == "api" or not HEAVY & modules
    assert not {"boto3", "botocore.session", "urllib3"} & modules
    assert sum(looks) == 0, "some 110 with Python's own threshold"
    assert whole <= WHOLE[name], f"of {defined}"
