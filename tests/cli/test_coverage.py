"""Every operation of the API has a command that calls it, or a reason why not."""

from collections.abc import Sequence
from typing import Final

import pytest

from functions.api.operations import ROUTES
from tests.cli.coverage import COVERED, operations
from tests.cli.fakes import Run
from tests.cli.test_defaults import COMMANDS, Case, case  # noqa: F401 - case is a fixture
from tests.cli.tree import commands

WITH_OPTIONS: Final = sorted(
    (name, words) for name, words in COVERED.items() if not isinstance(words, str) and words not in COMMANDS
)


def command_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the command that words begin with."""
    return next(head for n in range(len(words), 0, -1) if (head := tuple(words[:n])) in COMMANDS)


def test_each_operation_is_in_the_table() -> None:
    assert set(COVERED) == {x.name for x in ROUTES}


def test_each_reason_is_a_sentence_and_each_command_exists() -> None:
    for name, words in COVERED.items():
        if isinstance(words, str):
            assert len(words.split()) > 1, name
        else:
            assert command_of(words) in commands(), name


@pytest.mark.parametrize(("name", "words"), WITH_OPTIONS, ids=lambda x: x if isinstance(x, str) else " ".join(x))
def test_a_command_with_options_calls_its_operation(
    run: Run,
    case: Case,  # noqa: F811 - the fixture
    name: str,
    words: tuple[str, ...],
) -> None:
    command = command_of(words)
    made = {"TEMPLATE": case.template, "LISTED": case.campaign}
    options = [made[word]() if word in made else word for word in words[len(command) :]]
    whole = {"--mine", "--list-of"} & {*options}
    done = run(*command, *(() if whole else COMMANDS[command](case)), *options)
    assert done.code == 0, done.err
    assert name in operations(case.real.called)
