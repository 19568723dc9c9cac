"""Places for files that are open: an account holds few of them at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from typing import Final, Protocol

MAX_PLACES: Final = 10
"""Places of a kind that may be open at once in a namespace."""


class PlaceKind(StrEnum):
    """The kinds of files of places."""

    LISTS = "lists"
    MAILS = "mails"


class OpenPlaces(Protocol):
    """Places that were given, have not ended, and have no file."""

    def take(
        self, namespace: str, kind: PlaceKind, name: str, until: int, filled: Callable[[Sequence[str]], Collection[str]]
    ) -> bool:
        """Note a place that is given; False: the namespace has MAX_PLACES.

        Args:
            namespace: of the account's live, team or test keys.
            name: of the place, unique.
            until: when it ends, Unix milliseconds.
            filled: returns which places of some names have their file; asked only where there are MAX_PLACES.
        """
