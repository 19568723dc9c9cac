"""The help imports no command, and a command imports no other: counted in modules, since times vary."""

import subprocess
import sys
from typing import Any, Final

import pytest
import typer

from cli.groups import HELP, TITLES
from cli.main import COMMANDS, app
from tests.cli.fakes import Answer, FakeApi
from tests.cli.tree import root

HEAVY: Final = {"boto3", "botocore", "pydantic", "pydantic_core", "urllib3", "http", "shared.ports", "xml", "asyncio"}
"""Packages that the help has no use for."""
OTHERS: Final = {"cli.doctor", "cli.keys", "cli.operating", "cli.notifier", "cli.relay", "cli.local", "cli.mails"}
"""Of commands that `batch` has no use for."""


def loaded(*words: str) -> set[str]:
    """Return the modules that a command has loaded when it ends."""
    program = (
        "import sys\n"
        f"sys.argv = ['posthaste', *{words!r}]\n"
        "from cli.main import main\n"
        "try: main()\n"
        "finally: print('LOADED', *sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("LOADED ")[2].split())


def below(names: set[str], packages: set[str]) -> set[str]:
    """Return those of some modules that are one of some packages, or in one."""
    return {name for name in names if any(name == x or name.startswith(f"{x}.") for x in packages)}


def test_the_help_loads_no_command_and_nothing_heavy() -> None:
    found = loaded("--help")
    assert below(found, {"cli"}) == {
        *("cli", "cli.main", "cli.errors", "cli.groups", "cli.loading", "cli.output", "cli.parts"),
    }
    assert below(found, HEAVY) == set()


@pytest.mark.slow
def test_a_command_loads_no_command_of_another_kind() -> None:
    found = loaded("batch", "list", "--help")
    assert "cli.sending.batches" in found
    assert below(found, OTHERS | {"boto3", "botocore"}) == set()


@pytest.mark.slow
def test_a_list_of_batches_loads_no_more_than_it_shows(api: FakeApi) -> None:
    api.answers(Answer({"items": [], "next_cursor": None}))
    found = loaded("batch", "list")
    assert [(x.method, x.path) for x in api.asked] == [("GET", "/batches?limit=1000")]
    unneeded = {"rich", "shared.ports", "shared.engine", "shared.domain.campaigns", "boto3", "botocore", "asyncio"}
    assert below(found, unneeded) == set()


def test_the_help_says_of_each_command_what_its_own_help_says_first() -> None:
    assert list(TITLES) == list(HELP)
    assert set(HELP) == set(COMMANDS)
    own = {name: (command.short_help or command.help or "") for name, command in root().commands.items()}
    assert {name: " ".join(text.split("\n\n")[0].split()) for name, text in own.items()} == HELP


def test_each_command_is_made_once_and_is_in_its_group() -> None:
    again: Any = typer.main.get_command(app)
    for name, command in root().commands.items():
        assert command.name == name
        assert command.rich_help_panel == TITLES[name]
        assert again.commands[name] is command
    assert set(again.commands) == set(HELP)
    assert "nonsense" not in again.commands
