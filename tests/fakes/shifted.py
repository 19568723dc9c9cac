"""The machine's time for tests of real connections: put forward, or stopped while the machine may be slow."""

from collections.abc import Iterator
from contextlib import contextmanager

from shared.adapters.clock import SystemClock


class ShiftedClock(SystemClock):
    """The system's clock, which a test can put forward and stop; safe for threads.

    A deadline that is near is set while the clock stands still and has not come before the clock `go`es on: whatever
    else the machine does meanwhile takes none of its time. Waits for sockets end by the machine's own time.

    Attributes:
        ahead: seconds.
    """

    ahead = 0.0
    _still: float | None = None
    _lag = 0.0

    def now(self) -> float:
        still = self._still
        return (super().now() - self._lag if still is None else still) + self.ahead

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stand still, and `go` on at the end."""
        self._still = super().now() - self._lag
        try:
            yield
        finally:
            self.go()

    def go(self) -> None:
        """Go on from where it stands; one that goes, goes on."""
        still = self._still
        if still is not None:
            self._lag, self._still = super().now() - still, None
