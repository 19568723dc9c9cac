"""What adapters refuse by themselves, before any call: the engine knows that it would be the same each time."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from shared.domain.jobs.outcomes import CANNOT_CARRY, Rejected, cannot_carry

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("shared/providers", "shared/engine/lane")
ALLOWED: Final = {
    "shared/engine/lane/finished.py: content_not_read": "a disk that is full, or a store out of reach, recovers",
    "shared/engine/lane/lease.py: ": "the code of a call of many, which is made of fewer",
    "shared/providers/smtp/send.py: ": "a relay's answer, which may change",
    "shared/providers/smtp/send.py: sender_refused": "a relay's answer, which may change",
    "shared/providers/twilio/send.py: ": "an answer of Twilio, which may change",
}
"""Refusals about a message that may end: where they are made, with their code if the text has it."""


def calls(file: Path, name: str) -> Iterator[ast.Call]:
    """Yield the calls of a function or a class in a module."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def code(call: ast.Call) -> str:
    """Return a call's first argument; empty if it is no text."""
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def files() -> list[Path]:
    """Return the modules of adapters, and of what calls them."""
    return sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))


def test_a_refusal_about_a_message_is_made_by_its_name_or_has_a_reason() -> None:
    found = {
        f"{file.relative_to(ROOT)}: {code(call)}"
        for file in files()
        for call in calls(file, "Rejected")
        if any(x.arg == "about_message" for x in call.keywords)
    }
    assert found == set(ALLOWED)


def test_no_rule_for_answers_has_a_code_of_our_own_but_of_the_same_message() -> None:
    rules = [call for file in files() for call in calls(file, "ErrorRule") if code(call) in CANNOT_CARRY]
    passing = {code(call) for call in rules if not any(x.arg == "permanent" for x in call.keywords)}
    assert passing == {"options_too_large"}, "Mailgun counts as we do, and says the same each time"


def test_only_codes_that_the_engine_knows_are_made() -> None:
    assert cannot_carry("too_large") == Rejected("too_large", permanent=False, about_message=True)
    with pytest.raises(ValueError, match="mailbox_full"):
        cannot_carry("mailbox_full")
