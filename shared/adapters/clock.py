"""The system's clock, and the one that notices go by."""

import time
from typing import TYPE_CHECKING

from shared.contracts import compressed

if TYPE_CHECKING:
    from shared.ports import Clock


class SystemClock:
    """Time as the machine tells it. Implements `ports.Clock`; safe for threads."""

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


class Calendar:
    """The time that notices go by. Implements `ports.Clock`; safe for threads.

    It is the clock's own. On a local cloud it may be so many times as fast, which shows days of a notice in seconds.

    Args:
        since: Unix seconds from which on it is faster.
        speed: how many times.
    """

    def __init__(self, clock: "Clock", since: float = 0, speed: int = 1) -> None:
        self._clock = clock
        self._since = since
        self._speed = speed

    def now(self) -> float:
        return self.at(self._clock.now())

    def at(self, moment: float) -> float:
        """Return what it shows at a moment of the clock. Both are Unix seconds."""
        return compressed(moment, self._since, self._speed)

    def when(self, moment: float) -> float:
        """Return the moment of the clock at which it shows a later moment. Both are Unix seconds."""
        return self._clock.now() + (moment - self.now()) / self._speed

    def sleep(self, seconds: float) -> None:
        """Wait so many of its own seconds."""
        self._clock.sleep(seconds / self._speed)
