"""Hints about windows: delayed messages to the function that makes digests. A lost one costs a minute.

A window that ends later has a minute announced instead (`shared.engine.minutes`). The function is woken before that
minute, and sends the hints of all windows that end in it.
"""

import logging
import math
from collections.abc import Iterable
from typing import Final

from shared.contracts import DueKind, digest_hint
from shared.domain.lanes.backoff import MAX_QUEUE_DELAY
from shared.domain.times import Millis
from shared.engine.minutes import SOON_S
from shared.ports import Clock, DueMinutes, Queue, Retriable

_LOG: Final = logging.getLogger(__name__)


class QueuedHints:
    """Sends hints. Implements `ports.DigestHints`.

    Args:
        queue: of the function that makes digests.
    """

    def __init__(self, queue: Queue, clock: Clock) -> None:
        self._queue = queue
        self._clock = clock

    def at(self, window_id: str, at: Millis) -> None:
        """Have a window looked at, about at a moment; if that is more than 15 minutes away, earlier.

        A fault is logged, no more: the sweeper finds the window.

        Args:
            at: Unix milliseconds; past: at once.
        """
        self.all([(window_id, at)])

    def all(self, found: Iterable[tuple[str, Millis]]) -> int:
        """Have windows looked at, each at its moment; those of one second share calls. Return how many they are."""
        now = self._clock.now()
        delays: dict[int, list[str]] = {}
        for window_id, at in found:
            delays.setdefault(math.ceil(max(0.0, at / 1000 - now)), []).append(window_id)
        for delay, some in sorted(delays.items()):
            try:
                self._queue.send([digest_hint(x) for x in some], delay=min(delay, MAX_QUEUE_DELAY))
            except Retriable:
                _LOG.warning("hints not sent", extra={"windows": some})
        return sum(map(len, delays.values()))


class AnnouncedHints(QueuedHints):
    """Sends hints, and announces the ends of new windows. Implements `ports.NewWindowHints`.

    Args:
        queue: of the function that makes digests.
        minutes: announces minutes in which windows end.
    """

    def __init__(self, queue: Queue, minutes: DueMinutes, clock: Clock) -> None:
        super().__init__(queue, clock)
        self._minutes = minutes

    def opened(self, window_id: str, at: Millis) -> None:
        """Have a stored window looked at when it ends. If its minute cannot be announced, it has a hint of its own."""
        later = at / 1000 - self._clock.now() > SOON_S
        if not (later and self._minutes.announce(DueKind.DIGESTS, at)):
            self.at(window_id, at)
