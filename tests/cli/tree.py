"""The tree of all commands. To make it takes a fifth of a second, and it is the same for each test of a process."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import typer

from cli.main import app


@cache
def root() -> Any:
    """Return the command `posthaste` with all that is below it."""
    return typer.main.get_command(app)


def params(words: Sequence[str]) -> list[Any]:
    """Return what a command takes: arguments, and options."""
    found = root()
    for word in words:
        found = found.commands[word]
    return list(found.params)


def commands() -> set[tuple[str, ...]]:
    """Return the words of every command that there is."""

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if not hasattr(command, "commands"):
            yield path
            return
        for name, inner in command.commands.items():
            yield from walk(inner, (*path, name))

    return set(walk(root(), ()))
