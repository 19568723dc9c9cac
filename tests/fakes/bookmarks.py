"""How far the sweeper's walks are, in memory."""

from collections.abc import Mapping

from tests.fakes.faults import Tap


class FakeBookmarks:
    """`ports.Bookmarks` in memory.

    Attributes:
        notes: walk → what is noted.
    """

    def __init__(self, tap: Tap | None = None) -> None:
        self.notes: dict[str, str] = {}
        self._tap = tap or Tap()

    def load(self) -> dict[str, str]:
        return self._tap("bookmarks.load", lambda: dict(self.notes))

    def save(self, notes: Mapping[str, str]) -> None:
        self._tap("bookmarks.save", lambda: self.notes.update(notes))
