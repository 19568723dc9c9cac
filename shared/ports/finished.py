"""Finished messages as a sender reads them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from shared.domain.content.content import Finished
    from shared.domain.content.streams import Stream


class FinishedMessages(Protocol):
    """The bytes of finished messages. Safe for threads."""

    def open(self, finished: Finished) -> AbstractContextManager[Stream]:
        """Return a message's bytes, for a `with`: they are at hand until it is left.

        Raises:
            FileChanged: the bytes were removed, or others are in their place.
            Retriable: they cannot be read now.
        """
        ...
