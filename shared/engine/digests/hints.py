"""Hints about windows: delayed messages to the function that makes digests. A lost one costs a minute."""

import logging
from typing import Final

from shared.contracts import digest_hint
from shared.domain.lanes.backoff import MAX_QUEUE_DELAY
from shared.domain.times import Millis
from shared.ports import Clock, Queue, Retriable

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

        A fault is logged, no more: the walk of every minute finds the window.

        Args:
            at: Unix milliseconds; past: at once.
        """
        delay = min(max(0.0, at / 1000 - self._clock.now()), MAX_QUEUE_DELAY)
        try:
            self._queue.send([digest_hint(window_id)], delay=delay)
        except Retriable:
            _LOG.warning("hint not sent", extra={"window": window_id})
