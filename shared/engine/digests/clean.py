"""Removes windows whose retention is over, except those on which a later window depends (rules D9)."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from shared.domain.digests.window import LOOK_BACK_MS, SHARDS, DigestWindow, WindowState, postponed
from shared.domain.times import DAY_MS, Millis
from shared.engine.digests.repeats import LOOK_BACK, STEP
from shared.ports import Clock, WindowRetention, Windows

AGAIN_MS: Final = 7 * DAY_MS
"""Milliseconds after which the last window of a key, which is never removed, is checked again."""
OVER: Final = (WindowState.PROCESSED, WindowState.CANCELLED)


class WindowCleaner:
    """Removes windows."""

    def __init__(self, windows: Windows, keeping: WindowRetention, clock: Clock) -> None:
        self._windows = windows
        self._keeping = keeping
        self._clock = clock

    def walk(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield each window whose retention is over with what removes it."""
        now = int(self._clock.now() * 1000)
        for shard in range(SHARDS):
            for window_id in self._keeping.over(shard, now):
                yield f"old window {window_id}", partial(self.look, window_id)

    def look(self, window_id: str) -> None:
        """Remove a window, or look at it later if it is still needed."""
        now = int(self._clock.now() * 1000)
        window = self._windows.get(window_id)
        if window is None or window.state not in OVER or not 0 < window.due_at <= now:
            return
        later = self._needed_until(window, now)
        if later:
            self._keeping.change(window, postponed(window, later))
        else:
            self._keeping.remove(window)

    def _needed_until(self, window: DigestWindow, now: Millis) -> Millis:
        """Return when to look again at a window that is still needed; 0: it is not.

        The last window of a key is needed for its number. Others are needed for the ids of their events, by each later
        window that looks back at them and is not made yet.
        """
        if window.urgent:
            return 0
        last = self._windows.last(window.namespace, window.key)
        if last is None or last.number <= window.number:
            return now + AGAIN_MS
        return now + DAY_MS if any(x.state not in OVER for x in self._looking(window, last)) else 0

    def _looking(self, window: DigestWindow, last: DigestWindow) -> Iterator[DigestWindow]:
        """Yield the later windows that look back at one; `last`: the last of the key."""
        end = min(window.number + LOOK_BACK, last.number)
        for first in range(window.number + 1, end + 1, STEP):
            for later in self._keeping.numbered(window, first, min(first + STEP - 1, end)):
                if later.opened_at - LOOK_BACK_MS > window.closed_at:
                    return
                yield later
