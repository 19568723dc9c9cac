"""What all ports share: the fault that is tried again, and time."""

from collections.abc import Callable
from typing import Protocol


class Retriable(Exception):
    """The call did not happen or its effect is not known; repeating it is safe."""


class Clock(Protocol):
    """Time. `now`: Unix seconds."""

    def now(self) -> float:
        """Return Unix seconds."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; returns at once for zero or less."""
        ...


Sleep = Callable[[float], None]
