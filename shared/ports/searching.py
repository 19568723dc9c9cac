"""Pages that searches for messages read. Acceptance and first folds write them, as parts of what `Records` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from shared.domain.searching.marks import SearchPage
    from shared.domain.times import Millis


class SearchPages(Protocol):
    """Pages of the jobs of namespaces; eventually consistent.

    A job is in a page from its acceptance, or a small one from its first fold, which comes within two minutes.
    """

    def read(self, namespace: str, *, newest: str, oldest: str) -> tuple[list[SearchPage], bool]:
        """Return pages, newest first, and whether there are more; as many as one query reads, of a megabyte.

        Args:
            newest: the greatest place of a page; `oldest`: the least one.
        """

    def chunks(self, job: str) -> Mapping[int, bytes]:
        """Return the marks of a job's chunks that have them apart, by number; some may be missing."""

    def begun(self, account: str) -> Millis | None:
        """Return since when all jobs of an account, or its team space, come into pages. None: they do not."""

    def begin(self, at: Millis) -> None:
        """Note since when all jobs do, unless it is noted. `at`: Unix milliseconds."""
