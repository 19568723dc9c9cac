"""A summary of what happened: events counted by their types, as `12 tasks failed, 3 succeeded`."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

MOST_PHRASES: Final = 3
"""Types that a summary names; the events of the others are counted together."""
LONGEST_TYPE: Final = 60
"""Characters of a type in a summary."""
_PARTS: Final = re.compile(r"[._:/\s-]+")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MOST_WORDS: Final = 4
_STATES: Final = frozenset(
    {"begun", "broken", "built", "done", "down", "due", "gone", "late", "lost", "made", "missing", "overdue", "paid"}
    | {"sent", "stuck", "taken", "unhealthy", "up", "withdrawn"}
)
"""Words that say what happened to something and do not end in `ed`."""


def counted(types: Sequence[str]) -> list[tuple[str, int]]:
    """Return each type with its number of events, the most frequent first, then in the order of first appearance."""
    return Counter(types).most_common()


def counts(types: Sequence[str]) -> str:
    """Return how many events of which types there are: `12 tasks failed, 3 succeeded and 4 more`."""
    return _joined(*_phrases(types))


def summary(types: Sequence[str], key: str) -> str:
    """Return how many events of which types there are, and where: `12 tasks failed in production, 3 succeeded`.

    Args:
        key: their batch key; its last part, behind a slash, is the place.
    """
    phrases, rest = _phrases(types)
    place = key.rstrip("/").rpartition("/")[2].strip() or key
    return _joined([f"{phrases[0]} in {place}", *phrases[1:]], rest) if phrases else ""


def _joined(phrases: list[str], rest: int) -> str:
    said = ", ".join(phrases)
    return f"{said} and {rest} more" if rest else said


def _phrases(types: Sequence[str]) -> tuple[list[str], int]:
    """Return a phrase for each of the most frequent types, and how many events have other types."""
    found = counted(types)
    phrases: list[str] = []
    before = ""
    for name, count in found[:MOST_PHRASES]:
        noun, verb = _read(name)
        if not noun:
            phrases.append(f"{_short(name)} ({count})")
        elif noun == before:
            phrases.append(f"{count} {verb}")
        else:
            phrases.append(f"{count} {noun if count == 1 else _plural(noun)} {verb}")
        before = noun
    return phrases, sum(count for _, count in found[MOST_PHRASES:])


def _read(name: str) -> tuple[str, str]:
    """Return what a type is about and what happened to it: `("task", "failed")`; empty if it does not say so."""
    words = _CAMEL.sub(" ", _PARTS.sub(" ", name)).split(" ")
    if not 1 < len(words) <= _MOST_WORDS or len(name) > LONGEST_TYPE or not "".join(words).isalpha() or "" in words:
        return "", ""
    *about, verb = (word if word.isupper() and len(word) > 1 else word.lower() for word in words)
    if not verb.endswith("ed") and verb not in _STATES:
        return "", ""
    return " ".join(about), verb


def _plural(noun: str) -> str:
    if noun.endswith(("ss", "us", "x", "z", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("s"):
        return noun
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "iy", "oy", "uy")):
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_TYPE else f"{name[: LONGEST_TYPE - 3]}..."
