"""Progress for people: one line per step, with the seconds since the start and those the step took."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_START = time.monotonic()


class LocalCloudError(Exception):
    """Something a developer can act on; the message is shown without a traceback."""


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
