"""A summary of what happened, in any language: events counted by their types, as `task.failed x12, task.succeeded x3`.

A summary adds only ASCII to the types, so that a text message stays in the cheap alphabet.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

# change: how a digest sums events up
MOST_TYPES: Final = 3
"""Types that a summary names; the events of the others are counted together."""
LONGEST_TYPE: Final = 60
"""Characters of a type in a summary."""


def counted(types: Sequence[str]) -> list[tuple[str, int]]:
    """Return each type with its number of events, the most frequent first, then in the order of first appearance."""
    return Counter(types).most_common()


def counts(types: Sequence[str]) -> str:
    """Return how many events of which types there are: `task.failed x12, task.succeeded x3, +4`."""
    found = counted(types)
    rest = sum(count for _, count in found[MOST_TYPES:])
    named = [f"{_short(name)} x{count}" for name, count in found[:MOST_TYPES]]
    return ", ".join([*named, f"+{rest}"] if rest else named)


def summary(types: Sequence[str], key: str) -> str:
    """Return where events happened, and how many of which types: `production: task.failed x12, task.succeeded x3`.

    Args:
        key: their batch key; its last part, behind a slash, is the place.
    """
    place = key.rstrip("/").rpartition("/")[2].strip() or key
    return f"{place}: {counts(types)}" if types else ""


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_TYPE else f"{name[: LONGEST_TYPE - 3]}..."
