"""The tiers of the tests: what `make test` runs, and what it leaves to `make test-all`.

A test is in the first tier unless it has the mark `slow`, `deployed` or `browser`. Tests of properties are in it with
fewer examples. The rest of all tests are the slow ones, and those of properties again with all examples.
"""

from collections.abc import Container, Iterable
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

FULL: Final = "full"
QUICK: Final = "quick"
"""Profiles of hypothesis; `--hypothesis-profile` chooses one."""
EXAMPLES: Final = {FULL: 100, QUICK: 20}
"""Examples of a property that names no number."""
HERE: Final = "not deployed and not browser"
QUICK_TESTS: Final = f"{HERE} and not slow"
"""Tests that need neither a cloud nor a browser, as `-m` takes them."""


def register() -> None:
    """Register the profiles and load `full`, as it is here or in CI.

    The time of an example has no bound: on a machine with other work it says nothing.
    """
    patient = {*settings().suppress_health_check, HealthCheck.too_slow}
    for name, count in EXAMPLES.items():
        settings.register_profile(name, settings(), deadline=None, suppress_health_check=patient, max_examples=count)
    settings.load_profile(FULL)


def examples(count: int) -> int:
    """Return how many examples a property draws that has `count` in the profile `full`; at least one."""
    return max(1, count * settings().max_examples // EXAMPLES[FULL])


def some_slow(cases: Iterable[str | int], slow: Container[str | int]) -> list[Any]:
    """Return cases of a parametrized test, of which some have the mark `slow`."""
    return [pytest.param(case, marks=pytest.mark.slow) if case in slow else case for case in cases]
