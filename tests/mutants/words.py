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
        "a code in other letters has no words",
        11,
        "shared/domain/lanes/meanings.py",
        '_WORDS.get(code.lower(), "")',
        '""',
        "tests/domain/test_meanings.py::test_a_code_is_said_in_words[HardBounce-the mailbox does not exist "
        "(HardBounce)]",
    ),
    Mutant(
        "an export that an earlier version has begun gets a new column",
        11,
        "shared/engine/reports/export.py",
        "if held.last else ()",
        "if held else ()",
        "tests/engine/test_export.py::test_an_export_that_an_earlier_version_has_begun_ends_as_it_began[True-error_detail]",
    ),
    Mutant(
        "the help loads every command",
        11,
        "cli/main.py",
        "return LISTED[cmd_name] if self._brief else super()",
        "return super()",
        "tests/cli/test_loading.py::test_the_help_loads_no_command_and_nothing_heavy",
    ),
    Mutant(
        "an answer that operations share is written in each",
        10,
        "functions/api/examples/parts.py",
        "if times > 1 and name and name not in names:",
        "if times > 99 and name and name not in names:",
        "tests/api/test_document_parts.py::test_what_is_shared_gets_a_name_and_all_else_stays",
    ),
    Mutant(
        "the second of two parts with one name is lost",
        10,
        "functions/api/examples/parts.py",
        "if times > 1 and name and name not in names:",
        "if times > 1 and name:",
        "tests/api/test_document_parts.py::test_what_is_shared_gets_a_name_and_all_else_stays",
    ),
    Mutant(
        "a frozen object takes a new value",
        10,
        "shared/frozen.py",
        '        if type(self) is made or name in names:\n            raise FrozenInstanceError(f"cannot assign',
        '        if type(self) is made and name not in names:\n            raise FrozenInstanceError(f"cannot assign',
        "tests/test_frozen.py::test_any_first_use_works[set]",
    ),
    Mutant(
        "every dataclass is made at once",
        10,
        "shared/frozen.py",
        "if cls is not None or options != _OPTIONS:",
        "if True:",
        "tests/test_frozen.py::test_any_first_use_works[fields]",
    ),
    Mutant(
        "an entry of another list explains why a message was skipped",
        11,
        "shared/engine/reports/explained.py",
        "if entry[0].code == codes[message]",
        "",
        "tests/engine/test_explained.py::test_an_entry_of_another_list_explains_nothing",
    ),
    Mutant(
        "a file of settings has no say in where AWS is",
        10,
        "shared/adapters/aws.py",
        ' and not Path("~/.aws/config").expanduser().exists()',
        "",
        "tests/adapters/test_aws.py::test_an_endpoint_of_a_file_is_that_of_a_client[-home-sqs]",
    ),
    Mutant(
        "what asks for FIPS gets the usual endpoint",
        10,
        "shared/adapters/aws.py",
        """    "AWS_USE_FIPS_ENDPOINT",
""",
        "",
        "tests/adapters/test_aws.py::test_an_endpoint_is_that_of_a_client[true,us-east-1-dynamodb]",
    ),
)
