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
print(json.dumps([counts, sorted(sys.modules)]))
"""
HEAVY = {
    "boto3",
    "pydantic",
    "phonenumbers",
    "jinja2",
    "shared.domain.lists.uploads",
    "shared.domain.campaigns.campaign",
    "shared.domain.exports",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["send", "log", "track", "webhooks"])
def test_a_start_neither_loads_what_it_does_not_use_nor_looks_for_garbage(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, name],
        cwd=ROOT,
        env=starts.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    (young, middle, old), modules = json.loads(done.stdout.splitlines()[-1])
    assert not HEAVY & set(modules)
    assert young < 10, "some 110 with Python's own threshold"
    assert (middle, old) == (0, 0)
