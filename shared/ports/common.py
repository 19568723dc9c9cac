"""The parts that all ports share: faults, and time."""

from collections.abc import Callable
from typing import Protocol

from shared.domain.times import Seconds


class Retriable(Exception):
    """The call did not happen or its effect is not known; repeating it is safe."""


class MalformedSecret(Exception):
    """A secret that is not a JSON object of texts, or lacks one. The message says whose it is, never the value."""


class Clock(Protocol):
    """Time. `now`: Unix seconds."""

    def now(self) -> Seconds:
        """Return Unix seconds."""
        ...

    def sleep(self, seconds: Seconds) -> None:
        """Wait; returns at once for zero or less."""
        ...


Sleep = Callable[[Seconds], None]
