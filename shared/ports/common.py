"""The parts that all ports share: faults, and time."""

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

from shared.domain.times import Seconds


class Retriable(Exception):
    """The call did not happen or its effect is not known; repeating it is safe."""


class MalformedSecret(Exception):
    """A secret that is not a JSON object of texts, or lacks one. The message says whose it is, never the value."""


T = TypeVar("T")
After: TypeAlias = str
"""Where a page begins: what the page before returned, or empty."""
Limit: TypeAlias = int
"""The most things of a page, at least 1."""


class Paged(Protocol[T]):
    """Things of a namespace, page by page."""

    def page(self, namespace: str, *, after: After, limit: Limit) -> tuple[list[T], str]:
        """Return some, newest first, and the place to continue from, empty at the end.

        One that was just made may be missing for a moment.
        """


class Clock(Protocol):
    """Time. `now`: Unix seconds."""

    def now(self) -> Seconds:
        """Return Unix seconds."""

    def sleep(self, seconds: Seconds) -> None:
        """Wait; returns at once for zero or less."""


Sleep = Callable[[Seconds], None]
