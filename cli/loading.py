"""Commands that are loaded when they are called: the help and each command import only what they need."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import typer
from typer.core import TyperCommand

from cli.groups import HELP, TITLES

Source = Callable[[], typer.Typer | Callable[..., Any]]
"""Loads a command, or the commands below a name."""


class LoadedCommands(Mapping[str, Any]):
    """The commands, each made when it is first asked for. `sources`: name → what loads the command."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _made(name, self._sources[name]())
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __contains__(self, name: object) -> bool:
        return name in self._sources


def _made(name: str, found: typer.Typer | Callable[..., Any]) -> Any:
    """Return a command as the framework makes it below an application."""
    around = typer.Typer()
    if isinstance(found, typer.Typer):
        around.add_typer(found, name=name)
    else:
        around.command(name)(found)
    made = typer.main.get_group(around).commands[name]
    made.rich_help_panel = TITLES[name]  # type: ignore[attr-defined]  # of typer's own commands
    return made


LISTED: Final[Mapping[str, TyperCommand]] = {
    name: TyperCommand(name, help=text, rich_help_panel=TITLES[name]) for name, text in HELP.items()
}
"""The commands as the help lists them, without their modules."""
