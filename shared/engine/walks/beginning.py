"""Noting since when all jobs come into pages that searches read: once in the life of a deployment. Source: ADR 260."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from shared.domain.times import Millis
from shared.ports import Bookmarks, Clock, SearchPages

DEPLOY_MS: Final[Millis] = 3_600_000
"""For so long after an upgrade, functions of the version before may still accept jobs that come into no page."""


class SearchBeginning:
    """The sweeper's walk that notes it. A process that has done so asks no store again."""

    def __init__(self, pages: SearchPages, bookmarks: Bookmarks, clock: Clock) -> None:
        self._pages = pages
        self._bookmarks = bookmarks
        self._clock = clock
        self._noted = False

    def walk(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield the note, unless this process has made it. A deployment that was never swept has no older jobs."""
        if self._noted:
            return
        older = bool(self._bookmarks.load())
        yield "search pages", partial(self._note, int(self._clock.now() * 1000) + DEPLOY_MS if older else 0)

    def _note(self, at: Millis) -> None:
        self._pages.begin(at)
        self._noted = True
