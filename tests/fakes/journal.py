"""Events in memory."""

from collections.abc import Iterator

from shared.domain.journal import Event, Log
from tests.fakes.faults import Tap


class FakeJournal:
    """`ports.Journal`: events by account, log, time and id."""

    def __init__(self, tap: Tap | None = None) -> None:
        self.items: dict[tuple[str, Log, int, str], Event] = {}
        self._tap = tap or Tap()

    def keep(self, event: Event, *logs: Log) -> None:
        """Keep an event within somebody's transaction."""
        self.items |= {(event.account, log, event.at, event.id): event for log in logs}

    def write(self, event: Event, *logs: Log) -> None:
        self._tap("journal.write", lambda: self.keep(event, *logs))

    def since(self, account: str, log: Log, at: int) -> Iterator[Event]:
        def found() -> list[Event]:
            places = sorted((k for k in self.items if k[:2] == (account, log) and k[2] >= at), key=lambda k: k[2:])
            return [self.items[k] for k in places]

        yield from self._tap("journal.since", found)
