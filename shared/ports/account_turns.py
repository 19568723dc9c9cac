"""Turns of an account's work: of each kind, one piece is done at a time."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol


class TurnKind(StrEnum):
    """The kinds of work of which an account has one piece done at a time."""

    LISTS = "lists"
    EXPORTS = "exports"


class AccountTurns(Protocol):
    """Lines of accounts, see `shared.domain.lists.in_line`."""

    def enter(self, account: str, kind: TurnKind, name: str, under_way: Callable[[str], bool]) -> str:
        """Ask for the turn; return the piece that is to begin.

        That is `name`, or another one that waited longer, or empty: one is under way. In both of the latter cases
        `name` waits in line.

        Args:
            under_way: tells whether a piece is worked on.

        Raises:
            Retriable: others change the line; ask again.
        """

    def leave(self, account: str, kind: TurnKind, name: str) -> str:
        """End the turn of a piece; return the one that is to begin, or empty. Nothing happens if it has no turn.

        Raises:
            Retriable: others change the line; the turn ends when the piece is no longer under way.
        """
