"""A page that is followed: its blocks are typed in order into one shell, each with the answer that the page shows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from infra.local.cloud import Cloud
from infra.local.paths import ROOT
from tests.deployed import guides
from tests.deployed.answers import Answers
from tests.deployed.shell import Shell, checkout, shell

REFUSED: Final = "error: "
"""Begins the answer to commands that must fail."""


class Reader:
    """Someone who follows a page.

    Attributes:
        folder: the checkout.
        said: what each block has printed, with the reader's own values.
    """

    def __init__(self, opened: Shell, folder: Path, own: Mapping[str, str]) -> None:
        self.folder = folder
        self.said: list[str] = []
        self.answers = Answers()
        self._shell = opened
        self._own = dict(own)

    def follow(self, steps: list[guides.Step]) -> str:
        """Type blocks, and compare what they print with what the page shows; return it."""
        for step in steps:
            self.type(step)
        return "".join(self.said)

    def type(self, step: guides.Step, answer: str = "", *, terminal: bool = False) -> str:
        """Type one block; return what it prints.

        Args:
            step: the block.
            answer: what is typed while it runs.
            terminal: whether it runs on a terminal.
        """
        commands = self.answers.filled(step.commands)
        for shown, own in self._own.items():
            commands = commands.replace(shown, own)
        if step.answer.startswith(REFUSED):
            commands = f"if {{\n{commands}\n}}; then false; fi\n"
        said = self._shell.types(commands, answer, terminal=terminal)
        self.said.append(said)
        for shown, own in self._own.items():
            said = said.replace(own, shown)
        try:
            self.answers.check(step.kind, step.answer, said)
        except AssertionError as error:
            error.add_note(f"after:\n{commands}")
            raise
        return said


@contextmanager
def reader(
    cloud: Cloud, forked: Mapping[str, Sequence[str]], folder: Path, own: Mapping[str, str], **more: str
) -> Iterator[Reader]:
    """Open a reader in a new checkout, with `posthaste` in the path and the local cloud's address and key.

    Args:
        cloud: the one that is up.
        forked: what begins the programs that are forked.
        folder: an empty one.
        own: words of the page → what the reader writes in their place.
        more: variables.
    """
    place, notes = folder / "checkout", folder / "notes"
    place.mkdir()
    notes.mkdir()
    guides.add_programs(checkout(cloud, place), forked)
    (place / "examples").symlink_to(ROOT / "examples")
    with shell(place, notes, **more) as opened:
        opened.types(f". ./.local/env\n{guides.PROGRAMS}")
        yield Reader(opened, place, own)
