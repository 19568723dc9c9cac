"""Changes that were handed on to webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from shared.domain.hooks.announced import AnnouncedStates
    from shared.domain.hooks.kinds import HookPace
    from shared.domain.times import Millis


class Announcements(Protocol):
    """The changes that were handed on, so that no change is handed on again and again.

    It is written before the changes are stored as deliveries, and after that. So a process meets what another hands on.
    """

    def read(self, places: Collection[tuple[str, int]], pace: HookPace) -> Mapping[tuple[str, int], AnnouncedStates]:
        """Return what was handed on of chunks `(job, number)`, by chunk, consistent; nothing of others."""

    def begin(self, was: AnnouncedStates, cells: bytes, at: Millis, pace: HookPace) -> AnnouncedStates | None:
        """Note what is about to be handed on of a chunk at once, and return that; an earlier note stays.

        Args:
            was: what was handed on, as read; `at` is 0 if nothing was.
            cells: of the ledger, as read after that.
            at: Unix milliseconds: the time of these events.

        Returns:
            With what is to be handed on, by all who begin it; None: something else was handed on since `was` was read.
        """

    def finish(self, begun: AnnouncedStates, pace: HookPace) -> None:
        """Note that what was begun is handed on, unless another has noted it."""

    def known(self, ids: Collection[str]) -> set[str]:
        """Return those of some ids of events that were noted, consistent."""

    def claim(self, name: str, data: str, ttl: int) -> str:
        """Store what an event says before it is handed on, so that it says the same each time.

        Args:
            name: the id of the event.
            ttl: Unix seconds when that may be forgotten.

        Returns:
            The data that the first claim has stored; empty: the event was noted.
        """

    def note(self, ids: Collection[str], ttl: int) -> None:
        """Note ids of events that were handed on. `ttl`: Unix seconds when that may be forgotten."""
