"""Progress for people: one line per step, with the seconds since the start and those the step took; and patience."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

PATIENCE_SECONDS: Final = 90.0
_START = time.monotonic()


class LocalCloudError(Exception):
    """Something a developer can act on; the message is shown without a traceback."""


class Patience:
    """When to stop waiting: a slow machine takes long, but never stops.

    Args:
        seconds: the most that a wait may see no change.
        clock: seconds since any moment.
    """

    def __init__(self, seconds: float = PATIENCE_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._last: object = None
        self._since = clock()

    def over(self, seen: object) -> bool:
        """Return True if what is seen has been the same for the seconds."""
        now = self._clock()
        if seen != self._last:
            self._last, self._since = seen, now
        return now - self._since > self.seconds


def say(text: str) -> None:
    """Print one line at once, also into a pipe."""
    print(text, flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Show what is being done and how long it took: `[  3.2 s] title (1.1 s)`."""
    begun = time.monotonic()
    terminal = sys.stdout.isatty()
    if terminal:
        print(f"[{begun - _START:6.1f} s] {title} …", end="\r", flush=True)
    try:
        yield
    except BaseException:  # Ctrl-C, too; it is raised again
        say(f"[{time.monotonic() - _START:6.1f} s] {title}: failed")
        raise
    now = time.monotonic()
    say(f"[{now - _START:6.1f} s] {title} ({now - begun:.1f} s)" + ("  " if terminal else ""))
