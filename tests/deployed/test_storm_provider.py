"""The storm's provider: it shares no code with what it judges, and fails as often as the proof says. Needs no cloud."""

import ast
import random
import sys
from pathlib import Path

import pytest

from tests.deployed import storm_provider
from tests.deployed.storm_provider import FINE, THROTTLED, WEATHER, draw


def test_the_provider_shares_no_code_with_the_product_or_the_simulator() -> None:
    tree = ast.parse(Path(storm_provider.__file__).read_text(encoding="utf-8"))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in names} - sys.stdlib_module_names == {"cryptography"}


def test_three_calls_in_a_hundred_are_throttled_and_nineteen_fail_otherwise() -> None:
    shares = dict(WEATHER)
    assert shares.pop(THROTTLED) == pytest.approx(0.03)
    assert sum(shares.values()) == pytest.approx(0.19)


def test_a_provider_fails_as_many_calls_as_it_is_told_to() -> None:
    rng = random.Random(1)  # noqa: S311 - weather
    drawn = [draw(rng, 0.1) for _ in range(10_000)]
    assert 1 - drawn.count(FINE) / len(drawn) == pytest.approx(0.1, abs=0.01)
