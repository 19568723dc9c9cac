"""When the event loop last looked at its sockets: how early that can have arrived which it reads only now.

A busy machine lets the loop wait for its turn, and everything that arrived meanwhile is read in one instant. A tick
runs before the loop polls its sockets, so what is read after a tick had not arrived before the tick before it; one
more is allowed for, as a request is served a turn after it was read.
"""

import asyncio
import time
from collections import deque
from typing import Final

TICK: Final = 0.002
"""Seconds: 500 ticks a second cost a thousandth of a processor."""
TICKS: Final = 3


class Pulse:
    """Ticks of the loop it was started in; it ends with the loop."""

    def __init__(self) -> None:
        self._ticks: deque[float] = deque(maxlen=TICKS)

    def start(self) -> None:
        """Begin to tick in the running loop."""
        self._tick(asyncio.get_running_loop())

    def slack(self) -> float:
        """Return the seconds by which an arrival may be older than the moment it is served; 0 if there is no loop."""
        return time.monotonic() - self._ticks[0] if self._ticks else 0.0

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ticks.append(time.monotonic())
        loop.call_later(TICK, self._tick, loop)
