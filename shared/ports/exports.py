"""Where exports are kept: what is known of each, and the parts of its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from shared.domain.exports import Export


class Exports(Protocol):
    """Exports; one for each campaign or job."""

    def get(self, export: str) -> Export | None:
        """Return an export by the id of its campaign or job, consistent."""

    def save(self, old: Export | None, new: Export) -> bool:
        """Write an export if it is as read, or, for None, if there is none; False if it has moved on."""


class Multipart(Protocol):
    """Files that are put in parts, each of at least 5 MB but the last; there is nothing until they are completed."""

    def begin(self, name: str) -> str:
        """Begin a CSV file and return what its parts belong to."""

    def put(self, name: str, upload: str, number: int, data: bytes) -> str:
        """Put a part, in place of one that may exist. Return its ETag.

        Args:
            number: the part, from 1.
            data: the part's bytes.
        """

    def complete(self, name: str, upload: str, etags: Sequence[str]) -> None:
        """Make the file of its parts. Repeating it is safe.

        Args:
            etags: the parts' ETags, in their order.

        Raises:
            FileChanged: a part is not the one of this ETag, or none of the parts exists any more.
        """
