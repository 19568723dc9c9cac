"""A queue is killed before each of its steps, and cut off from power after each: nothing is lost or doubled."""

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from tests.cli.relay.disks import RecordingDisk
from tests.cli.relay.life import check, live

ROOT = Path(__file__).parents[3]
LEAST = 100
"""Steps before which a process is killed."""
KINDS = 6
"""Different states in which a restart finds the queue."""


@pytest.mark.slow
def test_a_process_killed_before_any_step_loses_and_doubles_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.cli.relay.life", str(tmp_path)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=120)
    outcomes: Counter[str] = Counter()
    for point in range(1, int(answer.stdout) + 1):
        log = (tmp_path / f"{point}.log").read_text()
        outcomes[check(tmp_path / str(point), [(x, about) for x, about in map(json.loads, log.splitlines())])] += 1
    assert outcomes.total() >= LEAST
    assert len(outcomes) >= KINDS


@pytest.mark.slow
@pytest.mark.parametrize("survives", ["nothing", "everything", "some", "others"])
def test_a_power_cut_after_any_step_loses_and_doubles_nothing(tmp_path: Path, survives: str) -> None:
    disk = RecordingDisk(tmp_path / "whole")
    live(tmp_path / "whole", disk, disk.note)
    rng = random.Random(survives)  # noqa: S311
    odds = {"nothing": 0.0, "everything": 1.0}.get(survives, 0.5)
    numbers = count()
    for steps in range(len(disk.changes) + 1):
        place = tmp_path / f"q{next(numbers)}"
        disk.image(steps, lambda: rng.random() < odds, place)
        check(place, [x.event for x in disk.changes[:steps] if x.event])
        shutil.rmtree(place)
