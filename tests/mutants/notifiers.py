"""Sabotages of notifiers, their passwords and their updates."""

from typing import Final

from tests.mutants.mutant import Mutant

NOTIFIER: Final = "shared/domain/notices/notifier.py"
PASSWORDS: Final = "tests/domain/test_notifiers.py"
READER: Final = "shared/engine/notices/updates.py"
LOG: Final = "tests/contracts/test_updates.py"

NOTIFIERS: Final = (
    Mutant(
        "a password that has ended is accepted",
        9,
        NOTIFIER,
        "return self.until == 0 or now_ms < self.until",
        "return True",
        f"{PASSWORDS}::test_two_passwords_are_valid_during_a_rotation",
    ),
    Mutant(
        "a disabled notifier is let in",
        9,
        NOTIFIER,
        "return found and not self.disabled and not self.deleted",
        "return found",
        f"{PASSWORDS}::test_a_notifier_that_is_disabled_or_deleted_accepts_no_password[disabled]",
    ),
    Mutant(
        "a reader does not close what it reads",
        3,
        READER,
        "if marks.closed < span.end:",
        "if False:",
        f"{LOG}::test_what_has_not_settled_is_not_read[memory]",
    ),
    Mutant(
        "updates are read before they have settled",
        3,
        READER,
        "end = min(asked.end, settled(now))",
        "end = min(asked.end, now)",
        f"{LOG}::test_what_has_not_settled_is_not_read[memory]",
    ),
)
