"""Sabotages of what is said: of refusals, of codes, of lists that keep messages from recipients."""

from typing import Final

from tests.mutants.mutant import Mutant

_LEFT: Final = "shared/engine/intake/addresses.py"
_BATCHES: Final = "tests/api/test_batches.py"

WORDS: Final = (
    Mutant(
        "a refusal names places among distinct recipients",
        9,
        _LEFT,
        "for i, text in enumerate(texts):",
        "for i, text in enumerate(dict.fromkeys(texts)):",
        f"{_BATCHES}::test_a_batch_without_a_valid_recipient_is_told_who_is_left_out_and_why[to1-said1]",
    ),
    Mutant(
        "a refusal repeats what somebody wrote about a suppressed address",
        9,
        _LEFT,
        "return {key: entry.since for key, (_, entry) in found.items()}",
        "return {key: entry.reason for key, (_, entry) in found.items()}",
        f"{_BATCHES}::test_a_batch_without_a_valid_recipient_is_told_who_is_left_out_and_why[to1-said1]",
    ),
    Mutant(
        "an entry of another list explains why a message was skipped",
        11,
        "shared/engine/reports/explained.py",
        "if entry[0].code == codes[message]",
        "",
        "tests/engine/test_explained.py::test_an_entry_of_another_list_explains_nothing",
    ),
)
