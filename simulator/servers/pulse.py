"""When the event loop last looked at its sockets: how early that can have arrived which it reads only now.

A busy machine lets the loop wait for its turn, and everything that arrived meanwhile is read in one instant. A tick
runs before the loop polls its sockets. So bytes that are read after a tick had not arrived before the tick before it.
One more tick is allowed for, as a request is served a turn after it was read. Bytes of a new connection are read some
turns after the connection was accepted. So for a moment after a wait, anything may be as old as that wait.
"""

import asyncio
import time
from collections import deque
from typing import Final

TICK: Final = 0.002
"""Seconds between two ticks while calls arrive: 500 ticks a second cost 2 % of a processor."""
REST: Final = 0.01
"""Seconds between two ticks at other times: less than HELD."""
AWAKE: Final = 1.0
"""Seconds without a call after which it rests. Only the first call after a rest may so be a few ticks older."""
TICKS: Final = 3
HELD: Final = 0.02
"""Seconds between two ticks from which on the loop was held up."""
GLOW: Final = 0.1
"""Seconds for which a wait explains what is read afterwards."""


class Pulse:
    """Ticks of the loop it was started in; it ends with the loop."""

    def __init__(self) -> None:
        self._ticks: deque[float] = deque(maxlen=TICKS)
        self._since = 0.0
        self._until = 0.0
        self._awake = 0.0

    def start(self) -> None:
        """Begin to tick in the running loop."""
        self._tick(asyncio.get_running_loop())

    def slack(self) -> float:
        """Return the seconds by which an arrival may be older than the moment it is served; 0 if there is no loop."""
        if not self._ticks:
            return 0.0
        now = time.monotonic()
        self._awake = now + AWAKE
        return now - (min(self._since, self._ticks[0]) if now < self._until else self._ticks[0])

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now = time.monotonic()
        if self._ticks and now - self._ticks[-1] > HELD:
            if self._ticks[-1] > self._until:  # else the waits are one
                self._since = self._ticks[0]
            self._until = now + GLOW
        self._ticks.append(now)
        loop.call_later(TICK if now < self._awake else REST, self._tick, loop)
