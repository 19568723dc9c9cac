"""Where events are kept."""

from collections.abc import Iterator
from typing import Protocol

from shared.domain.journal import Event, Log


class Journal(Protocol):
    """Accounts' audit logs and events. The engine writes its own together with what they tell: `Records.change`."""

    def write(self, event: Event, *logs: Log) -> None:
        """Keep an event; a repeat changes nothing."""
        ...

    def since(self, account: str, log: Log, at: int) -> Iterator[Event]:
        """Walk an account's events from a moment on (Unix ms), oldest first, consistently."""
        ...
