"""How many messages a queue holds."""

from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """About how many messages a queue holds, by its own figures: they are a hint, and up to a minute old.

    Attributes:
        waiting: can be received now.
        hidden: delayed, or held by a worker.
    """

    waiting: int
    hidden: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.waiting + self.hidden
